"""The live view of a run: where it stands, how quick it is, how long it still takes."""

from __future__ import annotations

import time
from collections import deque
from typing import TYPE_CHECKING, Self

from rich.console import Group
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table

from proas.cli.console import Output, columns, plain

if TYPE_CHECKING:
    from proas.training.config import TrainConfig

__all__ = ["TrainingView"]

_ROWS = 12
_PARTS = ("environment", "policy", "graph", "update")


class TrainingView:
    """Implements ``proas.training.trainer.Watcher``: a table on a terminal, lines elsewhere, on standard error.

    Args:
        output: Where to.
        config: Settings of the run.
    """

    def __init__(self, output: Output, config: TrainConfig) -> None:
        self._output = output
        self._temperatures = config.evaluation.temperatures
        self._total = 0 if config.algorithm == "sft" else config.iterations
        self._phase = "starting"
        self._rows: deque[dict[str, float]] = deque(maxlen=_ROWS)
        self._times: deque[float] = deque(maxlen=8)
        self._last = time.monotonic()
        self._bar = Progress(
            TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[pace]}")
        )
        self._task = self._bar.add_task(config.arm, total=max(self._total, 1), pace="")
        self._live = Live(self._render(), console=output.err, refresh_per_second=2, transient=True)

    def __enter__(self) -> Self:
        if self._output.err.is_terminal:
            self._live.start()
        return self

    def __exit__(self, *raised: object) -> None:
        if self._output.err.is_terminal:
            self._live.stop()

    def phase(self, what: str) -> None:
        """Something begins."""
        self._phase = what
        self._refresh()

    def note(self, message: str) -> None:
        """Something that the user should know."""
        self._output.warn(message)

    def metrics(self, row: dict[str, float]) -> None:
        """An iteration is done."""
        now = time.monotonic()
        if row["iteration"] > 0:
            self._times.append(now - self._last)
        self._last = now
        self._rows.append(row)
        pace = self._pace(int(row["iteration"]))
        self._bar.update(self._task, completed=int(row["iteration"]), pace=pace)
        if self._output.err.is_terminal:
            self._refresh()
        else:
            self._output.err.print(plain(self._line(row, pace)), soft_wrap=True)

    def _pace(self, iteration: int) -> str:
        if not self._times:
            return ""
        each = sum(self._times) / len(self._times)
        left = max(0, self._total - iteration) * each
        minutes, seconds = divmod(round(left), 60)
        return f"{each:.1f} s each, {minutes}:{seconds:02d} left"

    def _line(self, row: dict[str, float], pace: str) -> str:
        parts = [f"iteration {row['iteration']:.0f}/{self._total}"]
        if "rollout/success" in row:
            parts.append(f"rollouts {row['rollout/success']:.0%}")
            parts.append(f"invalid {row['rollout/invalid']:.0%}")
        parts += [
            f"T={t:g} {row[name]:.0%}" for t in self._temperatures if (name := f"evaluation/t{t:g}/success") in row
        ]
        return "  ".join([*parts, pace]).rstrip()

    def _refresh(self) -> None:
        if self._live.is_started:
            self._live.update(self._render())

    def _render(self) -> Group:
        names = ("iteration", "rollouts", "invalid", *(f"T={t:g}" for t in self._temperatures), "seconds", *_PARTS)
        table: Table = columns(*names, right=names)
        for row in self._rows:
            cells = [f"{row['iteration']:.0f}", _share(row, "rollout/success"), _share(row, "rollout/invalid")]
            cells += [_share(row, f"evaluation/t{t:g}/success") for t in self._temperatures]
            cells += [_seconds(row, name) for name in ("total", *_PARTS)]
            table.add_row(*cells)
        return Group(self._bar, plain(self._phase), table)


def _share(row: dict[str, float], name: str) -> str:
    return f"{row[name]:.0%}" if name in row else "-"


def _seconds(row: dict[str, float], name: str) -> str:
    return f"{row[f'seconds/{name}']:.1f}" if f"seconds/{name}" in row else "-"
