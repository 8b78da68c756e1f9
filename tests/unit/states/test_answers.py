"""What the game answered, in both wordings and inside prompts."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proas.states.alfworld.answers import Answer, read_answer


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("You arrive at loc 5. On the desk 1, you see a pen 1.", "go to desk 1"),
        ("You arrive at desk 1. On the desk 1, you see nothing.", "go to desk 1"),
        ("You arrive at loc 31. The fridge 1 is closed.", "go to fridge 1"),
        ("You pick up the apple 1 from the fridge 1.", "take apple 1 from fridge 1"),
        ("You put the apple 1 in/on the fridge 1.", "move apple 1 to fridge 1"),
        ("You move the apple 1 to the fridge 1.", "move apple 1 to fridge 1"),
        ("You open the fridge 1. The fridge 1 is open. In it, you see nothing.", "open fridge 1"),
        ("You close the fridge 1.", "close fridge 1"),
        ("You heat the apple 1 using the microwave 1.", "heat apple 1 with microwave 1"),
        ("You cool the apple 1 using the fridge 1.", "cool apple 1 with fridge 1"),
        ("You clean the apple 1 using the sinkbasin 1.", "clean apple 1 with sinkbasin 1"),
        ("You sliced the apple 1 with the knife 2.", "slice apple 1 with knife 2"),
        ("You turn on the desklamp 1.", "use desklamp 1"),
        ("You turn off the desklamp 1.", "use desklamp 1"),
        ("You are facing the desk 1. Next to it, you see nothing.", "look"),
        ("You are in the middle of a room. Looking quickly around you, you see nothing.", "look"),
        ("You are carrying: a apple 1.", "inventory"),
        ("You are not carrying anything.", "inventory"),
        ("Available commands:\n  look:   look around your current location\n", "help"),
        ("This is a normal bowl 1. In it, you see a pen 1.", "examine bowl 1"),
        ("This is a hot and clean sliced apple 1.", "examine apple 1"),
        ("This is a cold tomato 3.", "examine tomato 3"),
        ("This desklamp 1 is on.", "examine desklamp 1"),
        ("There's nothing special about apple 1.", "examine apple 1"),
    ],
)
def test_the_answer_tells_the_command(text: str, canonical: str) -> None:
    for dressed in (text, f"\n{text}\n", f"Observation: {text}", f"Step 3: {text}", text.upper()):
        answer = read_answer(dressed)
        assert answer.reply == "done"
        assert answer.command is not None
        assert answer.command.canonical == canonical


def test_a_receptacle_and_its_contents() -> None:
    shut = read_answer("You arrive at loc 31. The fridge 1 is closed.")
    assert (shut.receptacle, shut.opened, shut.contents, shut.sees) == ("fridge 1", False, (), False)
    opened = read_answer(
        "You open the fridge 1. The fridge 1 is open. In it, you see a cup 3, a egg 2, and a potato 3."
    )
    assert (opened.receptacle, opened.opened, opened.sees) == ("fridge 1", True, True)
    assert opened.contents == ("cup 3", "egg 2", "potato 3")
    empty = read_answer("On the shelf 2, you see nothing.")
    assert (empty.reply, empty.receptacle, empty.opened, empty.contents, empty.sees) == (
        "sight",
        "shelf 2",
        None,
        (),
        True,
    )
    assert read_answer("This is a normal bowl 1. In it, you see a pen 1.").contents == ()
    assert read_answer("You are facing the desk 1. Next to it, you see a pen 1.").contents == ()


@pytest.mark.parametrize(
    ("text", "reply"),
    [
        ("Nothing happens.", "refused"),
        ("nothing happens", "refused"),
        ("Observation: Nothing happens.", "refused"),
        ("OK.", "noted"),
        (" OK. \n", "noted"),
        ("OK, so what?", "unknown"),
        ("", "unknown"),
        ("Invalid action!", "unknown"),
        ("The fridge 1 is closed.", "sight"),
    ],
)
def test_other_answers(text: str, reply: str) -> None:
    answer = read_answer(text)
    assert (answer.reply, answer.command) == (reply, None)


def test_the_present_answer_of_a_prompt_that_repeats_earlier_ones() -> None:
    prompt = (
        "Prior to this step, you have already taken 1 step(s). [Observation 1: 'You arrive at bed 1. On the bed 1, "
        "you see a cd 2.', Action 1: 'go to bed 1']\nYou are now at step 2 and your current observation is: You arrive "
        "at desk 1. On the desk 1, you see a pen 1.\nYour admissible actions of the current situation are: ['look']."
    )
    answer = read_answer(prompt)
    assert answer.command is not None
    assert (answer.command.canonical, answer.contents) == ("go to desk 1", ("pen 1",))


@settings(deadline=None)
@given(text=st.text(max_size=300))
def test_no_text_is_an_error(text: str) -> None:
    assert isinstance(read_answer(text), Answer)


@pytest.mark.parametrize(
    "text", ["You arrive at " * 20_000, "the a 1 is " * 20_000, "a " * 200_000, "Nothing " * 50_000]
)
def test_long_answers_are_read_in_linear_time(text: str) -> None:
    assert read_answer(text).command is None
