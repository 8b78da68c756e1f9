"""``proas graph distances``: measures how far each state is from its task's goal."""

from __future__ import annotations

from dataclasses import asdict

from proas.cli.console import Output, facts_table
from proas.cli.options import DatabaseOptions, GraphMeant, Json, with_options

__all__ = ["distances"]


@with_options
def distances(database: DatabaseOptions, graph: GraphMeant = None, json: Json = False) -> None:
    """Measure how far each state is from its task's goal, and store it with the state.

    Building and evolving do so by themselves: this is for graphs of earlier releases. Doing it again changes nothing.
    """
    from proas.cli.database import graph_meant, prepare

    output = Output(json_wanted=json)
    meant = graph_meant(prepare(database, output), graph)
    with output.progress(f"Measuring {meant.name}", max(1, meant.stats().tasks)) as advance:
        done = 0

        def told(count: int) -> None:
            nonlocal done
            done += count
            advance(done, None)

        report = meant.measure(progress=told)
    facts = {
        "version": report.version,
        "tasks": report.tasks,
        "states": f"{report.states:,}",
        "with a way to the goal": f"{report.measured:,}",
        "farthest": report.farthest,
        "written": f"{report.changed:,}",
        "time": f"{report.seconds:.1f} s",
    }
    output.result(asdict(report), facts_table(facts, title=f"Distances in {report.graph}"))
