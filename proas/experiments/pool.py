"""Runs side by side, each a process of its own that can be ended at any time and goes on later."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Protocol

from filelock import FileLock, Timeout

from proas.errors import ProASError
from proas.training.run_directory import RunDirectory

__all__ = ["Deadline", "Failed", "Listener", "Pool", "Progress", "Ticket"]

_POLL = 0.25
_GRACE = 30.0
_ATTEMPTS = 2


@dataclass(frozen=True, slots=True)
class Ticket:
    """A run to be done.

    Attributes:
        key: What it is called.
        folder: Where it is kept.
        words: Its command, after ``proas``.
        iterations: Iterations in all; 0 for a warm start.
        ready: Called before each start; forgets what cannot be gone on with.
    """

    key: str
    folder: Path
    words: tuple[str, ...]
    iterations: int
    ready: Callable[[], None] = lambda: None

    @property
    def finished(self) -> bool:
        """Whether it has come to its end, as many iterations as are wanted."""
        final = RunDirectory(self.folder).final()
        return final is not None and int(final.get("iterations", -1)) >= self.iterations

    @property
    def reached(self) -> int:
        """Iterations done."""
        last = 0
        for row in RunDirectory(self.folder).metrics():
            last = int(row.get("iteration", 0))
        return last


@dataclass(frozen=True, slots=True)
class Failed:
    """A run that did not come to its end.

    Attributes:
        key: Which.
        reason: The last lines it printed.
        log: Where the rest is.
    """

    key: str
    reason: str
    log: Path


@dataclass(frozen=True, slots=True)
class Progress:
    """How far everything is.

    Attributes:
        done: Runs finished, those found finished included.
        total: Runs in all.
        running: Name, iterations done and iterations in all of those under way.
        rate: Iterations a second of all together; 0 while unknown.
        left: Seconds left at that rate; ``None`` while unknown.
    """

    done: int
    total: int
    running: tuple[tuple[str, int, int], ...]
    rate: float
    left: float | None


class Listener(Protocol):
    """Who is told."""

    def progress(self, now: Progress) -> None:
        """Told several times a second."""
        ...

    def finished(self, key: str, seconds: float, headline: str) -> None:
        """A run is done."""
        ...

    def failed(self, failure: Failed) -> None:
        """A run is given up."""
        ...

    def note(self, message: str) -> None:
        """Something that the user should know."""
        ...


@dataclass(frozen=True, slots=True)
class Deadline:
    """When no more is begun.

    Attributes:
        at: On the clock of ``time.time``; ``None`` for never.
    """

    at: float | None = None

    def too_late_for(self, seconds: float) -> bool:
        """Whether something that takes so long would end after it."""
        return self.at is not None and time.time() + seconds > self.at


class _Child:
    """One process; or one that an earlier call started and that still holds its folder."""

    def __init__(self, ticket: Ticket, log: Path, environ: Mapping[str, str], attempt: int) -> None:
        self.ticket = ticket
        self.log = log
        self.attempt = attempt
        self.began = time.monotonic()
        self.started_at = 0
        self._process: subprocess.Popen[bytes] | None = None
        self._file: IO[bytes] | None = None
        self.adopted = _held(ticket.folder)
        if self.adopted:
            return
        ticket.ready()
        directory = RunDirectory(ticket.folder)
        goes_on = directory.exists and directory.has_checkpoint
        self.started_at = ticket.reached if goes_on else 0
        words = ["train", "--resume", "--out", str(ticket.folder)] if goes_on else list(ticket.words)
        log.parent.mkdir(parents=True, exist_ok=True)
        self._file = log.open("ab")
        self._process = subprocess.Popen(  # noqa: S603 - our own program
            [sys.executable, "-m", "proas.cli", *words],
            stdin=subprocess.DEVNULL,
            stdout=self._file,
            stderr=subprocess.STDOUT,
            env={**os.environ, **environ, "OMP_NUM_THREADS": "1"},
            start_new_session=True,  # a Ctrl-C reaches us alone, and we end them in order
        )

    def ended(self) -> bool:
        """Whether it has ended, one way or the other."""
        if self._process is None:
            return not _held(self.ticket.folder)
        if self._process.poll() is None:
            return False
        assert self._file is not None
        self._file.close()
        return True

    @property
    def well(self) -> bool:
        """Whether it ended with its work done."""
        return self.ticket.finished and (self._process is None or self._process.returncode == 0)

    def interrupt(self) -> None:
        """Ask it to end; its folder stays such that it can go on."""
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)  # SIGINT is ignored by what begins in the background

    def wait(self, seconds: float) -> None:
        """Wait for its end, then end it."""
        if self._process is None:
            return
        try:
            self._process.wait(timeout=max(0.1, seconds))
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._file is not None:
            self._file.close()

    def last_words(self) -> str:
        """What it printed last."""
        try:
            lines = self.log.read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            return "it left no log"
        return " / ".join(line.strip() for line in lines[-3:] if line.strip()) or "it printed nothing"


@dataclass(slots=True)
class Pool:
    """Does runs, some at a time.

    Attributes:
        jobs: At most so many side by side.
        logs: Folder of what they print.
        listener: Who is told.
        environ: Variables that the runs get, such as the database's.
        deadline: When no more is begun.
        expected: Seconds that a run is thought to take, from those that have ended; 0 while unknown.
    """

    jobs: int
    logs: Path
    listener: Listener
    environ: Mapping[str, str] = field(default_factory=dict)
    deadline: Deadline = field(default_factory=Deadline)
    expected: float = 0.0
    _iterations: int = 0
    _clock: float = 0.0

    def run(
        self, tickets: Sequence[Ticket], done: Callable[[Ticket], str], *, before: int = 0
    ) -> tuple[list[Failed], list[Ticket]]:
        """Do runs; those that are finished already are only passed to ``done``.

        Args:
            tickets: The runs, in the order in which they are begun.
            done: Called with each finished run; answers with a headline.
            before: Runs that were done before these, for the view.

        Returns:
            Those given up, and those left over at the deadline.

        Raises:
            ProASError: ``done`` could not keep a result; the runs under way are interrupted and can go on.
        """
        queue = deque((ticket, 1) for ticket in tickets)
        running: list[_Child] = []
        failures: list[Failed] = []
        total, finished = before + len(tickets), before
        self._iterations, self._clock = 0, time.monotonic()
        try:
            while queue or running:
                while queue and len(running) < self.jobs:
                    ticket, attempt = queue[0]
                    if ticket.finished and not _held(ticket.folder):
                        queue.popleft()
                        self.listener.finished(ticket.key, 0.0, done(ticket))
                        finished += 1
                        continue
                    if self.deadline.too_late_for(self.expected):
                        break
                    queue.popleft()
                    running.append(self._start(ticket, attempt))
                if not running:
                    break
                self.listener.progress(self._progress(running, queue, finished, total))
                time.sleep(_POLL)
                for child in [child for child in running if child.ended()]:
                    running.remove(child)
                    if child.well:
                        self._learn(child)
                        self.listener.finished(child.ticket.key, time.monotonic() - child.began, done(child.ticket))
                        finished += 1
                    elif child.adopted or child.attempt < _ATTEMPTS:
                        queue.appendleft((child.ticket, child.attempt + (not child.adopted)))
                    else:
                        failures.append(Failed(child.ticket.key, child.last_words(), child.log))
                        self.listener.failed(failures[-1])
        finally:
            for child in running:
                child.interrupt()
            for child in running:
                child.wait(_GRACE)
        return failures, [ticket for ticket, _ in queue]

    def _start(self, ticket: Ticket, attempt: int) -> _Child:
        child = _Child(ticket, self.logs / f"{ticket.key.replace('/', '-')}.log", self.environ, attempt)
        if child.adopted:
            self.listener.note(f"{ticket.key} is under way in another process; waiting for it")
        elif child.started_at:
            self.listener.note(f"{ticket.key} goes on after iteration {child.started_at}")
        return child

    def _learn(self, child: _Child) -> None:
        seconds = time.monotonic() - child.began
        part = child.ticket.iterations - child.started_at
        if part > 0 and not child.adopted:
            whole = seconds * child.ticket.iterations / part
            self.expected = whole if not self.expected else 0.7 * self.expected + 0.3 * whole
            self._iterations += part

    def _progress(
        self, running: Sequence[_Child], queue: Sequence[tuple[Ticket, int]], finished: int, total: int
    ) -> Progress:
        states = [(child, child.ticket.reached) for child in running]
        done = self._iterations + sum(max(0, reached - child.started_at) for child, reached in states)
        rate = done / max(1e-9, time.monotonic() - self._clock)
        left = sum(child.ticket.iterations - reached for child, reached in states)
        left += sum(ticket.iterations for ticket, _ in queue)
        return Progress(
            done=finished,
            total=total,
            running=tuple((child.ticket.key, reached, child.ticket.iterations) for child, reached in states),
            rate=rate if done else 0.0,
            left=left / rate if done else None,
        )


def _held(folder: Path) -> bool:
    """Whether a process trains in the folder."""
    lock = folder / ".lock"
    if not lock.is_file():
        return False
    try:
        with FileLock(lock, timeout=0):
            return False
    except Timeout:
        return True
    except OSError as error:
        raise ProASError(f"{lock} cannot be opened: {error.strerror}") from error
