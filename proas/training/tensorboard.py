"""Metrics for TensorBoard, where it is installed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from importlib.util import find_spec
from pathlib import Path

__all__ = ["tensorboard_writer"]


@contextmanager
def tensorboard_writer(run: Path) -> Iterator[Callable[[Mapping[str, float]], None] | None]:
    """A function that writes a row of metrics to ``RUN/tensorboard``; ``None`` where TensorBoard is not installed."""
    if find_spec("tensorboard") is None:
        yield None
        return
    from torch.utils.tensorboard.writer import SummaryWriter

    with closing(SummaryWriter(str(run / "tensorboard"))) as writer:

        def write(row: Mapping[str, float]) -> None:
            for name, value in row.items():
                if name != "iteration":
                    writer.add_scalar(name, value, int(row["iteration"]))
            writer.flush()

        yield write
