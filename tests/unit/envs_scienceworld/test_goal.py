"""Keys of tasks, simplifications, and the simulator's refusals."""

from __future__ import annotations

import pytest

from proas.envs.scienceworld.goal import (
    ScienceWorldGoal,
    family_of,
    is_refusal,
    parse_simplifications,
    stated_goal,
)
from proas.errors import DataError, UsageError


@pytest.mark.parametrize("key", ["boil/3", "grow-plant/0+easy", "boil/12+openDoors+teleportAction"])
def test_a_key_reads_back(key: str) -> None:
    assert ScienceWorldGoal.from_key(key).key == key


def test_simplifications_have_one_order() -> None:
    assert ScienceWorldGoal.from_key("boil/1+teleportAction+openDoors").key == "boil/1+openDoors+teleportAction"
    assert parse_simplifications("teleportAction,openDoors openDoors") == ("openDoors", "teleportAction")
    assert parse_simplifications("") == ()


@pytest.mark.parametrize("key", ["", "boil", "boil/", "/3", "boil/-1", "boil/x", "Boil/1", "boil/1+", "boil/1+flying"])
def test_what_is_no_key(key: str) -> None:
    with pytest.raises(DataError):
        ScienceWorldGoal.from_key(key)


def test_easy_stands_alone() -> None:
    with pytest.raises(UsageError, match="stands alone"):
        parse_simplifications("easy+openDoors")


def test_families() -> None:
    assert family_of("boil") == "matter"
    assert family_of("measure-melting-point-unknown-substance") == "melting"
    assert family_of("knit-a-sock") == "other"


@pytest.mark.parametrize(
    "answer",
    [
        "No known action matches that input.",
        "Ambiguous request: Please enter the number for the action you intended (or blank to cancel):\n0:\tmove ...",
        "The door is already open.",
        "The stove appears broken, and can't be activated or deactivated.",
        "You can't move something into itself.",
        "It's not clear how to get there from here.",
        "I'm not sure how to use those two things together.",
        "The cupboard isn't open, so you can't see inside.",
        "That can't be moved there, because the fridge isn't open.",
        "ERROR: Unknown response (x).  Action cancelled.",
        "",
    ],
)
def test_refusals(answer: str) -> None:
    assert is_refusal(answer) is bool(answer)


@pytest.mark.parametrize(
    "answer",
    [
        "The door is now open.",
        "a stopwatch, which is deactivated. The time reads 21 ticks.",
        "There is nothing in the metal pot.",
        "You move to the kitchen.",
        "A door to the hallway (that is closed)",
        "That thing doesn't appear to have a temperature that the thermometer can read. ",
    ],
)
def test_answers(answer: str) -> None:
    assert not is_refusal(answer)


def test_the_goal_is_read_from_the_first_observation() -> None:
    assert (
        stated_goal("Task description:\nYour task is to boil  water.\n\nThis room ...") == "Your task is to boil water."
    )
    assert stated_goal("This room is called the hallway.") == ""
