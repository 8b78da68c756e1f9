"""What the agent knows: facts about what it has seen, beside those about what it has done.

The states of ``alfworld`` tell where the agent is and what it has brought about. Those of ``alfworld-knowledge`` also
tell what it has seen of the things that its goal needs, so that a step that finds something out leads to a new state,
and a situation in which the needed thing has not been seen is another one than where it has, even at the same place.

Both are told by the same observers; a :class:`Noting` says which.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import NamedTuple, Protocol, Self

from proas.envs.alfworld.goal import AlfWorldGoal
from proas.states.alfworld.commands import Command
from proas.states.alfworld.memory import Memory, kind_of
from proas.states.alfworld.search import KNIVES
from proas.subgoals import SEARCHING

__all__ = ["FACTS", "KNOWLEDGE", "Knowledge", "Mind", "Noted", "Noting", "Unnoted"]


class Noted(Protocol):
    """What has been noted of a walk so far; immutable and hashable."""

    def after(self, command: Command, shown: str, contents: Iterable[str]) -> Self:
        """What is noted after a command that was carried out.

        Args:
            command: The command.
            shown: The receptacle whose contents it showed, else empty.
            contents: Those contents.
        """
        ...

    def facts(self) -> Iterable[str]:
        """Facts to be told, in any order."""
        ...


class Mind(NamedTuple):
    """All that a state depends on beside the situation; immutable, so that a search can keep one with each node.

    Attributes:
        memory: What the agent has done.
        noted: What was noted of what it saw.
    """

    memory: Memory
    noted: Noted


@dataclass(frozen=True, slots=True)
class Unnoted:
    """Nothing is noted: states tell of what was done, not of what was seen."""

    def after(self, command: Command, shown: str, contents: Iterable[str]) -> Self:
        """Nothing."""
        del command, shown, contents
        return self

    def facts(self) -> Iterable[str]:
        """None."""
        return ()


@dataclass(frozen=True, slots=True)
class Knowledge:
    """What has been seen of the needed things, and where was looked in vain.

    Needed are objects of the goal's kind (two for a task of two), the lamp, and a knife where the object must be
    sliced. While one of them is unseen the agent is *searching*: the receptacles that it has looked into are noted, in
    no order. Once all have been seen the search is over: where else was looked no longer matters, and nothing more is
    noted, so that all ways of having found the same things lead to the same states.

    Attributes:
        goal: The task, which decides what is needed.
        seen: Needed objects and the receptacle in which each was first seen.
        looked: Receptacles whose contents were seen; empty once the search is over.
    """

    goal: AlfWorldGoal = field(compare=False)
    seen: frozenset[tuple[str, str]] = frozenset()
    looked: frozenset[str] = frozenset()

    def after(self, command: Command, shown: str, contents: Iterable[str]) -> Self:
        """See :class:`Noted`."""
        lacking = self.lacking
        if not lacking:
            return self
        views = [(name, shown) for name in contents] if shown else []
        if command.verb == "take":
            views.append((command.object, command.target))
        known = {name for name, _ in self.seen}
        news = {(name, place) for name, place in views if kind_of(name) in lacking and name not in known}
        looked = self.looked | {shown} if shown else self.looked
        then = replace(self, seen=self.seen | news, looked=looked)
        return then if then.lacking else replace(then, looked=frozenset())

    def facts(self) -> Iterator[str]:
        """``seen mug 1 at desk 1``; while searching also ``looked into drawer 1`` and ``still searching``."""
        for name, place in self.seen:
            yield f"seen {name} at {place}"
        if self.lacking:
            yield SEARCHING
            for place in self.looked:
                yield f"looked into {place}"

    @property
    def lacking(self) -> frozenset[str]:
        """Kinds of which not enough have been seen."""
        needs = [(frozenset({self.goal.object}), self.goal.count)]
        if self.goal.lamp:
            needs.append((frozenset({self.goal.lamp}), 1))
        if self.goal.sliced:
            needs.append((KNIVES, 1))
        kinds = [kind_of(name) for name, _ in self.seen]
        return frozenset().union(*(some for some, count in needs if sum(kind in some for kind in kinds) < count))


@dataclass(frozen=True, slots=True)
class Noting:
    """A kind of states.

    Attributes:
        env: Name of the environment in every key.
        begin: What is noted at the start of a task.
    """

    env: str
    begin: Callable[[AlfWorldGoal], Noted]

    def first(self, goal: AlfWorldGoal) -> Mind:
        """The mind at the start of a task."""
        return Mind(Memory(goal), self.begin(goal))


def _nothing(goal: AlfWorldGoal) -> Unnoted:
    del goal
    return Unnoted()


FACTS = Noting("alfworld", _nothing)
"""What was done."""

KNOWLEDGE = Noting("alfworld-knowledge", Knowledge)
"""What was done and what is known."""
