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

    Runs that differ in their seeds alone are one arm and are pooled: mean, sample standard deviation, and the
    difference from the baseline paired by seed with its 95 % interval. Runs of one method that differ in settings, in
    the graph or in what they start from are arms of their own, named by what differs.
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
    from proas.training.report import COLUMNS, measurements

    names = [name.format(target=f"{found.target:.0%}") for name in COLUMNS]
    table = columns("arm", "seeds", *names, right=("seeds", *names[1:]))
    for arm in found.arms:
        named = (plain(arm.name), str(len(arm.seeds)))
        for row in measurements(arm, found):
            table.add_row(*named, *row)
            named = (plain(""), "")
    return table
