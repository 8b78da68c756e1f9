"""ScienceWorld states from the simulator's hidden state: for the builder, and for rollouts in our own environment.

What the agent was told it was told, whoever asks. Where it is, what it holds, what lies where, which devices run and
what is connected is read from the tree of objects.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Protocol

from proas.errors import StateError
from proas.rollouts import State
from proas.states.observer import Observed
from proas.states.scienceworld.situation import Situation
from proas.states.scienceworld.text import TextObserver
from proas.states.scienceworld.told import plain_name

__all__ = ["Hidden", "SimulatorObserver"]


class Object(Protocol):
    """What is read of an object; ``proas.envs.scienceworld.Thing`` is one."""

    @property
    def id(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def holder(self) -> str: ...
    @property
    def path(self) -> Sequence[str]: ...
    @property
    def active(self) -> bool: ...
    @property
    def connected(self) -> Sequence[str]: ...


class Hidden(Protocol):
    """What is read of the hidden state; ``proas.envs.scienceworld.ScienceWorldFacts`` is one."""

    @property
    def location(self) -> str:
        """The room that the agent is in."""
        ...

    @property
    def things(self) -> Mapping[str, Object]:
        """Objects by number."""
        ...

    @property
    def held(self) -> Sequence[str]:
        """Numbers of what the agent holds."""
        ...


class SimulatorObserver:
    """Follows an episode by the simulator's hidden state.

    Args:
        task: Key of the task.
        goal_text: The task in words.
    """

    def __init__(self, task: str, goal_text: str) -> None:
        self._task = task
        self._reader = TextObserver(task, goal_text)
        self._given: frozenset[str] | None = None

    def begin(self, observation: str, hidden: Hidden) -> State:
        """State of an episode that was just reset."""
        self._given = frozenset(hidden.held)
        self._reader.begin(observation)
        self._reader.situation.room = hidden.location
        return self._reader.observe("look around", f"This room is called the {hidden.location}.").state

    def observe(self, action: str, observation: str, hidden: Hidden, *, valid: bool, won: bool = False) -> Observed:
        """State after an action.

        Args:
            action: The action that the environment was given.
            observation: Its answer.
            hidden: The hidden state after it.
            valid: Whether the environment carried it out.
            won: Whether the task is solved.

        Raises:
            StateError: ``begin`` was not called.
        """
        given = self._given
        if given is None:
            raise StateError(f"task {self._task!r}: a step before the episode began", hint="call begin() first")
        self._given = given & frozenset(hidden.held)  # what was laid down once is taken by the agent the next time
        kept = self._given

        def check(now: Situation) -> None:
            _put_right(now, hidden, kept)

        return self._reader.observe(action, observation, valid=valid, won=won, check=check)


def _put_right(now: Situation, hidden: Hidden, given: frozenset[str]) -> None:
    """Replace what the answers added up to by what is the case."""
    things = hidden.things
    now.room = hidden.location
    held = Counter(plain_name(things[number].name) for number in hidden.held if number not in given)
    now.held &= held
    lying = {(plain_name(thing.name), plain_name(thing.path[0])) for thing in things.values() if thing.path}
    # A seed that was sown grows into something of another name.
    now.placed = [put for put in now.placed if (put.thing, put.place) in lying or "seed" in put.thing.split()]
    active = {plain_name(thing.name) for thing in things.values() if thing.active}
    now.running &= active
    if now.relevance.wiring:
        now.links &= _links(things)


def _links(things: Mapping[str, Object]) -> set[frozenset[str]]:
    """Terminals that are connected, in pairs, named as the simulator names them."""

    def named(thing: Object) -> str:
        owner = things.get(thing.holder)
        return plain_name(f"{thing.name} on {owner.name}" if owner is not None else thing.name)

    return {
        frozenset((named(thing), named(things[other])))
        for thing in things.values()
        for other in thing.connected
        if other in things
    }
