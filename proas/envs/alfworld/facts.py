"""What is the case in a game, in names: the typed view that states are made from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from proas.envs.alfworld.goal import AlfWorldGoal

__all__ = ["AlfWorldFacts"]


@dataclass(frozen=True, slots=True)
class AlfWorldFacts:
    """One situation.

    Attributes:
        attended: The receptacle that the agent last went to, looked at or used at this spot; ``None`` in mid-room.
        standing: All receptacles within reach, ``attended`` among them; several can share one spot.
        held: The object in hand, or ``None``.
        contents: Objects in or on each receptacle, closed ones included.
        openable: Receptacles that open and close.
        opened: Those that are open.
        hot, cool, clean, sliced, toggled: Objects in that condition.
        goal: What wins.
    """

    attended: str | None
    standing: tuple[str, ...]
    held: str | None
    contents: Mapping[str, frozenset[str]]
    openable: frozenset[str]
    opened: frozenset[str]
    hot: frozenset[str]
    cool: frozenset[str]
    clean: frozenset[str]
    sliced: frozenset[str]
    toggled: frozenset[str]
    goal: AlfWorldGoal

    def within_reach(self) -> frozenset[str]:
        """Objects that could be taken from here now, if the hand were free."""
        return frozenset(
            thing
            for receptacle in self.standing
            if receptacle not in self.openable or receptacle in self.opened
            for thing in self.contents[receptacle]
        )

    def as_tuples(self) -> frozenset[tuple[str, ...]]:
        """The changing facts as ``(predicate, argument, ...)``."""
        return frozenset(self._tuples())

    def _tuples(self) -> Iterator[tuple[str, ...]]:
        if self.attended is not None:
            yield ("attends", self.attended)
        for receptacle in self.standing:
            yield ("at", receptacle)
        if self.held is not None:
            yield ("holds", self.held)
        for receptacle, things in self.contents.items():
            for thing in things:
                yield ("in", thing, receptacle)
        for predicate in ("opened", "hot", "cool", "clean", "sliced", "toggled"):
            for name in getattr(self, predicate):
                yield (predicate, name)
