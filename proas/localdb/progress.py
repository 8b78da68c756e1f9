"""How long work reports what it is doing.

Everything here that takes more than a moment accepts a ``Report``: a plain callable that gets one ``Progress`` after
another. ``console_progress`` is the one that draws on a terminal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeAlias

from rich.console import Console
from rich.progress import BarColumn, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar

__all__ = ["Progress", "Report", "console_progress", "silent"]


@dataclass(frozen=True)
class Progress:
    """A point on the way.

    Attributes:
        stage: What is being done, as a short phrase; constant through a stage.
        done: Bytes done; 0 in a stage that cannot be measured.
        total: Bytes in all; 0 in a stage that cannot be measured.
    """

    stage: str
    done: int = 0
    total: int = 0


Report: TypeAlias = Callable[[Progress], None]


def silent(progress: Progress) -> None:
    """Report nothing."""


@contextmanager
def console_progress(console: Console | None = None) -> Iterator[Report]:
    """Draw progress on a terminal, one line a stage; say nothing when the output is no terminal.

    Args:
        console: Where to draw; standard error when absent, so that standard output stays clean for data.

    Yields:
        A ``Report``, to be called from any thread.
    """
    console = Console(stderr=True) if console is None else console
    if not console.is_terminal:
        yield silent
        return
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[amount]}"))
    with Bar(*columns, TimeElapsedColumn(), console=console, transient=True) as bar:
        tasks: dict[str, TaskID] = {}

        def report(progress: Progress) -> None:
            amount = f"{progress.done / 1e6:.0f}/{progress.total / 1e6:.0f} MB" if progress.total else ""
            if progress.stage not in tasks:
                for earlier in tasks.values():
                    bar.update(earlier, visible=False)
                tasks[progress.stage] = bar.add_task(progress.stage, total=progress.total or None, amount=amount)
            bar.update(tasks[progress.stage], completed=progress.done, total=progress.total or None, amount=amount)

        yield report
