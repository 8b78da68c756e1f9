"""Collected rollouts: whole records, reproducible one by one, with the states that text alone gives."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from proas.envs import EnvSpec, open_world
from proas.envs.alfworld.data import Trial, iter_trials
from proas.envs.alfworld.engine import NOTHING_HAPPENS
from proas.envs.alfworld.game import Game
from proas.envs.alfworld.generator import generate
from proas.envs.alfworld.world import AlfWorldWorld
from proas.envs.base import RewardSettings
from proas.envs.collect import CollectSettings, collect
from proas.errors import UsageError
from proas.rollout_files import load_rollouts, write_rollouts
from proas.rollouts import Reject, Rollout
from proas.states import attach_states, follower_for
from proas.subgoals import GOAL_REACHED


@pytest.fixture(scope="module")
def games() -> list[Game]:
    return [trial.game("put" if n % 2 else "move") for n, trial in enumerate(generate(6, seed=4, sliced_share=0.3))]


def _played(games: Sequence[Game | Trial], settings: CollectSettings) -> list[Rollout]:
    world = AlfWorldWorld(games)
    rollouts = list(collect(world, world.tasks, settings, follower_for))
    assert all(isinstance(rollout, Rollout) for rollout in rollouts)
    return [rollout for rollout in rollouts if isinstance(rollout, Rollout)]


def test_the_expert_wins_by_the_same_way_every_time(games: list[Game]) -> None:
    rollouts = _played(games, CollectSettings(policy="expert", group_size=2))
    assert [r.id for r in rollouts] == [f"{game.key}#{n}" for game in games for n in range(2)]
    for first, second in zip(rollouts[::2], rollouts[1::2], strict=True):
        assert first.success
        assert first.ended == "success"
        assert [step.action for step in first.steps] == [step.action for step in second.steps]
        assert first.reward == 10.0
        assert first.steps[-1].state is not None
        assert GOAL_REACHED in first.steps[-1].state.facts


@pytest.mark.parametrize("policy", ["expert", "noisy", "random"])
def test_rollouts_are_whole_records(games: list[Game], policy: str) -> None:
    rewards = RewardSettings(success=1.0, invalid=-0.5, step=-0.01)
    for rollout in _played(games, CollectSettings(policy=policy, group_size=3, step_limit=20, rewards=rewards)):
        assert rollout.has_states
        assert rollout.env == "alfworld"
        assert rollout.goal
        assert "Your task is to:" in rollout.observation
        assert not rollout.goal.startswith("Your task")
        assert len(rollout.steps) <= 20
        assert rollout.success == (rollout.ended == "success")
        assert rollout.ended == "success" or len(rollout.steps) == 20
        assert rollout.reward == pytest.approx(sum(step.reward for step in rollout.steps))
        for step in rollout.steps:
            assert step.valid == (step.observation != NOTHING_HAPPENS)
            won = step is rollout.steps[-1] and rollout.success
            assert step.reward == pytest.approx((1.0 if won else 0.0) - (0.0 if step.valid else 0.5) - 0.01)
            assert step.tokens == len(step.action.split())


def test_a_rollout_does_not_depend_on_what_else_is_played(games: list[Game]) -> None:
    settings = CollectSettings(policy="noisy", group_size=3, seed=7)
    together = {rollout.id: rollout for rollout in _played(games, settings)}
    alone = _played(games[-1:], settings)
    assert alone == [together[rollout.id] for rollout in alone]
    assert len({tuple(step.action for step in rollout.steps) for rollout in alone}) > 1
    other = _played(games[-1:], CollectSettings(policy="noisy", group_size=3, seed=8))
    assert [rollout.steps for rollout in other] != [rollout.steps for rollout in alone]


def test_states_from_the_engine_are_those_from_text(games: list[Game]) -> None:
    for rollout in _played(games, CollectSettings(policy="noisy", group_size=4)):
        bare = tuple(
            step.model_copy(update={"state": None, "canonical": None, "seeks": False}) for step in rollout.steps
        )
        from_text = attach_states(rollout.model_copy(update={"start": None, "steps": bare}))
        assert from_text.state_keys == rollout.state_keys
        assert [step.canonical for step in from_text.steps] == [step.canonical for step in rollout.steps]
        assert [step.seeks for step in from_text.steps] == [step.seeks for step in rollout.steps]


def test_without_a_follower_there_are_no_states(games: list[Game]) -> None:
    world = AlfWorldWorld(games)
    (rollout,) = collect(world, world.tasks[:1], CollectSettings(group_size=1))
    assert isinstance(rollout, Rollout)
    assert rollout.start is None
    assert not rollout.has_states


def test_rollouts_survive_the_file(games: list[Game], tmp_path: Path) -> None:
    rollouts = _played(games, CollectSettings(policy="noisy", group_size=2))
    path = tmp_path / "rollouts.jsonl"
    write_rollouts(path, rollouts)
    assert load_rollouts(path).rollouts == tuple(rollouts)


def test_trials_that_cannot_be_played_are_rejects(
    tmp_path: Path, games: list[Game], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROAS_CACHE_DIR", str(tmp_path / "cache"))
    root = tmp_path / "games"
    for trial in generate(3, seed=4):
        trial.write(root)
    broken = list(iter_trials(root))[1]
    (broken.path / "initial_state.pddl").write_text("(define")
    world = open_world(EnvSpec("alfworld", root))
    made = list(collect(world, world.tasks, CollectSettings(group_size=2)))
    assert [type(record) for record in made] == [Rollout, Rollout, Reject, Rollout, Rollout]
    (reject,) = [record for record in made if isinstance(record, Reject)]
    assert reject.id == broken.key
    assert reject.reason.startswith("bad_pddl: ")


@pytest.mark.parametrize(
    ("settings", "message"),
    [({"group_size": 0}, "group size"), ({"step_limit": 0}, "step limit")],
)
def test_settings_that_make_no_sense_are_refused(settings: dict[str, str | int], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        CollectSettings(**settings)  # type: ignore[arg-type]  # what a caller may pass


def test_a_policy_that_the_world_does_not_have_is_refused(games: list[Game]) -> None:
    world = AlfWorldWorld(games)
    with pytest.raises(UsageError, match="lucky"):
        list(collect(world, world.tasks, CollectSettings("lucky")))
