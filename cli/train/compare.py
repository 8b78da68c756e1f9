"""``proas compare``: runs side by side."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from proas.cli.console import Output, columns, plain
from proas.cli.options import Json

if TYPE_CHECKING:
    from rich.table import Table

    from proas.training.comparison import Comparison

__all__ = ["compare"]


def compare(
    runs: Annotated[list[Path], typer.Argument(help="Folders of runs, two or more.", metavar="RUN...")],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Folder of the report: report.md, report.json, curves.svg.", metavar="REPORT"),
    ] = None,
    target: Annotated[
        float,
        typer.Option("--target", min=0.0, max=100.0, help="Success to be reached, in percent.", metavar="PERCENT"),
    ] = 70.0,
    baseline: Annotated[
        str | None,
        typer.Option("--baseline", help="Arm that the others are set against; the first if not given.", metavar="ARM"),
    ] = None,
    json: Json = False,
) -> None:
    """Compare runs: success, speed-up at a target, where the time goes.

    Runs of one arm (algorithm and shaping) differ in their seeds and are pooled: mean, sample standard deviation, and
    the difference from the baseline paired by seed with its 95 % interval.
    """
    from proas.training.comparison import compare_runs
    from proas.training.report import write_report
    from proas.training.run_directory import RunDirectory

    output = Output(json_wanted=json)
    found = compare_runs([RunDirectory(run) for run in runs], target=target / 100, baseline=baseline)
    files = [] if out is None else write_report(found, out)
    for warning in found.warnings:
        output.warn(warning)
    document = {**found.to_dict(), "files": [str(file) for file in files]}
    output.result(document, _table(found))
    if out is not None:
        output.done(f"report in {out}")


def _table(found: Comparison) -> Table:
    names = [
        "seeds",
        *(f"T={t:g}" for t in found.temperatures),
        "rollouts",
        "difference",
        f"{found.target:.0%} after",
        "speed-up",
    ]
    table = columns("arm", *names, right=tuple(names))
    for arm in found.arms:
        table.add_row(
            plain(arm.name),
            str(len(arm.seeds)),
            *(arm.final[t].shown() for t in found.temperatures),
            arm.rollouts.shown(),
            arm.difference.shown() if arm.difference is not None else "-",
            "-" if arm.iterations_to_target is None else f"{arm.iterations_to_target:g}",
            "-" if arm.speed_up is None else f"{arm.speed_up:.2f}",
        )
    return table
