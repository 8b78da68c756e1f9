"""Options of the commands that measure a run: which policy, on what, how often."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from proas.cli.console import Output
from proas.cli.options import LARGEST

if TYPE_CHECKING:
    from proas.training.run_directory import RunDirectory

__all__ = ["At", "Data", "OwnWorkers", "Repeats", "Split", "Tasks", "warn_of_wording"]

Data = Annotated[Path | None, typer.Option("--data", help="Other data of the same environment.", metavar="PATH")]
At = Annotated[
    int | None,
    typer.Option("--checkpoint", min=0, max=LARGEST, help="Iteration; the last if not given.", metavar="N"),
]
Split = Annotated[
    str | None,
    typer.Option("--split", help="A split of the run's data; its validation tasks if not given.", metavar="NAME"),
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


def warn_of_wording(
    output: Output, directory: RunDirectory, split: str | None, data: Path | None, options: Mapping[str, str]
) -> None:
    """Say so where a policy is measured on games whose words it was not trained on."""
    from proas.training.measure import unheard_verbs

    if split is None and data is None and not options:
        return
    if unheard := unheard_verbs(directory, split=split, data=data, options=options):
        output.warn(
            f"these games say {', '.join(unheard)}, the run's training games do not: they are of another release; "
            "--option wording=put or =move plays all of them by the rules of one"
        )
