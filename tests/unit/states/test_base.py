"""The base class of states: three methods written, everything else as it promises."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import pytest

from proas.errors import StateError, UsageError
from proas.rollouts import Rollout, Step
from proas.states import States, attach_states, kinds, register, state_kind
from proas.states.words import spoken_words
from proas.subgoals import GOAL_REACHED, Ladder, generic_ladder


class Lamp(NamedTuple):
    """What is known of a lamp that may stand anywhere."""

    room: str = "hall"
    lit: bool = False


class Least(States[Lamp]):
    """No more than has to be written."""

    env = "lamps"

    def first(self, task: str, goal: str, observation: str) -> Lamp:
        if not goal:
            raise StateError(f"task {task!r}: no goal")
        return Lamp()

    def after(self, before: Lamp, command: str, observation: str) -> Lamp | None:
        if observation.startswith("You enter "):
            return before._replace(room=observation.removeprefix("You enter "))
        return before._replace(lit=True) if observation == "It shines." else None

    def facts(self, now: Lamp) -> Iterable[str]:
        yield f"in {now.room}"
        if now.lit:
            yield "lit"


class Most(Least):
    """All that can be said besides."""

    def canonical(self, command: str, before: Lamp, now: Lamp) -> str:
        return "light it" if now.lit and not before.lit else command

    def won(self, now: Lamp) -> bool:
        return now.lit

    def looks(self, now: Lamp) -> Iterable[str]:
        yield now.room

    def missing(self, now: Lamp) -> bool:
        return now.room != "cellar"

    def goal(self, observation: str) -> str:
        return observation.partition("Goal: ")[2]

    def hidden(self, env: Any, before: Lamp | None) -> Lamp:
        return Lamp(env.room, env.lit or (before is not None and before.lit))


def test_the_least_gives_states_validity_and_the_goal() -> None:
    reader = Least().kind().observer("one", "light the lamp")
    assert reader.begin("A hall.").facts == ("in hall",)
    moved = reader.observe("<action>Go to  the cellar</action>", "You enter cellar")
    assert (moved.state.facts, moved.canonical, moved.valid, moved.seeks) == (
        ("in cellar",),
        "go to the cellar",
        True,
        False,
    )
    refused = reader.observe("fly", "No.")
    assert (refused.state, refused.canonical, refused.valid, refused.seeks) == (moved.state, "fly", False, False)
    vouched = reader.observe("hum", "Hm.", valid=True)
    assert (vouched.state, vouched.valid) == (moved.state, True)
    denied = reader.observe("go on", "You enter attic", valid=False)
    assert (denied.state, denied.valid) == (moved.state, False)
    won = reader.observe("rub", "It shines.", won=True)
    assert won.state.facts == (GOAL_REACHED, "in cellar", "lit")
    assert reader.begin("A hall.").facts == ("in hall",)


def test_a_win_counts_where_the_last_answer_cannot_be_read() -> None:
    reader = Least().kind().observer("one", "light the lamp")
    reader.begin("A hall.")
    assert reader.observe("say please", "The curtain falls.", won=True).state.facts == (GOAL_REACHED, "in hall")


def test_the_most_names_seeks_and_wins() -> None:
    reader = Most().kind().observer("one", "")
    reader.begin("A hall. Goal: light the lamp")
    steps = [reader.observe("go", f"You enter {room}") for room in ("attic", "hall", "attic", "cellar", "study")]
    assert [step.seeks for step in steps] == [True, False, False, True, False]  # found in the cellar: no more seeking
    lit = reader.observe("press the switch", "It shines.")
    assert (lit.canonical, GOAL_REACHED in lit.state.facts) == ("light it", True)
    assert reader.observe("press the switch", "It shines.").canonical == "press the switch"


def test_a_follower_reads_the_hidden_state_alone() -> None:
    class Place:
        name, task, goal_text = "lamps", "one", "light the lamp"
        room, lit = "hall", False

    env = Place()
    make = Most().kind().follower
    assert make is not None
    assert Least().kind().follower is None
    follower, reader = make(env), Most().kind().observer("one", "light the lamp")
    assert follower.begin(env, "") == reader.begin("A hall.")
    for action, room, lit, answer in (
        ("go", "attic", False, "You enter attic"),
        ("go", "cellar", False, "You enter cellar"),
        ("fly", "cellar", False, "No."),
        ("press", "cellar", True, "It shines."),
    ):
        env.room, env.lit = room, lit
        valid = answer != "No."
        seen = follower.observe(env, action, "", valid=valid, won=lit)
        assert seen == reader.observe(action, answer, valid=valid, won=lit)
    assert follower.begin(env, "").facts == ("in cellar", "lit")


def test_two_rollouts_at_once_do_not_touch() -> None:
    kind = Most().kind()
    one, two = kind.observer("one", "g"), kind.observer("two", "g")
    one.begin("")
    two.begin("")
    one.observe("go", "You enter cellar")
    assert two.observe("go", "You enter attic").seeks
    assert one.observe("rub", "It shines.").state.facts == (GOAL_REACHED, "in cellar", "lit")
    assert two.observe("look", "Dark.").state.facts == ("in attic",)


def test_what_is_missing_is_told() -> None:
    with pytest.raises(StateError, match="no goal"):
        Least().kind().observer("one", "").begin("A hall.")
    with pytest.raises(StateError, match="a step before the first observation"):
        Least().kind().observer("one", "g").observe("go", "You enter attic")
    make = Most().kind().follower
    assert make is not None
    with pytest.raises(StateError, match="a step before the first observation"):
        make(None).observe(type("Env", (), {"task": "one"}), "go", "", valid=True, won=False)
    assert Least().ladder("one", "light it") == generic_ladder("light it")
    assert isinstance(Least().kind().ladder("one", "g"), Ladder)


def test_registered_states_are_attached_to_records(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kinds, "_KINDS", dict(kinds._KINDS))
    kind = Most().kind()
    register(kind)
    register(kind)
    assert state_kind("lamps") is kind
    with pytest.raises(UsageError, match="registered already"):
        register(Most().kind())
    rollout = Rollout(
        id="1",
        env="lamps",
        task="one",
        success=True,
        observation="A hall. Goal: light the lamp",
        steps=(
            Step(action="go", observation="You enter cellar"),
            Step(action="fly", observation="No."),
            Step(action="Action: press it.", observation="It shines."),
            Step(action="bow", observation="Applause."),
        ),
    )
    read = attach_states(rollout)
    assert read.goal == "light the lamp"
    assert [step.canonical for step in read.steps] == ["go", "fly", "light it", "bow"]
    assert [step.valid for step in read.steps] == [True, False, True, False]
    assert [GOAL_REACHED in step.state.facts for step in read.steps if step.state] == [False, False, True, True]
    assert attach_states(read) == read


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("Go North.", "go north"),
        ("> take   lamp", "take lamp"),
        ("<think>go south?</think><action> Go  North </action>", "go north"),
        ("<think>never closed: go south", ""),
        ("Thought: maybe south.\nAction: go north", "go north"),
        ("Action 2: 'open door'", "open door"),
        ("<action>one</action> no, <action>two</action>", "two"),
        ("", ""),
        ("x" * 500, "x" * 200),
    ],
)
def test_the_command_in_an_agent_s_words(said: str, words: str) -> None:
    assert spoken_words(said) == words
