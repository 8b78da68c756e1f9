"""``proas evolve``: the successes of an iteration join the graph."""

from __future__ import annotations

from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from proas.cli.console import Output, facts_table
from proas.cli.options import DatabaseOptions, GraphName, Json, Strict, with_options

if TYPE_CHECKING:
    from proas.graph.reports import EvolveReport

__all__ = ["Rule", "evolve"]


class Rule(StrEnum):
    """Purification rules."""

    PAPER = "paper"
    LOOP_ERASED = "loop_erased"


@with_options
def evolve(
    rollouts: Annotated[
        Path, typer.Argument(help="Rollouts of one iteration, one JSON object a line.", metavar="ROLLOUTS.jsonl")
    ],
    graph: GraphName,
    database: DatabaseOptions,
    purification: Annotated[
        Rule,
        typer.Option(
            "--purification",
            help="Drop invalid steps and self-loops (paper), or every return as well (loop_erased).",
            metavar="paper|loop_erased",
        ),
    ] = Rule.PAPER,
    base: Annotated[
        str | None,
        typer.Option("--base", help="Make the graph first, as a layer over this one, if it is new.", metavar="NAME"),
    ] = None,
    run: Annotated[str, typer.Option("--run", help="Name of the run, kept with the new version.", metavar="NAME")] = "",
    strict: Strict = False,
    json: Json = False,
) -> None:
    """Join the successes of a file of rollouts with the graph: version k becomes k + 1, in one transaction.

    The union is strict and running it twice changes nothing. Records that cannot be used go to
    ROLLOUTS.jsonl.rejects.jsonl beside the input, with their reason.
    """
    from proas.cli.database import connect, existing_graph, prepare
    from proas.cli.rejects import end, load, settle
    from proas.graph.store import ReferenceGraph
    from proas.states import attach_all, ladder_of_rollout

    output = Output(json_wanted=json)
    batch = attach_all(load(rollouts, rollouts, output))
    if not batch.rollouts:
        settle(batch.rejects, usable=0, origin=rollouts, out=rollouts, output=output)
    if base is None:
        store = existing_graph(connect(database, output), graph)
    else:
        connection = prepare(database, output)
        existing_graph(connection, base)
        store = ReferenceGraph.create(connection, graph, base=base)
    with output.waiting("Evolving"):
        report = store.evolve(
            batch,
            purification=purification.value,
            ladder_of=ladder_of_rollout,
            run=run,
        )
    rejects = (*batch.rejects, *report.rejected)
    aside = settle(rejects, usable=len(batch) - len(report.rejected), origin=rollouts, out=rollouts, output=output)
    document: dict[str, Any] = {**asdict(report), "rejected": len(rejects), "rejects": aside}
    output.result(document, facts_table(_summary(report), title=f"Evolved {graph}"))
    end(rejects, strict=strict)


def _summary(report: EvolveReport) -> dict[str, object]:
    return {
        "version": f"{report.version_before} -> {report.version}",
        "new successes": report.successes,
        "known before": report.known,
        "failed rollouts": report.failed,
        "new tasks": report.new_tasks,
        "new states": report.added_states,
        "new transitions": report.added_transitions,
        "steps dropped": f"{report.dropped_invalid:,} invalid, {report.dropped_self_loops:,} self-loops, "
        f"{report.dropped_loops:,} in loops, {report.dropped_regress:,} regress",
        "seconds": round(report.seconds, 3),
    }
