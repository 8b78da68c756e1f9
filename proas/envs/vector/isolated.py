"""Many episodes in worker processes: none can hang, crash or exhaust the caller, or another episode."""

from __future__ import annotations

import os
import time
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import replace

from proas.envs.base import RewardSettings, check_step_limit
from proas.envs.registry import EnvSpec, env_kind
from proas.envs.vector.base import SlottedVector
from proas.envs.vector.channel import ChannelClosed
from proas.envs.vector.crew import POLL_S, History, Lost, Post, await_any, end_all, usable_cores
from proas.envs.vector.episodes import FollowerMaker
from proas.envs.vector.process import WorkerProcess
from proas.envs.vector.records import Act, Again, Begin, Fault, Turn
from proas.envs.vector.worker import Answer, Ready, Reply, Request, Setup, unpacked
from proas.errors import EnvironmentFailure, UsageError

__all__ = ["IsolatedVector"]

_IDLE_S = 1.0
_RECYCLE = 0.8
"""Share of the memory cap beyond which a worker without an episode is replaced."""


class IsolatedVector(SlottedVector):
    """Slots in worker processes; implements :class:`~proas.envs.vector.VectorEnv`.

    A step that exceeds its time, a process that outgrows its memory or ends, an environment that raises: each ends
    exactly one episode, whose answer holds the :class:`~proas.envs.vector.Fault`. Where that costs the process, a new
    one takes its place, and the other episodes of the old one are played again, action by action, up to where they
    were; one that then comes out differently ends with a fault too. What comes of an episode depends on its task, its
    seed and its actions alone, not on the number of slots or workers.

    To be used from one thread at a time.

    Args:
        spec: The environment. Plug-ins are loaded in each worker, so their modules must be named by ``PROAS_PLUGINS``
            or an entry point.
        size: Number of slots.
        workers: Number of processes; 0 for one a core. Never more than there are slots.
        step_timeout: Seconds that a step may take, its player's choice included.
        reset_timeout: Seconds that a reset may take.
        start_timeout: Seconds that a process may take to open the environment's data.
        memory_limit: Bytes that a worker may occupy with all that it has started; ``None`` for any number.
        step_limit: Steps after which an unsolved episode is cut; ``None`` for the environment's usual number.
        rewards: What steps pay.
        follower: A function of a module that makes what attaches states to the answers
            (``proas.states.follower_for``); ``None`` for none.

    Raises:
        UsageError: A value makes no sense, or there is no such environment.
        ProASError: The environment cannot be opened; see ``proas.envs.open_world``.
    """

    def __init__(
        self,
        spec: EnvSpec,
        size: int,
        *,
        workers: int = 0,
        step_timeout: float = 30.0,
        reset_timeout: float = 120.0,
        start_timeout: float = 300.0,
        memory_limit: int | None = 4 * 2**30,
        step_limit: int | None = None,
        rewards: RewardSettings = RewardSettings(),
        follower: FollowerMaker | None = None,
    ) -> None:
        super().__init__(size)
        if step_limit is not None:
            check_step_limit(step_limit)
        if workers < 0:
            raise UsageError(f"the number of workers must not be negative, not {workers}")
        for name, value in (
            ("step_timeout", step_timeout),
            ("reset_timeout", reset_timeout),
            ("start_timeout", start_timeout),
            ("memory_limit", memory_limit),
        ):
            if value is not None and not value > 0:
                raise UsageError(f"{name} must be positive, not {value}")
        kind = env_kind(spec.name)
        self._spec = replace(spec, options=kind.settled(spec.options))
        self._setup = Setup(self._spec, step_limit, rewards, follower, memory_limit)
        self._step_timeout = step_timeout
        self._reset_timeout = reset_timeout
        self._start_timeout = start_timeout
        self._memory_limit = memory_limit
        self._memory_seen = 0.0
        self._idle_seen = 0.0
        self._histories: dict[int, History] = {}
        self._replaced = 0
        self._posts = [Post() for _ in range(min(size, workers or usable_cores()))]
        self._end = weakref.finalize(self, end_all, self._posts, os.getpid())
        try:
            self._about = self._start(self._posts)
        except BaseException:
            self.close()
            raise

    @property
    def name(self) -> str:
        """Name of the environment."""
        return self._about.name

    @property
    def tasks(self) -> Sequence[str]:
        """Keys of the environment's tasks."""
        return self._about.tasks

    @property
    def workers(self) -> int:
        """Number of worker processes."""
        return len(self._posts)

    @property
    def worker_pids(self) -> tuple[int, ...]:
        """Process ids of the workers that are up."""
        return tuple(post.process.pid for post in self._posts if post.process is not None)

    @property
    def replaced(self) -> int:
        """How many worker processes were replaced so far."""
        return self._replaced

    def close(self) -> None:
        """End all episodes and all processes. Closing twice does nothing."""
        super().close()
        self._histories.clear()
        self._end()

    # How requests are carried out: in rounds, until each has its answer. A round hands each worker its batch and waits
    # for all replies; what a lost worker leaves is the next round's, after its other episodes have been played again.

    def _carried_out(self, requests: Sequence[Begin | Act]) -> Mapping[int, Turn]:
        answers: dict[int, Turn] = {}
        for post in self._posts:
            post.requests, post.careful = [], False
        for request in requests:
            if isinstance(request, Begin):
                self._histories.pop(request.slot, None)
            self._post_of(request.slot).requests.append(request)
        self._recycle()
        try:
            while busy := [post for post in self._posts if post.requests]:
                self._start(busy)
                self._round(busy, answers)
        except BaseException:
            # An interrupt, most likely: a worker may still be at it, and its reply would be taken for another.
            for post in self._posts:
                if post.requests:
                    self._dismiss(post)
            raise
        return answers

    def _post_of(self, slot: int) -> Post:
        return self._posts[slot % len(self._posts)]

    def _start(self, posts: Sequence[Post]) -> Ready:
        """Fill the places that are vacant, all at once; a new worker first plays again what goes on in its slots."""
        vacant = [post for post in posts if post.process is None]
        for post in vacant:
            post.process = WorkerProcess(self._setup)
        about: Ready | None = None
        for post in vacant:
            assert post.process is not None
            try:
                about = post.process.ready(self._start_timeout)
            except BaseException:
                for other in vacant:
                    self._dismiss(other)
                raise
            asked = {request.slot for request in post.requests if isinstance(request, Begin)}
            agains = [
                history.again()
                for slot, history in sorted(self._histories.items())
                if self._post_of(slot) is post and slot not in asked
            ]
            post.requests = [*agains, *(request for request in post.requests if not isinstance(request, Again))]
        return about if about is not None else self._about

    def _dismiss(self, post: Post) -> None:
        if post.process is not None:
            post.process.end()
            post.process = None

    def _recycle(self) -> None:
        """Replace workers that have grown near the cap and play nothing now: some environments never give back."""
        if self._memory_limit is None or time.monotonic() - self._idle_seen < _IDLE_S:
            return
        self._idle_seen = time.monotonic()
        for number, post in enumerate(self._posts):
            idle = all(slot % len(self._posts) != number for slot in self._histories)
            if post.process is not None and idle and post.process.memory() > _RECYCLE * self._memory_limit:
                self._dismiss(post)
                self._replaced += 1

    def _round(self, posts: Sequence[Post], answers: dict[int, Turn]) -> None:
        waiting: list[Post] = []
        for post in posts:
            assert post.process is not None
            try:
                post.process.post(tuple(post.batch))
                waiting.append(post)
            except ChannelClosed:
                self._lose(post, self._ended(post), answers)
        posted = time.monotonic()
        while waiting:
            await_any([post.process for post in waiting if post.process is not None])
            grown = self._grown(waiting)
            for post in tuple(waiting):
                outcome = grown.get(id(post)) or self._outcome(post, posted)
                if outcome is None:
                    continue
                waiting.remove(post)
                if isinstance(outcome, Reply):
                    self._take(post, outcome, answers)
                else:
                    self._lose(post, outcome, answers)

    def _grown(self, posts: Sequence[Post]) -> Mapping[int, Lost]:
        """Workers that outgrew their cap in the middle of a step, ended; looked for now and then."""
        lost: dict[int, Lost] = {}
        if self._memory_limit is None or time.monotonic() - self._memory_seen < POLL_S:
            return lost
        self._memory_seen = time.monotonic()
        for post in posts:
            process = post.process
            assert process is not None
            if (grown := process.memory()) > self._memory_limit and process.mark() is not None:
                process.kill()
                mark = process.mark()
                message = f"its process grew to {grown / 2**20:,.0f} MiB"
                lost[id(post)] = Lost("memory", message, mark.slot if mark else None, mark.step if mark else 0)
        return lost

    def _outcome(self, post: Post, posted: float) -> Reply | Lost | None:
        """A worker's reply, or what became of it; ``None`` while it is at work within its limits."""
        process = post.process
        assert process is not None
        try:
            reply = process.reply()
        except ChannelClosed:
            return self._ended(post)
        if reply is not None:
            return reply
        now, mark = time.monotonic(), process.mark()
        limit = self._limit(mark.step if mark is not None else 1)
        if now - (mark.begun if mark is not None else posted) > limit:
            process.kill()
            final = process.mark()
            if mark is None or final is None or (final.slot, final.step) != (mark.slot, mark.step):
                return Lost("timeout", "its process did not answer", None)  # it was not the step that took so long
            return Lost("timeout", self._too_long(mark.step), mark.slot, mark.step)
        return None

    def _limit(self, step: int) -> float:
        return self._step_timeout if step else self._reset_timeout

    def _too_long(self, step: int) -> str:
        return f"the {'step' if step else 'reset'} took more than {self._limit(step):g} s"

    def _ended(self, post: Post) -> Lost:
        """What to make of a worker that does not talk any more."""
        process = post.process
        assert process is not None
        # One that lives on and has lost its voice may long be at another slot than the one that cost it.
        telling = process.leaves()
        how = process.how_it_ended()
        process.kill()  # what it has started, and itself where it only stopped talking
        mark = process.mark() if telling else None
        message = f"its process is gone: {how}"
        return Lost("crash", message, mark.slot if mark else None, mark.step if mark else 0)

    def _take(self, post: Post, reply: Reply, answers: dict[int, Turn]) -> None:
        """Enter a reply in the books."""
        requests = post.requests
        post.requests = requests[len(reply.answers) :]
        for request, answer in zip(requests, reply.answers, strict=False):
            if answer.turn:
                turn, print_ = self._read(request, answer)
                self._enter(request, turn, print_, answers)
        if reply.spent:
            self._dismiss(post)
            self._replaced += 1

    def _read(self, request: Request, answer: Answer) -> tuple[Turn, bytes]:
        """A turn as it came, or the fault that it amounts to."""
        task, step = self._task_of(request), self._step_of(request)
        action = request.action or "" if isinstance(request, Act) else ""
        try:
            turn, print_ = unpacked(answer)
        except EnvironmentFailure as error:
            return Turn.of_fault(Fault(request.slot, task, step, "error", str(error)), action), b""
        if turn.fault is not None:
            return replace(turn, task=task, fault=replace(turn.fault, task=task)), b""
        if answer.seconds > self._limit(step):
            # It came back before anyone noticed; the limit holds all the same.
            return Turn.of_fault(Fault(request.slot, task, step, "timeout", self._too_long(step)), turn.action), b""
        return turn, print_

    def _task_of(self, request: Request) -> str:
        if isinstance(request, Act):
            return self._histories[request.slot].begin.task
        return request.begin.task if isinstance(request, Again) else request.task

    def _step_of(self, request: Request) -> int:
        return len(self._histories[request.slot].actions) + 1 if isinstance(request, Act) else 0

    def _enter(self, request: Request, turn: Turn, print_: bytes, answers: dict[int, Turn]) -> None:
        slot = request.slot
        if turn.fault is not None:
            self._faults.append(turn.fault)
        if isinstance(request, Again):
            # The episode is over, and the step that was asked of it has this for its answer.
            self._give_up(slot, turn, answers)
            return
        answers[slot] = turn
        if turn.done:
            self._histories.pop(slot, None)
        elif isinstance(request, Begin):
            self._histories[slot] = History(request, [], [print_])
        else:
            history = self._histories[slot]
            history.actions.append(turn.action)
            history.fingerprints.append(print_)

    def _give_up(self, slot: int, turn: Turn, answers: dict[int, Turn]) -> None:
        """End an episode. One that was to wait in this round hears of it at its next step."""
        post = self._post_of(slot)
        self._histories.pop(slot, None)
        post.requests = [request for request in post.requests if request.slot != slot]
        answers[slot] = turn

    def _lose(self, post: Post, lost: Lost, answers: dict[int, Turn]) -> None:
        """Take note of a worker's end: whose fault it was, and what is left to do."""
        self._dismiss(post)
        self._replaced += 1
        if lost.slot is not None:
            blamed = [lost.slot]
        else:
            # Unexplained. What is left is now done one by one; the second time, it is clear whose it was.
            blamed = [request.slot for request in post.batch] if post.careful else []
            post.careful = True
        for slot in blamed:
            request = next(r for r in post.requests if r.slot == slot)
            again = isinstance(request, Again)
            message = f"{lost.message}{', while it was played again' if again else ''}"
            step = lost.step if lost.slot is not None else self._step_of(request)
            fault = Fault(slot, self._task_of(request), step, lost.kind, message)
            action = request.action or "" if isinstance(request, Act) else ""
            self._faults.append(fault)
            self._give_up(slot, Turn.of_fault(fault, action), answers)
