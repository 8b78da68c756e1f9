"""``proas graph lift``: one task for each family of goals, with roles in place of names."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Group
from rich.table import Table

from proas.cli.console import Output, columns, facts_table
from proas.cli.options import DatabaseOptions, Json, with_options

if TYPE_CHECKING:
    from proas.graph_builders.lifting import LiftReport

__all__ = ["lift"]


@with_options
def lift(
    database: DatabaseOptions,
    source: Annotated[str, typer.Argument(help="Graph to read.", metavar="SOURCE")],
    to: Annotated[
        str,
        typer.Option(
            "--to",
            help="Graph to write; made if it is new. SOURCE itself is allowed: the lifted tasks then lie beside it.",
            metavar="NAME",
        ),
    ],
    least: Annotated[
        int,
        typer.Option("--least", min=1, help="Keep transitions that at least N tasks have.", metavar="N"),
    ] = 1,
    json: Json = False,
) -> None:
    """Rewrite a graph's tasks with roles in place of names, and join those of one family of goals.

    What was verified over many tasks then speaks for tasks that no graph has: `--set lifted=uncovered` of `proas train`
    labels them by it. The support of a lifted transition is the number of tasks that have it. A rerun changes nothing.
    """
    from proas.cli.database import existing_graph, prepare
    from proas.graph.store import ReferenceGraph
    from proas.graph_builders.lifting import lift_graph

    output = Output(json_wanted=json)
    connection = prepare(database, output)
    read = existing_graph(connection, source)
    total = read.stats().tasks
    written = ReferenceGraph.create(connection, to)
    done = 0
    with output.progress(f"Lifting {source}") as advance:

        def count(tasks: int) -> None:
            nonlocal done
            done += tasks
            advance(done, total)

        report = lift_graph(read, written, least=least, progress=count)
    output.result(asdict(report), _facts(report), _families(report))
    if not report.families:
        output.warn(f"nothing was lifted: {source} has no task of a family with roles")
        raise typer.Exit(1)
    for reject in report.rejected:
        output.warn(f"{reject.id}: {reject.reason}")
    if report.rejected:
        raise typer.Exit(1)


def _facts(report: LiftReport) -> Group:
    dropped = {
        "roles of both ends alike": report.dropped_self_loops,
        "falls back to an earlier subgoal": report.dropped_regress,
        "had by too few tasks": report.dropped_rare,
    }
    facts: dict[str, object] = {"tasks read": report.tasks}
    facts |= {"  lifted themselves": report.lifted_tasks} if report.lifted_tasks else {}
    facts |= {"  without roles": report.without_roles} if report.without_roles else {}
    facts |= {"new states": report.added_states, "new transitions": report.added_transitions}
    facts |= {f"  dropped: {why}": count for why, count in dropped.items() if count}
    facts["time"] = f"{report.seconds:.1f} s"
    return facts_table(facts, title=f"Lifted {report.source} to {report.target}")


def _families(report: LiftReport) -> Table:
    numbers = ("tasks", "transitions behind", "states", "transitions")
    table = columns("family", *numbers, right=numbers)
    for family in report.families:
        counts = (family.tasks, family.ground, family.states, family.transitions)
        table.add_row(family.task, *(f"{count:,}" for count in counts))
    return table
