"""Metrics for TensorBoard, where it is installed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

__all__ = ["tensorboard_writer"]


@contextmanager
def tensorboard_writer(run: Path) -> Iterator[Callable[[Mapping[str, float]], None] | None]:
    """A function that writes a row of metrics to ``RUN/tensorboard``; ``None`` where TensorBoard is not installed.

    The first row takes the place of what an earlier process wrote of its iteration and of later ones.
    """
    if find_spec("tensorboard") is None:
        yield None
        return
    from torch.utils.tensorboard.writer import SummaryWriter

    opened: list[SummaryWriter] = []

    def write(row: Mapping[str, float]) -> None:
        step = int(row["iteration"])
        if not opened:  # not before: only the first row tells from where on the run is done again
            opened.append(SummaryWriter(str(run / "tensorboard"), purge_step=step))
        for name, value in row.items():
            if name != "iteration":
                opened[0].add_scalar(name, value, step)
        opened[0].flush()

    try:
        yield write
    finally:
        for writer in opened:
            writer.close()
