"""Subgoals from a goal and from a plan."""

from __future__ import annotations

import pytest

from proas.envs.alfworld.goal import AlfWorldGoal
from proas.errors import StateError
from proas.states.alfworld import PlanRung, goal_ladder, plan_ladder, without_falls
from proas.subgoals import GOAL_REACHED, Ladder, Subgoal

HEAT = AlfWorldGoal("heat", "apple", "fridge")
TWO = AlfWorldGoal("two", "candle", "drawer")
LOOK = AlfWorldGoal("look", "bowl", lamp="desklamp")


def indices(ladder: Ladder, *states: str) -> list[int]:
    """Subgoals of states whose facts are separated by semicolons."""
    return [ladder.index([fact.strip() for fact in state.split(";") if fact.strip()]) for state in states]


def test_the_ladder_of_a_treatment() -> None:
    assert indices(
        goal_ladder(HEAT),
        "",
        "at bed 1; holding egg 1",
        "holding apple 2",
        "apple 2 is hot; holding apple 2",
        "apple 2 is hot; apple 2 in bed 1",
        "apple 2 is cool; holding apple 2",
        f"apple 2 in fridge 1; apple 2 is hot; {GOAL_REACHED}",
    ) == [0, 0, 1, 2, 2, 1, 3]


def test_the_ladder_of_two_objects() -> None:
    assert indices(
        goal_ladder(TWO),
        "holding candle 1",
        "candle 1 in drawer 3",
        "candle 1 in drawer 3; holding candle 2",
        "candle 1 in bed 1; holding candle 2",
        "candle 1 in drawer 3; candle 2 in drawer 4",
        GOAL_REACHED,
    ) == [1, 2, 3, 1, 2, 4]


def test_the_ladders_of_the_other_kinds() -> None:
    pick = goal_ladder(AlfWorldGoal("pick", "mug", "desk"))
    assert indices(pick, "", "holding mug 1", "mug 1 in desk 1", GOAL_REACHED) == [0, 1, 0, 2]
    both = "desklamp 1 is on; holding bowl 1"
    assert indices(goal_ladder(LOOK), "desklamp 1 is on", "holding bowl 1", both, GOAL_REACHED) == [0, 1, 1, 2]
    sliced = goal_ladder(AlfWorldGoal("cool", "apple", "bed", sliced=True))
    assert indices(
        sliced,
        "holding butterknife 1",
        "holding apple 1",
        "apple 1 is sliced; holding knife 1",
        "apple 1 is sliced; holding apple 2",
        "apple 1 is sliced; holding apple 1",
        "apple 1 is cool; apple 2 is sliced",
        "apple 1 is cool; apple 1 is sliced",
        GOAL_REACHED,
    ) == [1, 0, 2, 2, 3, 2, 4, 5]


def test_a_plan_gives_one_rung_a_step_with_its_phrases() -> None:
    ladder = plan_ladder(
        HEAT,
        [
            PlanRung("goto", places=("cabinet 3", "desk 1"), phrases=("walk over", "turn left")),
            PlanRung("pickup", "apple", description="grab it"),
            PlanRung("goto", places=("microwave",)),
            PlanRung("heat", "apple"),
            PlanRung("goto", places=("fridge",)),
            PlanRung("put", "apple", ("fridge",)),
        ],
    )
    assert [s.index for s in ladder.subgoals] == list(range(7))
    assert ladder.subgoals[1].phrases == ("walk over", "turn left")
    assert [s.description for s in ladder.subgoals[1:]] == [
        "go to cabinet 3 or desk 1",
        "grab it",
        "go to microwave",
        "heat the apple",
        "go to fridge",
        "put the apple in/on the fridge",
    ]
    assert indices(
        ladder,
        "at bed 1",
        "at desk 1",
        "at cabinet 3; cabinet 3 is open",
        "at desk 1; holding apple 2",
        "at microwave 1; holding apple 2",
        "at microwave 1",
        "apple 2 is hot; at microwave 1; holding apple 2",
        "apple 2 is hot; at fridge 1; holding apple 2",
        "apple 2 is hot; at fridge 1",
        "apple 1 is hot; at fridge 1; holding apple 2",
        f"{GOAL_REACHED}; at fridge 1",
    ) == [0, 1, 1, 2, 3, 0, 4, 5, 4, 4, 6]


def test_a_plan_for_two_objects_wants_both_in_one_place() -> None:
    ladder = plan_ladder(
        TWO,
        [
            PlanRung("goto", places=("desk 1", "bed 1")),
            PlanRung("pickup", "candle"),
            PlanRung("goto", places=("drawer",)),
            PlanRung("put", "candle", ("drawer",)),
            PlanRung("goto", places=("desk 1", "bed 1")),
            PlanRung("pickup", "candle"),
            PlanRung("goto", places=("drawer",)),
            PlanRung("put", "candle", ("drawer",)),
        ],
    )
    assert indices(
        ladder,
        "at desk 1",
        "at desk 1; holding candle 1",
        "at drawer 2; holding candle 1",
        "at drawer 2; candle 1 in drawer 2",
        "at bed 1; candle 1 in drawer 2",
        "at bed 1; candle 1 in drawer 2; holding candle 2",
        "at drawer 1; candle 1 in drawer 2; holding candle 2",
        "at drawer 2; candle 1 in drawer 2; holding candle 2",
        GOAL_REACHED,
    ) == [1, 2, 3, 4, 5, 6, 6, 7, 8]


def test_a_plan_that_lays_a_knife_down_has_rungs_that_no_fact_shows() -> None:
    ladder = plan_ladder(
        AlfWorldGoal("heat", "apple", "bed", sliced=True),
        [
            PlanRung("goto", places=("shelf 1",)),
            PlanRung("pickup", "knife"),
            PlanRung("goto", places=("desk 1",)),
            PlanRung("slice", "apple"),
            PlanRung("goto", places=("shelf",)),
            PlanRung("put", "knife", ("shelf",)),
            PlanRung("goto", places=("desk 1",)),
            PlanRung("pickup", "apple"),
            PlanRung("goto", places=("microwave",)),
            PlanRung("heat", "apple"),
            PlanRung("goto", places=("bed",)),
            PlanRung("put", "apple", ("bed",)),
        ],
    )
    assert [s.index for s in ladder.subgoals if s.index and not s.condition] == [5, 6]
    walk = [
        "at shelf 1",
        "at shelf 1; holding knife 1",
        "at desk 1; holding knife 1",
        "apple 1 is sliced; at desk 1; holding knife 1",
        "apple 1 is sliced; at shelf 1; holding knife 1",
        "apple 1 is sliced; at shelf 1",
        "apple 1 is sliced; at desk 1",
        "apple 1 is sliced; at desk 1; holding apple 1",
    ]
    # Slicing happens where the apple lies, so "back to the desk" holds too early, and the walk falls from it ...
    assert indices(ladder, *walk) == [1, 2, 3, 7, 4, 4, 7, 8]
    # ... unless the walk that was carried out says that this rung is no milestone.
    settled = without_falls(ladder, [[state.split("; ") for state in walk]])
    assert indices(settled, *walk) == [1, 2, 3, 4, 4, 4, 4, 8]
    assert [s.description for s in settled.subgoals] == [s.description for s in ladder.subgoals]


def test_a_lamp_switched_on_first() -> None:
    ladder = plan_ladder(
        LOOK, [PlanRung("goto", places=("desk 1",)), PlanRung("toggle", "desklamp"), PlanRung("pickup", "bowl")]
    )
    assert indices(ladder, "at desk 1", "at desk 1; desklamp 1 is on", f"holding bowl 1; {GOAL_REACHED}") == [1, 2, 3]


def test_a_plan_must_have_known_steps() -> None:
    with pytest.raises(StateError, match="without steps"):
        plan_ladder(HEAT, [])
    with pytest.raises(StateError, match="plan step 0: 'juggle'"):
        plan_ladder(HEAT, [PlanRung("juggle", "apple")])  # type: ignore[arg-type]


def test_walks_without_falls_change_nothing_and_the_goal_is_never_blamed() -> None:
    ladder = Ladder((Subgoal(0, "s"), Subgoal(1, "a", condition=(("a",),)), Subgoal(2, "b", condition=(("b",),))))
    assert without_falls(ladder, [[[], ["a"], ["a"], ["b"]]]) is ladder
    assert without_falls(ladder, []) is ladder
    settled = without_falls(ladder, [[["a"], []], [["a"], ["b"]]])
    assert [bool(s.condition) for s in settled.subgoals] == [False, False, True]
