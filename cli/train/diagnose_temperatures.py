"""``proas diagnose temperatures``: which sampling temperature suits a policy."""

from __future__ import annotations

from typing import Annotated

import typer

from proas.cli.console import Output
from proas.cli.options import LARGEST, Json
from proas.cli.train.diagnose_parts import At, Data, Out, Run, finish, ready
from proas.cli.train.diagnose_view import sweep_tables
from proas.errors import UsageError

__all__ = ["temperatures"]


def temperatures(
    run: Run,
    at: Annotated[
        str,
        typer.Option("--temperatures", help="Temperatures, 0 for the likeliest words.", metavar="T,T,..."),
    ] = "0.2,0.4,0.6,0.8,1,1.2",
    tasks: Annotated[
        int | None,
        typer.Option("--tasks", min=1, max=LARGEST, help="At most so many tasks; all of a split.", metavar="N"),
    ] = None,
    repeats: Annotated[
        int, typer.Option("--repeats", min=1, max=LARGEST, help="Episodes of each task.", metavar="N")
    ] = 1,
    split: Annotated[
        str | None,
        typer.Option("--split", help="A split of the run's data; its validation tasks if not given.", metavar="NAME"),
    ] = None,
    data: Data = None,
    checkpoint: At = None,
    workers: Annotated[
        int | None,
        typer.Option("--workers", min=1, max=256, help="Processes; the run's own if not given.", metavar="N"),
    ] = None,
    out: Out = None,
    json: Json = False,
) -> None:
    """Measure a policy over sampling temperatures: which one suits it, and how much it depends on it.

    Policies that are compared at one temperature may differ by how sure of themselves they are and by nothing else.
    """
    output = Output(json_wanted=json)
    chosen = _numbers(at)
    directory = ready(run)
    from proas.training.interventions.sweep import SweepSettings, measure_sweep

    with output.waiting("Playing"):
        report = measure_sweep(
            directory,
            SweepSettings(chosen, tasks, repeats, workers),
            split=split,
            data=data,
            iteration=checkpoint,
        )
    from proas.training.interventions.figures import draw_sweep

    finish(output, run, out, "temperatures", report, lambda file: draw_sweep(report, file), sweep_tables(report))


def _numbers(text: str) -> tuple[float, ...]:
    try:
        return tuple(sorted({float(part) for part in text.split(",")}))
    except ValueError:
        raise UsageError(f"{text!r} is no list of temperatures", hint="for example 0.2,0.4,0.6,0.8,1") from None
