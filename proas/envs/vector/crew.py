"""The books that an isolated vector keeps of its workers and episodes."""

from __future__ import annotations

import os
import selectors
from collections.abc import Sequence
from dataclasses import dataclass, field

from proas.envs.vector.process import WorkerProcess
from proas.envs.vector.records import Again, Begin, FaultKind
from proas.envs.vector.worker import Request

__all__ = ["POLL_S", "History", "Lost", "Post", "await_any", "end_all", "usable_cores"]

POLL_S = 0.05
"""Seconds between two looks at a worker that has not answered: at its clock, its memory, whether it lives."""


@dataclass(slots=True)
class History:
    """What was played of a running episode."""

    begin: Begin
    actions: list[str] = field(default_factory=list)
    fingerprints: list[bytes] = field(default_factory=list)

    def again(self) -> Again:
        """The request that plays it again."""
        return Again(self.begin, tuple(self.actions), tuple(self.fingerprints))


@dataclass(slots=True)
class Post:
    """A worker's place, whoever fills it.

    Attributes:
        process: The process; ``None`` where it must be started.
        requests: What it has yet to answer.
        careful: It ended with no step under way, so that what is left is done one request at a time.
    """

    process: WorkerProcess | None = None
    requests: list[Request] = field(default_factory=list)
    careful: bool = False

    @property
    def batch(self) -> Sequence[Request]:
        """What the worker is handed next."""
        return self.requests[:1] if self.careful else self.requests


@dataclass(frozen=True, slots=True)
class Lost:
    """A worker that is no more.

    Attributes:
        kind: What happened.
        message: The same in words.
        slot: The slot that it was at; ``None`` where it was at none.
        step: The step that it was at.
    """

    kind: FaultKind
    message: str
    slot: int | None
    step: int = 0


def await_any(processes: Sequence[WorkerProcess]) -> None:
    """Wait until one of them says something, or a moment."""
    with selectors.DefaultSelector() as selector:
        for process in processes:
            selector.register(process, selectors.EVENT_READ)
        selector.select(POLL_S)


def usable_cores() -> int:
    """Number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def end_all(posts: list[Post], owner: int) -> None:
    """End the workers of all places, politely; nothing in a fork of the process that started them."""
    if os.getpid() != owner:
        return
    for post in posts:
        if post.process is not None:
            post.process.part()
    for post in posts:
        if post.process is not None:
            post.process.end()
            post.process = None
