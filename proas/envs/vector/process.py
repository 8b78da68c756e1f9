"""A worker process as its parent sees it: started, watched, ended with all that it has started."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress

import psutil

from proas.envs.vector.channel import Channel, ChannelClosed
from proas.envs.vector.marker import Mark, Marker
from proas.envs.vector.worker import LEAVE, Failed, Ready, Reply, Setup
from proas.errors import EnvironmentFailure

__all__ = ["WorkerProcess"]

_BOOT = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from proas.envs.vector.worker import main; main(*map(int, sys.argv[2:]))"
)
_FAMILY_S = 1.0
"""Seconds between two looks for what a worker has started: each reads the whole process table."""
_SEND_S = 30.0
_END_S = 5.0
_LEAVE_S = 1.0


class WorkerProcess:
    """One process, started at once; :meth:`ready` waits until its world is open.

    A process of its own making, not of :mod:`multiprocessing`: it must not import the caller's ``__main__`` again, it
    leads a process group, so that all it starts can be ended with it, and it gets its own standard streams.

    Args:
        setup: What it is to play.

    Raises:
        EnvironmentFailure: No process can be started.
    """

    def __init__(self, setup: Setup) -> None:
        if os.name != "posix":
            raise EnvironmentFailure("isolated environments need a POSIX system", hint="use InProcessVector")
        ours, theirs = socket.socketpair()
        self._marker = Marker()
        self._family: list[psutil.Process] = []
        self._looked = 0.0
        descriptors = (theirs.fileno(), self._marker.fileno())
        words = [json.dumps(sys.path), *(str(number) for number in (*descriptors, os.getpid()))]
        try:
            self._process = subprocess.Popen(  # noqa: S603  (our own code)
                [sys.executable, "-c", _BOOT, *words],
                pass_fds=descriptors,
                stdin=subprocess.DEVNULL,
                stdout=2,  # what an environment prints must not mix with results
                process_group=0,
                # The order of sets must be the same in every worker, or an episode played again could differ.
                env={"PYTHONHASHSEED": "0", **os.environ},
            )
        except OSError as error:
            ours.close()
            self._marker.close()
            raise EnvironmentFailure(f"worker processes cannot be started: {error}") from error
        finally:
            theirs.close()
        self._itself: psutil.Process | None = None
        with suppress(psutil.Error):
            self._itself = psutil.Process(self._process.pid)
        self._channel = Channel(ours)
        self._alive = True
        self._parting = False
        with suppress(ChannelClosed):  # a process that has ended already is found out in ready()
            self._channel.send(setup, timeout=_SEND_S)

    @property
    def pid(self) -> int:
        """Process id."""
        return self._process.pid

    def fileno(self) -> int:
        """Descriptor, for ``select``."""
        return self._channel.fileno()

    def ready(self, timeout: float) -> Ready:
        """Wait until the world is open.

        Raises:
            ProASError: As opening the world raised it.
            EnvironmentFailure: The process ended, or took too long.
        """
        deadline = time.monotonic() + timeout
        hint = "see what it wrote to standard error"
        while True:
            try:
                message = self._channel.arrived()
            except ChannelClosed:
                self.end()
                raise EnvironmentFailure(
                    f"a worker process ended at its start, {self.how_it_ended()}", hint=hint
                ) from None
            if isinstance(message, Ready):
                return message
            if isinstance(message, Failed):
                self.end()
                raise message.error
            if time.monotonic() > deadline:
                self.end()
                raise EnvironmentFailure(f"a worker process was not ready in {timeout:g} s", hint=hint)
            time.sleep(0.002)

    def post(self, message: object) -> None:
        """Hand over a batch. Raises :class:`ChannelClosed` where it is not taken."""
        self._channel.send(message, timeout=_SEND_S)

    def reply(self) -> Reply | None:
        """The reply to the batch, if it is there; never waits. Raises :class:`ChannelClosed` where none will come."""
        message = self._channel.arrived()
        if message is None:
            if self._process.poll() is None:
                return None
            message = self._channel.arrived()  # it may have answered just before it ended
        if not isinstance(message, Reply):
            raise ChannelClosed("the process has ended")
        return message

    def leaves(self) -> bool:
        """Whether it has ended by itself, or does within a moment: the channel closes a little earlier."""
        try:
            self._process.wait(_LEAVE_S)
        except subprocess.TimeoutExpired:
            return False
        return True

    def mark(self) -> Mark | None:
        """What it is busy with; final once it has ended."""
        return self._marker.read()

    def memory(self) -> int:
        """Bytes of memory that it and all that it has started occupy."""
        now = time.monotonic()
        if now - self._looked > _FAMILY_S:
            self._looked = now
            self._meet_family()
        total = 0
        for member in (self._itself, *self._family):
            if member is not None:
                with suppress(psutil.Error):
                    total += member.memory_info().rss
        return total

    def kill(self) -> None:
        """End it and all that it has started, at once."""
        self._meet_family()
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        for member in self._family:
            with suppress(psutil.Error):
                member.kill()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_END_S)

    def part(self) -> None:
        """Ask it to close its world and leave; :meth:`end` waits for that a moment."""
        with suppress(ChannelClosed):
            self._channel.send(LEAVE, timeout=_LEAVE_S)
        self._parting = True

    def end(self) -> None:
        """End it and let go of it. Doing so twice does nothing."""
        if not self._alive:
            return
        self._alive = False
        if self._parting:
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(_LEAVE_S)
        self.kill()
        self._channel.close()
        self._marker.close()

    def how_it_ended(self) -> str:
        """In words."""
        code = self._process.poll()
        if code is None:
            return "it does not answer any more"
        if code >= 0:
            return f"it left with code {code}"
        try:
            return f"it was ended by signal {signal.Signals(-code).name}"
        except ValueError:
            return f"it was ended by signal {-code}"

    def _meet_family(self) -> None:
        """Remember what it has started: once it has ended, nobody knows any more."""
        if self._itself is not None:
            with suppress(psutil.Error):
                known = set(self._family)
                self._family += [child for child in self._itself.children(recursive=True) if child not in known]
