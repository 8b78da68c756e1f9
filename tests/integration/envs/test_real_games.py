"""Real games, where they are at hand: all load, recorded plans win, the annotated plans carry over."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from proas.envs.alfworld import (
    KINDS,
    AlfWorldEngine,
    AlfWorldGoal,
    Game,
    Trial,
    TrialError,
    all_shortest,
    carry_out,
    find_plan,
    high_steps,
    iter_games,
    read_traj_data,
)
from proas.envs.alfworld.rules import default_rules

pytestmark = pytest.mark.slow  # unpacking the archives takes the time


@pytest.fixture(scope="module")
def alfworld_data(data_dir: Path) -> Path:
    folder = data_dir / "alfworld"
    if not (folder / "train-1540.tar.xz").is_file():
        pytest.skip(f"no ALFWorld archives in {folder}")
    return folder


@pytest.fixture(scope="module")
def loaded(alfworld_data: Path, alfworld_cache: Path) -> dict[str, list[tuple[Trial, Game | TrialError]]]:
    """Every trial of both archives with its game or the reason why it has none."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PROAS_CACHE_DIR", str(alfworld_cache))
        return {name: list(iter_games(alfworld_data / name)) for name in ("train-1540.tar.xz", "valid_seen-140.tar.xz")}


@pytest.fixture(scope="module")
def games(loaded: dict[str, list[tuple[Trial, Game | TrialError]]]) -> list[tuple[Trial, Game]]:
    return [(trial, game) for pairs in loaded.values() for trial, game in pairs if isinstance(game, Game)]


def test_every_solvable_game_loads_and_the_others_say_why(
    loaded: dict[str, list[tuple[Trial, Game | TrialError]]],
) -> None:
    found = {
        name: Counter(g.problem if isinstance(g, TrialError) else "game" for _t, g in pairs)
        for name, pairs in loaded.items()
    }
    assert found["train-1540.tar.xz"] == {"game": 1500, "no_game": 20, "unsolvable": 20}
    assert found["valid_seen-140.tar.xz"] == {"game": 140}
    wordings = {name: {g.rules.wording for _t, g in pairs if isinstance(g, Game)} for name, pairs in loaded.items()}
    assert wordings == {"train-1540.tar.xz": {"put"}, "valid_seen-140.tar.xz": {"move"}}
    rules = {g.rules for pairs in loaded.values() for _t, g in pairs if isinstance(g, Game)}
    assert rules == {default_rules("put"), default_rules("move")}


def test_four_sources_name_the_same_goal(games: list[tuple[Trial, Game]]) -> None:
    for trial, game in games:
        document = read_traj_data(trial)
        from_params = AlfWorldGoal.from_params(document["task_type"], document["pddl_params"])
        assert game.goal == trial.goal == from_params == AlfWorldGoal.from_text(AlfWorldEngine(game).reset())
    assert {game.goal.kind for _t, game in games} == set(KINDS)


def test_every_game_has_a_plan_and_it_wins(games: list[tuple[Trial, Game]]) -> None:
    for _trial, game in games:
        engine, plan = AlfWorldEngine(game), find_plan(game)
        assert plan, game.key
        for command in plan:
            assert engine.valid(command)
            engine.step(command)
        assert engine.won


def test_all_shortest_plans_of_some(games: list[tuple[Trial, Game]]) -> None:
    for _trial, game in games[::40]:
        every, plan = all_shortest(game), find_plan(game)
        assert every is not None
        assert plan is not None
        assert every.complete
        assert every.length == len(plan)
        assert all(len(p) == every.length for p in every.plans(50))


def test_annotated_plans_carry_over(games: list[tuple[Trial, Game]]) -> None:
    executed = [carry_out(game, high_steps(trial)) for trial, game in games]
    assert sum(e.won for e in executed) / len(executed) > 0.96
    assert all(e.failed for e in executed if not e.won)


def test_annotations_align_with_the_plan(games: list[tuple[Trial, Game]]) -> None:
    assert all(len(step.phrases) >= 3 for trial, _game in games for step in high_steps(trial))


def test_recorded_walkthroughs_win(alfworld_data: Path, games: list[tuple[Trial, Game]]) -> None:
    """They are written in the later wording; the training games have the older one."""
    by_id = {trial.key.replace("/", "_"): game for trial, game in games}
    walkthroughs = json.loads((alfworld_data / "walkthroughs.json").read_text())
    assert len(walkthroughs) == 750
    for walkthrough in walkthroughs:
        game = by_id[walkthrough["id"]]
        engine = AlfWorldEngine(game)
        for action in walkthrough["actions"]:
            if action.startswith("move ") and game.rules.wording == "put":
                thing, _to, receptacle = action.removeprefix("move ").partition(" to ")
                action = f"put {thing} in/on {receptacle}"  # noqa: PLW2901 - the same action in this game's wording
            assert engine.valid(action), (walkthrough["id"], action)
            engine.step(action)
        assert engine.won, walkthrough["id"]
