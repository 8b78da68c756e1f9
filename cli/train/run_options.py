"""Options of the commands that measure a run: which policy, on what, how often."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from proas.cli.options import LARGEST

__all__ = ["At", "Data", "OwnWorkers", "Repeats", "Tasks"]

Data = Annotated[Path | None, typer.Option("--data", help="Other data of the same environment.", metavar="PATH")]
At = Annotated[
    int | None,
    typer.Option("--checkpoint", min=0, max=LARGEST, help="Iteration; the last if not given.", metavar="N"),
]
Tasks = Annotated[
    int | None,
    typer.Option("--tasks", min=1, max=LARGEST, help="At most so many tasks; all of a split.", metavar="N"),
]
Repeats = Annotated[int, typer.Option("--repeats", min=1, max=LARGEST, help="Episodes of each task.", metavar="N")]
OwnWorkers = Annotated[
    int | None,
    typer.Option("--workers", min=1, max=256, help="Processes; the run's own if not given.", metavar="N"),
]
