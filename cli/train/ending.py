"""A request to end (SIGTERM): who answers it, and how."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from types import FrameType

__all__ = ["answering", "ending_in_order"]


def ending_in_order() -> AbstractContextManager[None]:
    """Take a request to end as an interrupt: what is under way is ended in order, and can go on later.

    A program that was started in the background may have been told to ignore Ctrl-C, and so would what it starts; this
    signal reaches it all the same.
    """
    return answering(_interrupt)


@contextmanager
def answering(answer: Callable[[], None]) -> Iterator[None]:
    """Answer a request to end so; afterwards as before."""

    def handle(number: int, frame: FrameType | None) -> None:
        answer()

    before = signal.signal(signal.SIGTERM, handle)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _interrupt() -> None:
    raise KeyboardInterrupt
