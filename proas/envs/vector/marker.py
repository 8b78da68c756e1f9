"""What a worker is busy with, in memory that its parent can read whatever the worker does."""

from __future__ import annotations

import mmap
import struct
import tempfile
import time
from dataclasses import dataclass
from typing import IO

__all__ = ["Mark", "Marker"]

_SLOT = struct.Struct("=q")
_BEGUN = struct.Struct("=d")
_STEP = struct.Struct("=q")
_SIZE = 24
_IDLE = -1


@dataclass(frozen=True, slots=True)
class Mark:
    """What a worker is busy with.

    Attributes:
        slot: The slot that it is at.
        step: Number of the step, 0 for the reset.
        begun: When it began (``time.monotonic``, which all processes of a machine share).
    """

    slot: int
    step: int
    begun: float


class Marker:
    """Twenty-four bytes that two processes share.

    Args:
        descriptor: Descriptor of the file that another process made; ``None`` to make one.
    """

    def __init__(self, descriptor: int | None = None) -> None:
        self._file: IO[bytes] | None = None
        if descriptor is None:
            self._file = tempfile.TemporaryFile()  # noqa: SIM115  (closed with the marker)
            self._file.write(bytes(_SIZE))
            self._file.flush()
            descriptor = self._file.fileno()
        self._memory = mmap.mmap(descriptor, _SIZE)
        if self._file is not None:
            self.rest()

    def fileno(self) -> int:
        """Descriptor to hand to the other process. Only where the file was made here."""
        assert self._file is not None
        return self._file.fileno()

    def busy(self, slot: int, step: int) -> None:
        """Say what is begun now."""
        # The slot is written last and read first: a slot that reads as busy has its own time beside it, or a later one.
        self.rest()
        _STEP.pack_into(self._memory, 16, step)
        _BEGUN.pack_into(self._memory, 8, time.monotonic())
        _SLOT.pack_into(self._memory, 0, slot)

    def rest(self) -> None:
        """Say that nothing is under way."""
        _SLOT.pack_into(self._memory, 0, _IDLE)

    def read(self) -> Mark | None:
        """What is under way; ``None`` for nothing."""
        (slot,) = _SLOT.unpack_from(self._memory, 0)
        (begun,) = _BEGUN.unpack_from(self._memory, 8)
        (step,) = _STEP.unpack_from(self._memory, 16)
        return None if slot == _IDLE else Mark(slot, step, begun)

    def close(self) -> None:
        """Let go of the memory."""
        self._memory.close()
        if self._file is not None:
            self._file.close()
