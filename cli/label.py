"""``proas label``: what the graph says of each step."""

from __future__ import annotations

from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from proas.cli.console import Output, facts_table
from proas.cli.options import LARGEST, DatabaseOptions, GraphName, Json, Strict, VersionOption, with_options

if TYPE_CHECKING:
    from proas.graph.connect import Connection
    from proas.graph.reports import LabelReport
    from proas.rollouts import RolloutBatch

__all__ = ["OnFailureName", "label"]


class OnFailureName(StrEnum):
    """What to do when no server answers."""

    RAISE = "raise"
    PASSTHROUGH = "passthrough"


@with_options
def label(
    rollouts: Annotated[Path, typer.Argument(help="Rollouts, one JSON object a line.", metavar="ROLLOUTS.jsonl")],
    graph: GraphName,
    out: Annotated[Path, typer.Option("--out", "-o", help="Where the labelled rollouts go.", metavar="PATH")],
    database: DatabaseOptions,
    version: VersionOption = None,
    min_support: Annotated[
        int,
        typer.Option(
            "--min-support",
            min=1,
            max=LARGEST,
            help="Transitions of less support count as absent.",
            metavar="N",
        ),
    ] = 1,
    on_failure: Annotated[
        OnFailureName,
        typer.Option(
            "--on-failure",
            help="When no server answers: end with an error (raise), or write the rollouts unlabelled, so that their "
            "advantages stay as they are (passthrough).",
            metavar="raise|passthrough",
        ),
    ] = OnFailureName.RAISE,
    strict: Strict = False,
    json: Json = False,
) -> None:
    """Label every step of a file of rollouts: reasonable, progress, drift, distance to the goal.

    The whole file is one batch and one round trip. Rollouts of tasks that the graph does not know are marked
    uncovered and go through; records that cannot be used go to OUT.rejects.jsonl with their reason.
    """
    from proas.cli.database import connect
    from proas.cli.rejects import end, load, settle
    from proas.graph.reports import LabelReport
    from proas.rollout_files import write_rollouts
    from proas.states import attach_all

    output = Output(json_wanted=json)
    batch = attach_all(load(rollouts, out, output))
    aside = settle(batch.rejects, usable=len(batch), origin=rollouts, out=out, output=output)
    connection = connect(database, output)
    with output.waiting("Labelling"):
        labelled = _labelled(connection, graph, batch, version, on_failure, min_support)
    write_rollouts(out, labelled)
    report = LabelReport.of(labelled)
    if report.passed_through:
        output.warn(f"{connection.uri} did not answer: no step is labelled, and advantages will stay as they are")
    document = {**asdict(report), "rejected": len(batch.rejects), "rejects": aside, "out": str(out)}
    output.result(document, facts_table(_summary(report, out), title=f"Labels from {graph}"))
    end(batch.rejects, strict=strict)


def _labelled(
    connection: Connection,
    graph: str,
    batch: RolloutBatch,
    version: int | None,
    on_failure: OnFailureName,
    min_support: int,
) -> RolloutBatch:
    from proas.cli.database import existing_graph
    from proas.errors import GraphNotFound
    from proas.graph.store import ReferenceGraph

    try:
        return ReferenceGraph(connection, graph).label(
            batch, version=version, on_failure=on_failure.value, min_support=min_support
        )
    except GraphNotFound:
        existing_graph(connection, graph)  # its message names the graphs that are there
        raise


def _summary(report: LabelReport, out: Path) -> dict[str, object]:
    summary: dict[str, object] = {
        "version": "none: the graph could not be asked" if report.passed_through else report.version,
        "rollouts": report.rollouts,
        "covered": report.covered,
        "uncovered": report.uncovered,
        "steps labelled": report.steps,
    }
    if report.steps:
        summary["reasonable (Re)"] = f"{report.reasonable:,}  {report.reasonable / report.steps:.0%}"
        summary["progress (PA)"] = f"{report.progress:,}  {report.progress / report.steps:.0%}"
    if report.measured:
        summary["of known distance"] = f"{report.measured:,}  {report.measured / report.steps:.0%}"
        summary["  coming nearer"] = f"{report.nearer:,}  {report.nearer / report.measured:.0%}"
    return summary | {"written to": out}
