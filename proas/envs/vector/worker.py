"""A worker process: opens the world and plays the episodes of its slots, a batch of requests at a time."""

from __future__ import annotations

import os
import pickle
import signal
import socket
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from proas.envs.base import RewardSettings, World
from proas.envs.registry import EnvSpec, open_world
from proas.envs.vector.channel import Channel, ChannelClosed
from proas.envs.vector.episodes import Episodes, FollowerMaker
from proas.envs.vector.marker import Marker
from proas.envs.vector.records import Act, Again, Begin, Fault, PackedInfo, Turn, fingerprint
from proas.errors import EnvironmentFailure, ProASError

__all__ = ["LEAVE", "Answer", "Failed", "Ready", "Reply", "Request", "Setup", "main", "unpacked"]

Request = Begin | Act | Again

LEAVE = "leave"
"""The message that ends a worker."""

_WATCH_S = 0.5


@dataclass(frozen=True, slots=True)
class Setup:
    """What a worker is to play.

    Attributes:
        spec: The environment.
        step_limit: Steps after which an unsolved episode is cut.
        rewards: What steps pay.
        follower: Makes what attaches states.
        memory_limit: Bytes that the process may use itself; checked after each request. ``None`` for any number.
    """

    spec: EnvSpec
    step_limit: int | None
    rewards: RewardSettings
    follower: FollowerMaker | None
    memory_limit: int | None


@dataclass(frozen=True, slots=True)
class Ready:
    """The world is open.

    Attributes:
        name: Its name.
        tasks: Keys of its tasks.
    """

    name: str
    tasks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Failed:
    """The world cannot be opened.

    Attributes:
        error: Why.
    """

    error: ProASError


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of one request.

    Attributes:
        turn: The turn, pickled with its fingerprint; empty where an episode was played again as it was, and for what
            was asked of one that was not.
        seconds: The longest time that one step of it took.
    """

    turn: bytes
    seconds: float


@dataclass(frozen=True, slots=True)
class Reply:
    """What came of a batch.

    Attributes:
        answers: One for each request, in their order. Fewer where the process is spent.
        spent: The process has no memory left and must be replaced; the last answer is that of the request it left.
    """

    answers: tuple[Answer, ...]
    spent: bool


def unpacked(answer: Answer) -> tuple[Turn, bytes]:
    """The turn of an answer, and its fingerprint.

    Raises:
        EnvironmentFailure: Its parts cannot be read in this process.
    """
    try:
        turn, print_ = pickle.loads(answer.turn)  # noqa: S301  (our own worker wrote it)
    except Exception as error:
        raise EnvironmentFailure(f"what the worker answers cannot be read here: {error}") from error
    return turn, print_


def main(descriptor: int, marker_descriptor: int, parent: int) -> None:
    """Serve until the other side closes the channel.

    Args:
        descriptor: Descriptor of this side of the channel.
        marker_descriptor: Descriptor of the marker.
        parent: Process that started this one; it ends with it.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the interrupt key is the parent's
    for inherited in (descriptor, marker_descriptor):
        os.set_inheritable(inherited, False)  # what an environment starts must not keep the channel open
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    channel = Channel(socket.socket(fileno=descriptor))
    marker = Marker(marker_descriptor)
    with suppress(ChannelClosed):
        setup = channel.receive()
        assert isinstance(setup, Setup)
        world = _opened(setup, channel)
        if world is not None:
            try:
                _serve(world, setup, channel, marker)
            finally:
                world.close()


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_WATCH_S)
    os.killpg(0, signal.SIGKILL)  # with whatever the environments have started


def _opened(setup: Setup, channel: Channel) -> World | None:
    try:
        world = open_world(setup.spec)
        channel.send(Ready(world.name, tuple(world.tasks)))
    except ProASError as error:
        channel.send(Failed(error))
    except (Exception, SystemExit) as error:  # noqa: BLE001 - told to the user by the parent
        channel.send(Failed(EnvironmentFailure(f"{setup.spec.name}: {type(error).__name__}: {error}")))
    else:
        return world
    return None


def _serve(world: World, setup: Setup, channel: Channel, marker: Marker) -> None:
    episodes = Episodes(world, step_limit=setup.step_limit, rewards=setup.rewards, follower=setup.follower)
    desk = _Desk(episodes, marker, setup.memory_limit)
    while True:
        requests = channel.receive()
        if requests == LEAVE:
            return
        assert isinstance(requests, tuple)
        channel.send(desk.reply(requests))


class _Desk:
    """Works through batches."""

    def __init__(self, episodes: Episodes, marker: Marker, memory_limit: int | None) -> None:
        self._episodes = episodes
        self._marker = marker
        self._memory_limit = memory_limit
        self._steps: dict[int, int] = {}

    def reply(self, requests: Sequence[Request]) -> Reply:
        """What comes of a batch."""
        answers: list[Answer] = []
        over: set[int] = set()  # episodes that could not be played again: what was asked of them now is void
        for request in requests:
            if request.slot in over:
                answers.append(Answer(b"", 0.0))
                continue
            turn, seconds = self._answer(request)
            spent = turn is not None and turn.fault is not None and turn.fault.kind == "memory"
            if not spent and self._outgrown():
                spent = True
                turn = Turn.of_fault(self._too_large(request))
            if isinstance(request, Again) and turn is not None:
                over.add(request.slot)
            answers.append(Answer(b"" if turn is None else _packed(turn), seconds))
            self._marker.rest()  # only now: what an environment answers may also be what hangs
            if spent:
                return Reply(tuple(answers), spent=True)
        return Reply(tuple(answers), spent=False)

    def _answer(self, request: Request) -> tuple[Turn | None, float]:
        if isinstance(request, Again):
            return self._again(request)
        step = 0 if isinstance(request, Begin) else self._steps[request.slot] + 1
        self._steps[request.slot] = step
        self._marker.busy(request.slot, step)
        begun = time.monotonic()
        turn = self._episodes.begin(request) if isinstance(request, Begin) else self._episodes.act(request)
        return turn, time.monotonic() - begun

    def _again(self, request: Again) -> tuple[Turn | None, float]:
        """Each step played again has the time of a step."""
        longest = 0.0
        turns: Iterator[Turn | None] = self._episodes.again(request)
        for step in range(len(request.fingerprints)):
            self._steps[request.slot] = step
            self._marker.busy(request.slot, step)
            begun = time.monotonic()
            turn = next(turns)
            if step:
                longest = max(longest, time.monotonic() - begun)
            if turn is not None:
                return turn, longest
        return None, longest

    def _outgrown(self) -> bool:
        return self._memory_limit is not None and own_memory() > self._memory_limit

    def _too_large(self, request: Request) -> Fault:
        begin = request.begin if isinstance(request, Again) else request
        task = begin.task if isinstance(begin, Begin) else ""  # the parent knows the task of a slot
        step = self._steps[request.slot]
        return Fault(request.slot, task, step, "memory", f"its process grew to {own_memory() / 2**20:,.0f} MiB")


def own_memory() -> int:
    """Bytes of memory that this process occupies."""
    if _STATM is not None:
        with open(_STATM, "rb", buffering=0) as file:  # noqa: PTH123  (hot: after each step)
            return int(file.read().split()[1]) * _PAGE
    import psutil

    return int(psutil.Process().memory_info().rss)


_STATM = "/proc/self/statm" if os.path.exists("/proc/self/statm") else None  # noqa: PTH110
_PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 0


def _packed(turn: Turn) -> bytes:
    """A turn ready to travel; a fault in its place where it cannot."""
    try:
        return pickle.dumps((replace(turn, info=PackedInfo.of(turn.info)), fingerprint(turn)), protocol=5)
    except Exception as error:  # noqa: BLE001 - whatever an environment's own classes do
        message = f"its answer cannot cross to another process: {type(error).__name__}: {error}"
        fault = Fault(turn.slot, turn.task, turn.info.steps, "error", message)
        return _packed(Turn.of_fault(fault, turn.action))
