"""What is read from a model's reply, and what counts as an invalid form."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proas.agents import NO_ACTION, Completion, Usage, full_text, parse_reply

ROOM = ("go to desk 1", "open drawer 2", "look", "click[< prev]")


@pytest.mark.parametrize(
    "text",
    [
        "<think>It may be there.</think><action>go to desk 1</action>",
        "<think>\nIt may\nbe there.\n</think>\n\n<action> go to  desk 1 </action>\n",
        "It may be there.</think><action>go to desk 1</action>",  # the prompt had opened the thoughts
        "<THINK>x</THINK><Action>Go To Desk 1.</Action>",
        "<think><action>look</action> or the desk?</think><action>go to desk 1</action>",
        '<think></think> Well then: <action>"go to desk 1"</action>',
    ],
)
def test_replies_that_keep_to_the_form(text: str) -> None:
    for reading in ("strict", "tolerant"):
        reply = parse_reply(text, admissible=ROOM, reading=reading)  # type: ignore[arg-type]
        assert (reply.action, reply.format_valid, reply.problem) == ("go to desk 1", True, "")


@pytest.mark.parametrize(
    ("text", "action", "problem"),
    [
        ("<action>look</action>", "look", "no_thoughts"),
        ("<think>x</think><action>look</action><action>go to desk 1</action>", "look", "several_actions"),
        ("<think>x</think><action>look", "look", "unclosed_action"),
        ("<think>x</think><action>look\nThen I see.", "look", "unclosed_action"),
        ("Thought: x\nAction: look\n", "look", "action_line"),
        ("**Action:** `look`", "look", "action_line"),
        ("look", "look", "bare_action"),
        ("<think>x</think>\nLook.", "look", "bare_action"),
    ],
)
def test_what_tolerance_still_plays(text: str, action: str, problem: str) -> None:
    tolerant = parse_reply(text, admissible=ROOM)
    assert (tolerant.action, tolerant.format_valid, tolerant.problem) == (action, False, problem)
    strict = parse_reply(text, admissible=ROOM, reading="strict")
    assert (strict.action, strict.format_valid, strict.readable, strict.problem) == (NO_ACTION, False, False, problem)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "   ",
        "I cannot help with that.",
        "<think>only thoughts",
        "<think>x</think>",
        "<action></action>",
        "sing\nlook",
    ],
)
def test_replies_without_an_action(text: str) -> None:
    reply = parse_reply(text, admissible=ROOM)
    assert (reply.action, reply.readable, reply.problem) == (NO_ACTION, False, "no_action")


def test_an_action_that_is_admissible_but_for_its_spelling_is_that_one() -> None:
    assert parse_reply("<think>x</think><action>click[&lt; Prev]</action>", admissible=ROOM).action == "click[< prev]"
    assert parse_reply("<think>x</think><action>search[a.b]</action>", admissible=ROOM).action == "search[a.b]"


def test_thoughts_are_only_missed_where_they_were_asked_for() -> None:
    assert parse_reply("<action>look</action>", thoughts=False).format_valid


def test_thoughts_that_come_apart_are_thoughts() -> None:
    apart = Completion("<action>look</action>", Usage(), reasoning="It is dark.")
    reply = parse_reply(full_text(apart))
    assert (reply.format_valid, reply.thought) == (True, "It is dark.")


@given(st.text(max_size=300), st.sampled_from(["strict", "tolerant"]))
def test_no_reply_is_an_error(text: str, reading: str) -> None:
    reply = parse_reply(text, admissible=ROOM, reading=reading)  # type: ignore[arg-type]
    assert reply.action
    assert "\n" not in reply.action
    assert reply.readable or reply.action == NO_ACTION
    assert reply.format_valid == (reply.problem == "")


@given(st.text(alphabet="<>/thinkaco \n:", max_size=200))
def test_tags_in_any_disorder_are_read(text: str) -> None:
    assert parse_reply(text, admissible=ROOM).action
