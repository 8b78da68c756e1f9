"""Without a replay a success enters only where its own text shows it, and a step of an episode never does."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from proas.envs import EnvSpec, open_world
from proas.envs.alfworld.generator import generate
from proas.envs.collect import CollectSettings, collect
from proas.graph_builders import BuildOptions
from proas.graph_builders.trajectories import Settings, TrajectoriesBuilder
from proas.rollouts import Rollout
from tests.support.episode_logs import WRITERS, lines, messages, played


def text_only(path: Path, **how: Any) -> TrajectoriesBuilder:
    builder = TrajectoriesBuilder(Settings(replay="never", **how), [path])
    builder.count(None, BuildOptions())
    return builder


@pytest.fixture(scope="module")
def generated(tmp_path_factory: pytest.TempPathFactory) -> Sequence[Rollout]:
    """Experts, and others that blunder, in games of all six types, some of them with slices."""
    root = tmp_path_factory.mktemp("games")
    for trial in generate(24, seed=5, sliced_share=0.4):
        trial.write(root)
    world = open_world(EnvSpec("alfworld", root))
    settings = [CollectSettings("expert"), CollectSettings("noisy", group_size=3, seed=3)]
    answers = [answer for how in settings for answer in collect(world, world.tasks, how)]
    return [answer for answer in answers if isinstance(answer, Rollout)]


def test_true_successes_of_every_type_enter(generated: Sequence[Rollout], tmp_path: Path) -> None:
    won = [rollout for rollout in generated if rollout.success]
    assert len({rollout.task.partition("-")[0] for rollout in won}) == 6
    assert any("Sliced" in rollout.task for rollout in won)
    for writer in ("messages", "agentgym", "react", "verl"):  # the second leaves the last answer out
        builder = text_only(lines(tmp_path / writer, map(WRITERS[writer], won)))
        assert not builder.totals.asides
        assert sum(builder.totals.entered.values()) == len(won)


def test_what_was_cut_off_does_not(generated: Sequence[Rollout], tmp_path: Path) -> None:
    won = [rollout for rollout in generated if rollout.success]
    cut = [rollout.model_copy(update={"steps": rollout.steps[:-1]}) for rollout in won]
    lost = [rollout.model_copy(update={"success": True}) for rollout in generated if not rollout.success]
    builder = text_only(lines(tmp_path / "log", map(messages, [*cut, *lost])))
    assert builder.totals.asides == {"not_borne_out": len(cut) + len(lost)}
    assert not builder.totals.entered
    assert all("nothing in its text shows" in aside.reason for aside in builder.totals.kept)


def test_a_purchase_must_be_seen(tmp_path: Path) -> None:
    won = played("webshop", tasks=3)
    cut = [messages(rollout.model_copy(update={"steps": rollout.steps[:-1]})) for rollout in won]
    builder = text_only(lines(tmp_path / "cut", cut))
    assert builder.totals.asides == {"not_borne_out": 3}
    unanswered = [{**messages(r), "task_id": r.task} for r in won]
    for record in unanswered:
        record["messages"].pop()  # the last page, with its score
    assert not text_only(lines(tmp_path / "whole", unanswered)).totals.asides
    wanting = next(r for r in won if any(step.action.startswith("click[") for step in r.steps[2:-1]))
    hasty = messages(wanting.model_copy(update={"steps": (*wanting.steps[:2], wanting.steps[-1])}))
    hasty["messages"].pop()
    (aside,) = text_only(lines(tmp_path / "hasty", [{**hasty, "task_id": wanting.task}])).totals.kept
    assert (aside.problem, "it buys the product without" in aside.reason) == ("not_borne_out", True)


def _step_records(rollout: Rollout) -> list[dict[str, Any]]:
    """A record for each step with the reward of the episode, as agents that are asked anew at each step are logged."""
    records = []
    seen = rollout.observation
    for taken, step in enumerate(rollout.steps):
        room = f"You act in a household. Your task is to: {rollout.goal}\n"
        past = f"Prior to this step, you have already taken {taken} step(s). Below are the most recent observations "
        now = f"and actions.\nYou are now at step {taken + 1} and your current observation is: {seen}\n"
        first = (
            f"Your current observation is: {seen}\nYour admissible actions of the current situation are: ['look'].\n"
        )
        told = room + (past + now if taken else first)
        given = f"system\n\nuser\n{told}\nassistant\n"
        records.append({"input": given, "output": f"<action>{step.action}</action>", "score": 10.0, "step": 5})
        seen = step.observation
    return records


def test_a_step_of_an_episode_is_no_episode(tmp_path: Path) -> None:
    records = [record for rollout in played("alfworld", tasks=3) for record in _step_records(rollout)]
    builder = text_only(lines(tmp_path / "5.jsonl", records), env="alfworld", score_max=10.0)
    assert builder.totals.asides == {"partial_episode": len(records)}
    assert all("log whole episodes" in aside.reason for aside in builder.totals.kept)


def test_a_record_that_says_how_long_it_was_is_held_to_it(tmp_path: Path) -> None:
    (rollout,) = played("alfworld", tasks=1)
    steps = len(rollout.steps)
    whole, cut = {**messages(rollout), "episode_length": steps}, {**messages(rollout), "episode_length": steps + 9}
    builder = text_only(lines(tmp_path / "log", [whole, cut]))
    assert builder.totals.entered == {"unverified": 1}
    assert [(one.problem, one.line) for one in builder.totals.kept] == [("partial_episode", 2)]
