"""Who is told how a run goes, and how often."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol

__all__ = ["Paced", "Watcher"]

_SHOWN_EVERY = 1.0
_NOTED_EVERY = 20.0


class Watcher(Protocol):
    """Who is told how a run goes."""

    def phase(self, what: str) -> None:
        """Something begins: ``demonstrations``, ``warm start``, ``iteration 7``, ``evaluation``."""
        ...

    def metrics(self, row: dict[str, float]) -> None:
        """An iteration is done."""
        ...

    def note(self, message: str) -> None:
        """Something that the user should know."""
        ...


class Paced:
    """Tells how far long work is: as the phase once a second, and as a note every 20 seconds.

    Args:
        watcher: Who is told; one that shows no phases still gets the notes.
        what: The work.
        total: How much of it is wanted.
        clock: Seconds.
    """

    def __init__(self, watcher: Watcher, what: str, total: int, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._watcher = watcher
        self._what = what
        self._total = total
        self._clock = clock
        self._shown = self._noted = clock()

    def __call__(self, done: int, tried: int) -> None:
        """So much is done, in so many tries."""
        now = self._clock()
        text = f"{self._what}: {done:,} of {self._total:,} after {tried:,} tries"
        if now - self._shown >= _SHOWN_EVERY:
            self._shown = now
            self._watcher.phase(text)
        if now - self._noted >= _NOTED_EVERY:
            self._noted = now
            self._watcher.note(text)
