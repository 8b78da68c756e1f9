"""A request to end, taken as Ctrl-C is."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

__all__ = ["ending_in_order"]


@contextmanager
def ending_in_order() -> Iterator[None]:
    """Take a request to end (SIGTERM) as an interrupt: what is under way is ended in order, and can go on later.

    A program that was started in the background may have been told to ignore Ctrl-C, and so would what it starts; this
    signal reaches it all the same.
    """

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
