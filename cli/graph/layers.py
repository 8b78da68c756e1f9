"""``proas graph create | promote | drop``: a graph's life, and that of the layers over it."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

import typer

from proas.cli.console import Output, facts_table, moment
from proas.cli.options import DatabaseOptions, Json, with_options
from proas.errors import UsageError

__all__ = ["create", "drop", "promote"]

_Named = Annotated[str | None, typer.Option("--graph", "-g", help="The same, as an option.", metavar="NAME")]


def _one_name(argument: str | None, option: str | None) -> str:
    """The graph's name, which may be given either way but must be given: these commands change what it names."""
    if argument and option and argument != option:
        raise UsageError(f"two graphs are named: {argument!r} and {option!r}", hint="name one")
    name = argument or option
    if not name:
        raise UsageError("no graph is named", hint="add its NAME")
    return name


@with_options
def create(
    database: DatabaseOptions,
    name: Annotated[str | None, typer.Argument(help="Name of the new graph.", metavar="NAME")] = None,
    graph: _Named = None,
    base: Annotated[
        str | None,
        typer.Option(
            "--base", help="Make it a layer over this graph: reads see both, writes stay here.", metavar="NAME"
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Make an empty graph, or a run's own layer over another; a graph that is there stays as it is."""
    from proas.cli.database import existing_graph, prepare
    from proas.graph.store import ReferenceGraph

    output = Output(json_wanted=json)
    wanted = _one_name(name, graph)
    connection = prepare(database, output)
    if base is not None:
        existing_graph(connection, base)
    info = ReferenceGraph.create(connection, wanted, base=base).info()
    facts: dict[str, object] = {"graph": info.name, "version": info.version, "created": moment(info.created)}
    if info.base:
        facts |= {"base": f"{info.base} at version {info.base_version}"}
    output.result(asdict(info), facts_table(facts))


@with_options
def promote(
    database: DatabaseOptions,
    layer: Annotated[str | None, typer.Argument(help="The layer to merge.", metavar="LAYER")] = None,
    graph: _Named = None,
    run: Annotated[str, typer.Option("--run", help="Name of the run, kept with the new version.", metavar="NAME")] = "",
    json: Json = False,
) -> None:
    """Merge a layer into its base, in one transaction; the layer stays, and doing it again changes nothing."""
    from proas.cli.database import connect, existing_graph

    output = Output(json_wanted=json)
    wanted = _one_name(layer, graph)
    store = existing_graph(connect(database, output), wanted)
    with output.waiting(f"Merging {wanted}"):
        report = store.promote(run=run)
    document: dict[str, Any] = asdict(report)
    facts = {
        "base": f"{report.base}, version {report.version_before} -> {report.version}",
        "new tasks": report.added_tasks,
        "new states": report.added_states,
        "new transitions": report.added_transitions,
        "successes carried over": report.successes,
    }
    output.result(document, facts_table(facts, title=f"Merged {wanted} into {report.base}"))
    for reject in report.rejected:
        output.warn(f"{reject.id}: {reject.reason}")


@with_options
def drop(
    database: DatabaseOptions,
    name: Annotated[str | None, typer.Argument(help="The graph to remove.", metavar="NAME")] = None,
    graph: _Named = None,
    force: Annotated[bool, typer.Option("--force", help="Remove the layers over it as well.", metavar="")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.", metavar="")] = False,
    json: Json = False,
) -> None:
    """Remove a graph with all its tasks, states and transitions. Asks first when a person is there to answer."""
    import sys

    from proas.cli.database import connect, existing_graph

    output = Output(json_wanted=json)
    wanted = _one_name(name, graph)
    store = existing_graph(connect(database, output), wanted)
    if not yes:
        if not sys.stdin.isatty():
            raise UsageError(f"dropping {wanted!r} cannot be undone, and nobody is there to confirm", hint="add --yes")
        stats = store.stats()
        question = (
            f"Remove graph {wanted}: {stats.tasks:,} tasks, {stats.states:,} states. This cannot be undone. Go on?"
        )
        if not typer.confirm(question, err=True):
            output.note("Nothing was removed.")
            raise typer.Exit(1)
    removed = 0
    with output.progress(f"Removing {wanted}") as advance:

        def count(nodes: int) -> None:
            nonlocal removed
            removed += nodes
            advance(removed, None)

        report = store.drop(force=force, progress=count)
    facts = {"graphs": ", ".join(report.graphs), "nodes": report.nodes, "relationships": report.relationships}
    output.result(asdict(report), facts_table(facts, title="Removed"))
