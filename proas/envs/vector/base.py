"""Many episodes side by side: what every vector of environments offers, and what all of them check."""

from __future__ import annotations

import secrets
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from types import TracebackType
from typing import Protocol, Self, TypeVar

from proas.envs.vector.records import Act, Begin, Fault, Player, Turn
from proas.errors import UsageError

__all__ = ["SlottedVector", "VectorEnv"]

T = TypeVar("T")
PerSlot = Mapping[int, T] | Sequence[T | None]
"""A value for some slots: by number, or in order with ``None`` for those that are left alone."""


class VectorEnv(Protocol):
    """Slots, each of which plays one episode at a time, independent of the others."""

    @property
    def name(self) -> str:
        """Name of the environment, the ``env`` of its rollouts."""
        ...

    @property
    def size(self) -> int:
        """Number of slots."""
        ...

    @property
    def tasks(self) -> Sequence[str]:
        """Keys of the tasks (``proas.envs.World.tasks``)."""
        ...

    @property
    def running(self) -> tuple[int, ...]:
        """Slots whose episode goes on."""
        ...

    @property
    def faults(self) -> tuple[Fault, ...]:
        """All that were ended from outside so far, in the order in which it was found."""
        ...

    def reset(
        self,
        tasks: PerSlot[str],
        *,
        seeds: PerSlot[int] | None = None,
        players: PerSlot[Player] | None = None,
    ) -> Mapping[int, Turn]:
        """Start episodes in some slots, whatever goes on in them; the other slots go on undisturbed.

        Args:
            tasks: Key of the task of each.
            seeds: Source of whatever is random in the environment; a slot that is given none draws one.
            players: Policies of the world's own that play them; see :meth:`advance`.

        Returns:
            The answer of each of these slots, in the order of the slots. One whose task cannot be played answers with
            a fault.

        Raises:
            UsageError: There is no such slot.
            EnvironmentFailure: The vector as a whole cannot go on.
        """
        ...

    def step(self, actions: PerSlot[str]) -> Mapping[int, Turn]:
        """Carry out one action in each of some running slots. Those without an action wait.

        Returns:
            The answer of each of these slots, in the order of the slots; and of any other slot whose episode a fault
            has ended meanwhile.

        Raises:
            UsageError: A slot has no episode under way.
            EnvironmentFailure: The vector as a whole cannot go on.
        """
        ...

    def advance(self, slots: Iterable[int] | None = None) -> Mapping[int, Turn]:
        """Let the players of some running slots (of all that have one if not given) take a step each.

        Raises:
            UsageError: A slot has no episode under way, or no player.
            EnvironmentFailure: The vector as a whole cannot go on.
        """
        ...

    def close(self) -> None:
        """End all episodes and let go of everything. Closing twice does nothing."""
        ...


class SlottedVector(ABC):
    """Checks what it is asked, keeps book of the slots, and hands requests on.

    Args:
        size: Number of slots.

    Raises:
        UsageError: The size is not positive.
    """

    def __init__(self, size: int) -> None:
        if size < 1:
            raise UsageError(f"a vector of {size} environments makes no sense", hint="give at least 1")
        self._size = size
        self._running: dict[int, Begin] = {}
        self._faults: list[Fault] = []
        self._closed = False

    @property
    def size(self) -> int:
        """Number of slots."""
        return self._size

    @property
    def running(self) -> tuple[int, ...]:
        """Slots whose episode goes on."""
        return tuple(sorted(self._running))

    @property
    def faults(self) -> tuple[Fault, ...]:
        """All that were ended from outside so far, in the order in which it was found."""
        return tuple(self._faults)

    def reset(
        self,
        tasks: PerSlot[str],
        *,
        seeds: PerSlot[int] | None = None,
        players: PerSlot[Player] | None = None,
    ) -> Mapping[int, Turn]:
        """Start episodes in some slots; see :meth:`VectorEnv.reset`."""
        keys = self._by_slot("tasks", tasks, str)
        seed_of = self._by_slot("seeds", seeds if seeds is not None else {}, int)
        player_of = self._by_slot("players", players if players is not None else {}, Player)
        begins = [
            # Chance too must be repeatable: an episode may have to be played again.
            Begin(slot, task, seed_of[slot] if slot in seed_of else secrets.randbelow(2**31), player_of.get(slot))
            for slot, task in sorted(keys.items())
        ]
        for begin in begins:
            self._running.pop(begin.slot, None)
        return self._settled(begins)

    def step(self, actions: PerSlot[str]) -> Mapping[int, Turn]:
        """Carry out actions in running slots; see :meth:`VectorEnv.step`."""
        chosen = self._by_slot("actions", actions, str)
        self._must_run(chosen)
        played = next((slot for slot in chosen if self._running[slot].player is not None), None)
        if played is not None:
            raise UsageError(f"slot {played} is played by a policy of its own", hint="use advance")
        return self._settled([Act(slot, action) for slot, action in sorted(chosen.items())])

    def advance(self, slots: Iterable[int] | None = None) -> Mapping[int, Turn]:
        """Let players take a step; see :meth:`VectorEnv.advance`."""
        if slots is None:
            chosen = [slot for slot, begin in sorted(self._running.items()) if begin.player is not None]
        else:
            chosen = sorted(set(slots))
            self._must_run(chosen)
            idle = next((slot for slot in chosen if self._running[slot].player is None), None)
            if idle is not None:
                raise UsageError(f"slot {idle} has no player", hint="name one in reset, or use step")
        return self._settled([Act(slot, None) for slot in chosen])

    def close(self) -> None:
        """End all episodes and let go of everything. Closing twice does nothing."""
        self._closed = True
        self._running.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @abstractmethod
    def _carried_out(self, requests: Sequence[Begin | Act]) -> Mapping[int, Turn]:
        """The answer to each request, by slot, and of other slots whose episodes a fault has ended meanwhile."""

    def _settled(self, requests: Sequence[Begin | Act]) -> Mapping[int, Turn]:
        if self._closed:
            raise UsageError("the vector is closed", hint="make another")
        answers = self._carried_out(requests) if requests else {}
        begun = {request.slot: request for request in requests if isinstance(request, Begin)}
        for slot, turn in answers.items():
            if turn.done:
                self._running.pop(slot, None)
            elif slot in begun:
                self._running[slot] = begun[slot]
        return {slot: answers[slot] for slot in sorted(answers)}

    def _must_run(self, slots: Iterable[int]) -> None:
        for slot in slots:
            if slot not in self._running:
                raise UsageError(f"slot {slot!r} has no episode under way", hint="reset it first")

    def _by_slot(self, what: str, given: PerSlot[T], kind: type[T]) -> dict[int, T]:
        if isinstance(given, str) or not isinstance(given, Mapping | Sequence):
            raise UsageError(f"{what}: give a value for each slot, not {type(given).__name__}")
        pairs = given.items() if isinstance(given, Mapping) else enumerate(given)
        values = {slot: value for slot, value in pairs if value is not None}
        for slot, value in values.items():
            if not isinstance(slot, int) or not 0 <= slot < self._size:
                raise UsageError(f"{what}: there is no slot {slot!r}", hint=f"slots are 0 to {self._size - 1}")
            if not isinstance(value, kind):
                raise UsageError(f"{what}: slot {slot} was given {value!r}, not {kind.__name__}")
        return values
