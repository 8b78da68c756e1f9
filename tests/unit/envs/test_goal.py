"""The goal of a task from its key, its parameters and its sentence."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proas.envs.alfworld.goal import KINDS, TASK_TYPES, AlfWorldGoal, goal_sentence
from proas.errors import DataError

APPLE = AlfWorldGoal("pick", "apple", "fridge")

SENTENCES = [
    ("put a apple in fridge", APPLE),
    ("put some apple on fridge.", APPLE),
    ("put apple in/on the fridge", APPLE),
    ("clean some apple and put it in fridge.", AlfWorldGoal("clean", "apple", "fridge")),
    ("put a clean apple in fridge", AlfWorldGoal("clean", "apple", "fridge")),
    ("heat some apple and put it in fridge", AlfWorldGoal("heat", "apple", "fridge")),
    ("put a hot apple in fridge", AlfWorldGoal("heat", "apple", "fridge")),
    ("cool some apple and put it in fridge", AlfWorldGoal("cool", "apple", "fridge")),
    ("put a cool apple in fridge", AlfWorldGoal("cool", "apple", "fridge")),
    ("find two apple and put them in fridge", AlfWorldGoal("two", "apple", "fridge")),
    ("put two apple in fridge", AlfWorldGoal("two", "apple", "fridge")),
    ("look at cd under the desklamp.", AlfWorldGoal("look", "cd", lamp="desklamp")),
    ("examine the cd with the floorlamp.", AlfWorldGoal("look", "cd", lamp="floorlamp")),
    ("slice apple and put in fridge", AlfWorldGoal("pick", "apple", "fridge", sliced=True)),
    ("put sliced apple in fridge", AlfWorldGoal("pick", "apple", "fridge", sliced=True)),
    ("put a hot slice of apple in fridge", AlfWorldGoal("heat", "apple", "fridge", sliced=True)),
    ("cool some sliced apple and put it in fridge", AlfWorldGoal("cool", "apple", "fridge", sliced=True)),
    ("find two sliced apple and put them in fridge", AlfWorldGoal("two", "apple", "fridge", sliced=True)),
    ("look at sliced apple under the desklamp", AlfWorldGoal("look", "apple", lamp="desklamp", sliced=True)),
]


@pytest.mark.parametrize(("sentence", "goal"), SENTENCES)
def test_every_template_is_understood(sentence: str, goal: AlfWorldGoal) -> None:
    assert AlfWorldGoal.from_text(sentence) == goal


def test_the_sentence_is_found_inside_an_observation() -> None:
    text = "-= Welcome to TextWorld, ALFRED! =-\n\nYou see a sofa.\n\nYour task is to: put a Hot Apple in Fridge.\n> "
    assert AlfWorldGoal.from_text(text) == AlfWorldGoal("heat", "apple", "fridge")


WORD = st.from_regex(r"[a-z]{2,12}", fullmatch=True).filter(
    lambda w: w not in {"some", "the", "one", "an", "clean", "hot", "cool", "cold", "two", "sliced", "slice", "slices"}
)


@given(st.sampled_from(KINDS), WORD, WORD, st.booleans())
def test_goals_survive_their_sentence(kind: str, thing: str, target: str, sliced: bool) -> None:
    where = {"lamp": target} if kind == "look" else {"receptacle": target}
    goal = AlfWorldGoal(kind, thing, sliced=sliced, **where)  # type: ignore[arg-type]
    assert AlfWorldGoal.from_text(goal_sentence(goal)) == goal


@pytest.mark.parametrize("task_type", TASK_TYPES)
def test_key_and_parameters_agree(task_type: str) -> None:
    key = f"{task_type}-AlarmClock-None-DeskLamp-301/trial_T20190907_174142_375532"
    target = "toggle_target" if TASK_TYPES[task_type] == "look" else "parent_target"
    params = {"object_target": "AlarmClock", target: "DeskLamp", "object_sliced": False, "mrecep_target": ""}
    goal = AlfWorldGoal.from_task_key(key)
    assert goal == AlfWorldGoal.from_params(task_type, params)
    assert (goal.kind, goal.object, goal.receptacle or goal.lamp) == (TASK_TYPES[task_type], "alarmclock", "desklamp")


def test_sliced_is_read_from_the_key() -> None:
    goal = AlfWorldGoal.from_task_key("pick_heat_then_place_in_recep-AppleSliced-None-Fridge-3")
    assert goal == AlfWorldGoal("heat", "apple", "fridge", sliced=True)


@pytest.mark.parametrize(
    "key",
    ["", "apple", "pick_and_place_simple-Apple-Fridge-3", "pick_and_place_with_movable_recep-Apple-Bowl-Fridge-3",
     "place_all_obj_type_into_recep-Apple-None-Fridge-3"],
)  # fmt: skip
def test_other_keys_are_refused(key: str) -> None:
    with pytest.raises(DataError):
        AlfWorldGoal.from_task_key(key)


@pytest.mark.parametrize("text", ["", "put all apples in fridge", "put", "win", "heat apple", "x" * 100_000])
def test_other_sentences_are_refused(text: str) -> None:
    with pytest.raises(DataError, match="not a goal of ALFWorld"):
        AlfWorldGoal.from_text(text)


@pytest.mark.parametrize(
    "params", [{}, {"object_target": "Apple"}, {"object_target": 3, "parent_target": "Fridge"},
               {"object_target": "Apple", "parent_target": "Fridge", "mrecep_target": "Bowl"}],
)  # fmt: skip
def test_incomplete_parameters_are_refused(params: dict[str, object]) -> None:
    with pytest.raises(DataError):
        AlfWorldGoal.from_params("pick_and_place_simple", params)


def test_count_and_treatment() -> None:
    assert [AlfWorldGoal(k, "a", "b").count for k in KINDS if k != "look"] == [1, 1, 1, 1, 2]
    assert AlfWorldGoal("heat", "a", "b").treatment == "hot"
    assert AlfWorldGoal("pick", "a", "b").treatment == ""
    with pytest.raises(DataError, match="incomplete"):
        AlfWorldGoal("look", "a", "b")
