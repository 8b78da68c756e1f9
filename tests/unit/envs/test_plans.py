"""Annotated plans carried out as text actions."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from proas.envs.alfworld import (
    AlfWorldEngine,
    Game,
    Trial,
    TrialError,
    carry_out,
    generate,
    high_steps,
    load_game,
    trial_at,
)


def test_every_plan_of_ours_wins(tmp_path: Path) -> None:
    for made in generate(60, seed=21, sliced_share=0.3):
        trial, game = made.write(tmp_path), made.game()
        steps = high_steps(trial)
        executed = carry_out(game, steps)
        assert executed.won, executed.failed
        assert executed.failed == ""
        assert [c.step for c in executed.steps] == list(steps)
        engine = AlfWorldEngine(game)
        for action in executed.actions:
            assert engine.valid(action)
            engine.step(action)
        assert engine.won
        assert all(len(step.phrases) == len(set(step.phrases)) == 3 for step in steps)


def test_actions_belong_to_their_steps(samples: list[Trial], games: list[Game]) -> None:
    verbs = {
        "PickupObject": "take",
        "PutObject": "move",
        "HeatObject": "heat",
        "CoolObject": "cool",
        "CleanObject": "clean",
    }
    verbs |= {"ToggleObject": "use", "SliceObject": "slice"}
    for trial, game in zip(samples, games, strict=True):
        for carried in carry_out(game, high_steps(trial)).steps:
            if carried.step.action == "GotoLocation":
                assert all(a.startswith(("go to ", "open ")) for a in carried.actions)
            else:
                assert [a.split(" ")[0] for a in carried.actions] == [verbs[carried.step.action]]
                assert all(arg in carried.actions[0].replace(" ", "") for arg in carried.step.args)


def test_names_in_the_other_wording(samples: list[Trial]) -> None:
    trial = next(t for t in samples if t.goal.kind == "pick")
    executed = carry_out(load_game(trial, wording="put"), high_steps(trial))
    assert executed.won
    assert " in/on " in executed.actions[-1]


@pytest.fixture
def edited(tmp_path: Path, samples: list[Trial]) -> Any:
    """A copy of the pick sample whose traj_data.json a test may change."""
    trial = next(t for t in samples if t.goal.kind == "pick")
    folder = tmp_path / trial.key
    shutil.copytree(trial.path, folder)
    document = json.loads((folder / "traj_data.json").read_text())

    def save() -> Trial:
        (folder / "traj_data.json").write_text(json.dumps(document))
        return trial_at(folder)

    return document, save


def test_steps_that_do_not_carry_over_say_why(edited: Any) -> None:
    document, save = edited
    document["plan"]["high_pddl"][1]["planner_action"]["objectId"] = "Moon|+00.00|+00.00|+00.00"
    trial = save()
    executed = carry_out(load_game(trial), high_steps(trial))
    assert not executed.won
    assert "the text game has no object 'moon_bar_" in executed.failed
    assert executed.failed.startswith("step 0 (GotoLocation ")
    assert len(executed.steps) == len(high_steps(trial))


def test_a_plan_that_stops_short_says_so(edited: Any) -> None:
    document, save = edited
    del document["plan"]["high_pddl"][-2]
    trial = save()
    executed = carry_out(load_game(trial), high_steps(trial))
    assert (executed.won, executed.failed) == (False, "the plan ends without reaching the goal")


def test_unknown_actions_are_not_carried_out(edited: Any) -> None:
    document, save = edited
    document["plan"]["high_pddl"][1]["discrete_action"]["action"] = "Juggle"
    trial = save()
    assert "no action Juggle" in carry_out(load_game(trial), high_steps(trial)).failed


def test_descriptions_that_do_not_align_are_passed_over(edited: Any) -> None:
    document, save = edited
    document["turk_annotations"]["anns"][0]["high_descs"].append("One too many.")
    document["turk_annotations"]["anns"][1]["high_descs"] = None
    assert {len(s.phrases) for s in high_steps(save())} == {1}
    del document["turk_annotations"]
    assert {s.phrases for s in high_steps(save())} == {()}


@pytest.mark.parametrize(
    "plan", [None, [], {"high_pddl": 3}, {"high_pddl": [{}]}, {"high_pddl": [{"discrete_action": 1}]}]
)
def test_malformed_plans_are_refused(edited: Any, plan: Any) -> None:
    document, save = edited
    document["plan"] = plan
    with pytest.raises(TrialError, match=r"no readable plan\.high_pddl"):
        high_steps(save())
