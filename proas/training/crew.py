"""The workers of a run: one in this process, or several that play and compute gradients side by side.

Weights and gradients lie in shared memory; what passes through the pipes is rollouts and signals. Gradients are summed
in the order of the workers, so that the same seed and number of workers give the same bits.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection as Pipe
from operator import methodcaller
from typing import Any, Self

import torch
from torch import Tensor, multiprocessing

from proas.errors import EnvironmentFailure, ProASError
from proas.rollouts import Reject, Rollout
from proas.training.play import PlaySettings
from proas.training.shard import Floats, PlayReport, Shard, ShardSpec, Signal, UpdateOrder, UpdateStats

__all__ = ["Crew"]

_ANSWER_SECONDS = 3600.0
_share: Callable[[Tensor], Tensor] = methodcaller("share_memory_")  # torch leaves it without types


class Crew:
    """A number of shards that act as one.

    Args:
        spec: What each is made from.
        weights: The policy's weights, flat; the crew reads them whenever it plays or computes a gradient.
        workers: How many. One works in this process; more are processes of their own.
    """

    def __init__(self, spec: ShardSpec, weights: Tensor, workers: int) -> None:
        self.weights = weights
        self.reference = weights.clone()
        self._gradients = [torch.zeros_like(weights) for _ in range(workers)]
        if workers > 1:
            for tensor in (self.weights, self.reference, *self._gradients):
                _share(tensor)
        self._shard: Shard | None = None
        self._workers: list[_Worker] = []
        if workers == 1:
            self._shard = Shard(spec, self.weights, self._gradients[0], self.reference)
        else:
            for gradient in self._gradients:
                self._workers.append(_Worker(spec, self.weights, gradient, self.reference))
            for worker in self._workers:
                worker.answer()  # it is made

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def play(
        self, split: str, tasks: Sequence[str], how: PlaySettings, *, keep: bool, beside: bool = False
    ) -> PlayReport:
        """Play tasks, dealt out to the workers in turn; see :meth:`Shard.play`. The report is in the order of tasks."""
        parts = self._all(
            "play",
            [
                ((split, tasks[i :: self._size]), {"how": how, "keep": keep, "beside": beside})
                for i in range(self._size)
            ],
        )
        rollouts: dict[str, list[tuple[Rollout, Floats, float, int]]] = {}
        rejects: dict[str, Reject] = {}
        for part in parts:
            for row in zip(part.rollouts, part.values, part.entropy, part.given, strict=True):
                rollouts.setdefault(row[0].task, []).append(row)
            rejects.update({reject.id: reject for reject in part.rejects})
        ordered = [row for task in tasks for row in rollouts.get(task, ())]
        return PlayReport(
            rollouts=[row[0] for row in ordered],
            values=[row[1] for row in ordered],
            rejects=[rejects[task] for task in tasks if task in rejects],
            tokens=sum(part.tokens for part in parts),
            entropy=[row[2] for row in ordered],
            environment_seconds=max(part.environment_seconds for part in parts),
            policy_seconds=max(part.policy_seconds for part in parts),
            given=[row[3] for row in ordered],
        )

    def take(self, demonstrations: Sequence[Rollout]) -> int:
        """Deal demonstrations out for imitation. Answers with the number of their action tokens."""
        counts: list[int] = self._all("take", [((demonstrations[i :: self._size],), {}) for i in range(self._size)])
        return sum(counts)

    def prepare(
        self, signals: dict[str, Signal], owners: dict[str, int], *, reference: bool, temperature: float
    ) -> None:
        """Hand out what is to be done with the episodes of the last play.

        Args:
            signals: By rollout id.
            owners: Place of each rollout's task in the play, by rollout id: it says which worker keeps it.
            reference: Work out the reference's log-probabilities too.
            temperature: At which the tokens were drawn.
        """
        shares: list[dict[str, Signal]] = [{} for _ in range(self._size)]
        for name, signal in signals.items():
            shares[owners[name] % self._size][name] = signal
        self._all("prepare", [((share,), {"reference": reference, "temperature": temperature}) for share in shares])

    def gradient(self, members: Sequence[str], order: UpdateOrder) -> tuple[Tensor, UpdateStats]:
        """The gradient over some episodes, flat, and its statistics."""
        parts: list[UpdateStats] = self._all("gradient", [((members, order), {})] * self._size)
        total, stats = self._gradients[0].clone(), parts[0]
        for gradient, part in zip(self._gradients[1:], parts[1:], strict=True):
            total += gradient
            stats.add(part)
        return total, stats

    def close(self) -> None:
        """End the workers."""
        if self._shard is not None:
            self._shard.close()
        for worker in self._workers:
            worker.close()

    @property
    def _size(self) -> int:
        return len(self._workers) or 1

    def _all(self, what: str, calls: Sequence[tuple[tuple[Any, ...], dict[str, Any]]]) -> list[Any]:
        """Ask every worker at once and wait for all of them."""
        if self._shard is not None:
            method: Callable[..., Any] = getattr(self._shard, what)
            threads = torch.get_num_threads()
            torch.set_num_threads(1)
            try:
                return [method(*calls[0][0], **calls[0][1])]
            finally:
                torch.set_num_threads(threads)
        for worker, (arguments, named) in zip(self._workers, calls, strict=True):
            worker.ask(what, arguments, named)
        answers = [worker.wait() for worker in self._workers]  # all, so that no answer is left in a pipe
        for answer in answers:
            if isinstance(answer, BaseException):
                raise answer
        return answers


class _Worker:
    """A process with a shard."""

    def __init__(self, spec: ShardSpec, weights: Tensor, gradient: Tensor, reference: Tensor) -> None:
        context = multiprocessing.get_context("spawn")  # a fork would copy drivers and threads that do not survive it
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, spec, weights, gradient, reference), daemon=True)
        self._process.start()
        theirs.close()

    def ask(self, what: str, arguments: tuple[Any, ...], named: dict[str, Any]) -> None:
        """Begin a call."""
        try:
            self._pipe.send((what, arguments, named))
        except (BrokenPipeError, OSError) as error:
            raise self._lost() from error

    def wait(self) -> Any:
        """The answer of the call that was begun, or the error that it raised."""
        try:
            if not self._pipe.poll(_ANSWER_SECONDS):
                return EnvironmentFailure(f"a worker has not answered for {_ANSWER_SECONDS:.0f} s")
            return self._pipe.recv()
        except (EOFError, OSError):
            return self._lost()

    def answer(self) -> Any:
        """As :meth:`wait`, but raises the error."""
        found = self.wait()
        if isinstance(found, BaseException):
            raise found
        return found

    def close(self) -> None:
        """End the process, by force where it does not go."""
        with suppress(BrokenPipeError, OSError):
            self._pipe.send(None)
        self._process.join(5)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()
        self._pipe.close()

    def _lost(self) -> EnvironmentFailure:
        self._process.join(1)
        return EnvironmentFailure(
            f"a worker process of the trainer ended (exit code {self._process.exitcode})",
            hint="out of memory? take fewer tasks or workers, or a smaller update.micro_batch_tokens",
        )


def _serve(pipe: Pipe, spec: ShardSpec, weights: Tensor, gradient: Tensor, reference: Tensor) -> None:
    """A worker's life."""
    torch.set_num_threads(1)
    with suppress(KeyboardInterrupt, EOFError, BrokenPipeError):
        try:
            shard = Shard(spec, weights, gradient, reference)
        except Exception as error:  # noqa: BLE001 - it is the trainer's to raise
            pipe.send(_portable(error))
            return
        pipe.send(os.getpid())
        while (call := pipe.recv()) is not None:
            what, arguments, named = call
            try:
                pipe.send(getattr(shard, what)(*arguments, **named))
            except Exception as error:  # noqa: BLE001 - it is the trainer's to raise
                pipe.send(_portable(error))
        shard.close()


def _portable(error: Exception) -> Exception:
    """The error itself where it is ours, else its words: foreign ones may not survive the pipe."""
    if isinstance(error, ProASError):
        return error
    import traceback

    return RuntimeError("in a worker:\n" + "".join(traceback.format_exception(error)))
