"""Work spread over processes, answered in order, with a bounded number of items in flight.

The processes are started afresh (``spawn``): the caller may hold a database driver, which must not be forked. A worker
that dies (killed, out of memory) costs the one item that it died of: the items in flight are tried again one by one,
and the one that ends its process again is given up.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from itertools import islice
from typing import TypeVar

from proas.errors import EnvironmentFailure

__all__ = ["in_order", "worker_count"]

T = TypeVar("T")
R = TypeVar("R")

_LOG = logging.getLogger(__name__)

_CHUNK = 8
"""Items that travel together: one trip a task would cost more than the task."""
_AHEAD = 3
"""Chunks in flight for each worker, so that none waits while the caller writes."""


def worker_count(asked: int) -> int:
    """Number of worker processes: as asked, or one for each usable core where 0 is asked."""
    return (
        asked
        if asked > 0
        else len(os.sched_getaffinity(0))
        if hasattr(os, "sched_getaffinity")
        else os.cpu_count() or 1
    )


def in_order(work: Callable[[T], R], items: Iterable[T], *, workers: int, lost: Callable[[T], R]) -> Iterator[R]:
    """Apply a function to every item and yield the answers in the order of the items.

    Args:
        work: A function of the module level; it must not raise for one bad item.
        items: Read lazily: at most a few chunks ahead of the answers.
        workers: 1 works in the calling process, 0 takes one process a core.
        lost: The answer for an item whose worker process died of it.

    Yields:
        One answer an item.

    Raises:
        EnvironmentFailure: Worker processes cannot be started at all.
    """
    count = worker_count(workers)
    if count == 1:
        yield from map(work, items)
        return
    chunks = _chunked(items, _CHUNK)
    pool = _start(count)
    flying: deque[tuple[tuple[T, ...], Future[list[R]]]] = deque()
    try:
        while True:
            while len(flying) < count * _AHEAD and (chunk := next(chunks, None)) is not None:
                flying.append((chunk, _submit(pool, work, chunk)))
            if not flying:
                return
            chunk, answer = flying.popleft()
            try:
                answers = answer.result()
            except BrokenProcessPool:
                # All that is in flight fails with the pool; which item killed it shows only one by one.
                _LOG.warning("a worker process died; what it left is done again, item by item")
                pool.shutdown(cancel_futures=True)
                flying.appendleft((chunk, answer))
                yield from _one_by_one(work, flying, lost)
                flying.clear()
                pool = _start(count)
            else:
                yield from answers
    finally:
        pool.shutdown(cancel_futures=True)


def _chunked(items: Iterable[T], size: int) -> Iterator[tuple[T, ...]]:
    iterator = iter(items)
    while chunk := tuple(islice(iterator, size)):
        yield chunk


def _start(count: int) -> ProcessPoolExecutor:
    """A pool that is known to work."""
    pool = ProcessPoolExecutor(count, mp_context=multiprocessing.get_context("spawn"), initializer=_prepare_worker)
    try:
        pool.submit(os.getpid).result()
    except BrokenProcessPool as error:
        raise EnvironmentFailure(
            "worker processes cannot be started",
            hint='use workers=1, or call from under `if __name__ == "__main__":`',
        ) from error
    return pool


def _submit(pool: ProcessPoolExecutor, work: Callable[[T], R], chunk: tuple[T, ...]) -> Future[list[R]]:
    try:
        return pool.submit(_work_through, work, chunk)
    except BrokenProcessPool as error:  # broke since the last answer: the future says so when its turn comes
        failed: Future[list[R]] = Future()
        failed.set_exception(error)
        return failed


def _whole(answer: Future[list[R]]) -> bool:
    return answer.done() and not answer.cancelled() and answer.exception() is None


def _one_by_one(
    work: Callable[[T], R], flying: Iterable[tuple[tuple[T, ...], Future[list[R]]]], lost: Callable[[T], R]
) -> Iterator[R]:
    """Answers that came back whole, and the others from one worker at a time, replaced whenever an item kills it."""
    pool = _start(1)
    try:
        for chunk, answer in flying:
            if _whole(answer):
                yield from answer.result()
                continue
            for item in chunk:
                try:
                    yield pool.submit(work, item).result()
                except BrokenProcessPool:
                    pool.shutdown(cancel_futures=True)
                    pool = _start(1)
                    yield lost(item)
    finally:
        pool.shutdown(cancel_futures=True)


def _work_through(work: Callable[[T], R], chunk: tuple[T, ...]) -> list[R]:
    return [work(item) for item in chunk]


def _prepare_worker() -> None:
    """Leave the interrupt key to the caller, and end with it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        # The queues that a worker waits on stay open in its siblings, so nothing else would ever wake it.
        os._exit(1)
