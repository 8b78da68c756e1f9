"""What a walk leaves behind: where the agent attends, and what it has brought about.

Facts about a goal object count only when the *agent* brought them about. An apple that was cold or lay in the fridge
from the start has no such fact: text does not show it, and nothing was achieved. So both sources keep the same small
memory of deeds; the engine's hidden state is the check on it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from proas.envs.alfworld.goal import AlfWorldGoal
from proas.states.alfworld.commands import Command

__all__ = ["Deed", "Memory", "kind_of", "projected"]

Deed = tuple[str, str, str]
"""Subject, ``in`` or ``is``, and the receptacle or the condition."""

_TREATED = {"heat": "hot", "cool": "cool", "clean": "clean", "slice": "sliced"}
_UNDOES = {"hot": "cool", "cool": "hot"}


def kind_of(name: str) -> str:
    """Kind of a numbered thing: ``apple`` of ``apple 2``."""
    return name.rsplit(" ", 1)[0]


@dataclass(frozen=True, slots=True)
class Memory:
    """Immutable and hashable, so that a search can keep one with each node.

    Attributes:
        goal: The task, which decides which objects matter.
        attended: The receptacle attended to; empty in the middle of the room. It is the last one arrived at, or the
            one that was last opened, closed, taken from or put into: several receptacles can share one spot.
        origins: Goal objects and the receptacle that each was first taken from.
        deeds: What the agent has brought about and not undone, in three parts: ``(apple 1, in, fridge 1)`` (unless it
            came from there), ``(apple 1, is, hot)``, ``(desklamp 1, is, on)``.
    """

    goal: AlfWorldGoal = field(compare=False)
    attended: str = ""
    origins: frozenset[tuple[str, str]] = field(default=frozenset())
    deeds: frozenset[Deed] = field(default=frozenset())

    def after(self, command: Command, *, off: bool = False) -> Memory:
        """Memory after a command that was carried out.

        Args:
            command: The command.
            off: ``use`` switched the lamp off.
        """
        verb, thing = command.verb, command.object
        if verb in ("go", "open", "close"):
            return self if thing == self.attended else replace(self, attended=thing)
        if verb in ("take", "move"):
            return self._moved(command)
        if verb in _TREATED and kind_of(thing) == self.goal.object:
            mark = _TREATED[verb]
            undone = {(thing, "is", _UNDOES[mark])} if mark in _UNDOES else set()
            return _with(self, self.deeds - undone | {(thing, "is", mark)})
        if verb == "use" and kind_of(thing) == self.goal.lamp:
            lit = {(thing, "is", "on")}
            return _with(self, self.deeds - lit if off else self.deeds | lit)
        return self

    def _moved(self, command: Command) -> Memory:
        thing, place = command.object, command.target
        memory = self if place == self.attended else replace(self, attended=place)
        if kind_of(thing) != self.goal.object:
            return memory
        put = {(thing, "in", place)}
        if command.verb == "take":
            if not any(name == thing for name, _ in self.origins):
                memory = replace(memory, origins=self.origins | {(thing, place)})
            return _with(memory, self.deeds - put)
        return memory if (thing, place) in self.origins else _with(memory, self.deeds | put)


def _with(memory: Memory, deeds: frozenset[Deed]) -> Memory:
    return memory if deeds == memory.deeds else replace(memory, deeds=deeds)


def projected(memory: Memory, holding: str, *, attended_open: bool) -> Iterator[str]:
    """The progress-relevant facts of a situation, whoever tells of it.

    Args:
        memory: Where the agent attends, and its standing deeds.
        holding: The object in hand, else empty.
        attended_open: The attended receptacle is one that opens, and open.
    """
    if memory.attended:
        yield f"at {memory.attended}"
        if attended_open:
            yield f"{memory.attended} is open"
    if holding:
        yield f"holding {holding}"
    for subject, relation, other in memory.deeds:
        yield f"{subject} {relation} {other}"
