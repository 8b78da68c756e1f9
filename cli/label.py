"""``proas label``: what the graph says of each step."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from proas.cli.console import Output, facts_table
from proas.cli.options import DatabaseOptions, GraphName, Json, Strict, VersionOption, with_database

if TYPE_CHECKING:
    from proas.graph.reports import LabelReport

__all__ = ["label"]


@with_database
def label(
    rollouts: Annotated[Path, typer.Argument(help="Rollouts, one JSON object a line.", metavar="ROLLOUTS.jsonl")],
    graph: GraphName,
    out: Annotated[Path, typer.Option("--out", "-o", help="Where the labelled rollouts go.", metavar="PATH")],
    database: DatabaseOptions,
    version: VersionOption = None,
    strict: Strict = False,
    json: Json = False,
) -> None:
    """Label every step of a file of rollouts: reasonable, progress, drift.

    The whole file is one batch and one round trip. Rollouts of tasks that the graph does not know are marked
    uncovered and go through; records that cannot be used go to OUT.rejects.jsonl with their reason.
    """
    from proas.cli.database import connect, existing_graph
    from proas.cli.rejects import end, load, settle
    from proas.graph.reports import LabelReport
    from proas.rollout_files import write_rollouts
    from proas.states import attach_all

    output = Output(json_wanted=json)
    batch = attach_all(load(rollouts, out, output))
    aside = settle(batch.rejects, usable=len(batch), origin=rollouts, out=out, output=output)
    store = existing_graph(connect(database, output), graph)
    with output.waiting("Labelling"):
        labelled = store.label(batch, version=version)
    write_rollouts(out, labelled)
    report = LabelReport.of(labelled)
    document = {**asdict(report), "rejected": len(batch.rejects), "rejects": aside, "out": str(out)}
    output.result(document, facts_table(_summary(report, out), title=f"Labels from {graph}"))
    end(batch.rejects, strict=strict)


def _summary(report: LabelReport, out: Path) -> dict[str, object]:
    summary: dict[str, object] = {
        "version": report.version,
        "rollouts": report.rollouts,
        "covered": report.covered,
        "uncovered": report.uncovered,
        "steps labelled": report.steps,
    }
    if report.steps:
        summary["reasonable (Re)"] = f"{report.reasonable:,}  {report.reasonable / report.steps:.0%}"
        summary["progress (PA)"] = f"{report.progress:,}  {report.progress / report.steps:.0%}"
    return summary | {"written to": out}
