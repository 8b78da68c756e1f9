"""``proas rollouts``: rollouts attached to a graph, to be looked at in Neo4j Browser."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from proas.cli.console import Output, columns, facts_table, plain
from proas.cli.options import LARGEST, DatabaseOptions, GraphMeant, Json, Strict, VersionOption, with_options

if TYPE_CHECKING:
    from proas.graph.store import ReferenceGraph
    from proas.rollouts import Reject, Rollout

__all__ = ["app"]

_SHOWN = 5
_MOST = 200

app = typer.Typer(help="Attach rollouts to a graph, to see where they leave it; remove them.", no_args_is_help=True)


@app.command("attach")
@with_options
def attach(
    rollouts: Annotated[Path, typer.Argument(help="Rollouts, one JSON object a line.", metavar="ROLLOUTS.jsonl")],
    database: DatabaseOptions,
    graph: GraphMeant = None,
    task: Annotated[
        str | None,
        typer.Option("--task", help="Only those of this task: its key, or the unique beginning of it.", metavar="TASK"),
    ] = None,
    most: Annotated[
        int,
        typer.Option(
            "--max",
            min=1,
            max=LARGEST,
            help="Rollouts that the graph may hold in all; what is beyond it is left out.",
            metavar="N",
        ),
    ] = _MOST,
    run: Annotated[
        str | None,
        typer.Option(
            "--run", help="Where they come from, in a word; the name of the file if not given.", metavar="NAME"
        ),
    ] = None,
    version: VersionOption = None,
    strict: Strict = False,
    json: Json = False,
) -> None:
    """Attach labelled rollouts to the states that they visit, so that Browser shows where they leave the graph.

    Rollouts that this graph has not labelled are labelled first. Attaching again changes nothing; with other labels the
    newer take the place. Labels, evolution, verification, counts and exports are the same with and without.
    """
    from proas.cli.database import connect, graph_meant
    from proas.cli.graph.task_names import find_task
    from proas.errors import DataError
    from proas.graph.names import check_run_name
    from proas.rollout_files import load_rollouts

    output = Output(json_wanted=json)
    if rollouts.is_dir():
        raise DataError(f"{rollouts} is a folder", hint="give a JSONL file of rollouts")
    name = check_run_name(rollouts.stem if run is None else run)
    with output.waiting(f"Reading {rollouts.name}"):
        batch = load_rollouts(rollouts)
    store = graph_meant(connect(database, output), graph)
    wanted = find_task(store, task, version) if task is not None else None
    own = [one for one in batch if wanted is None or one.task == wanted]
    with output.waiting(f"Attaching to {store.name}"):
        report = store.attach(_labelled(store, own, version), run=name, most=most)
    rejects = (*batch.rejects, *report.rejected)
    document = {
        "graph": store.name,
        "run": name,
        "attached": report.rollouts,
        "replaced": report.replaced,
        "known": report.known,
        "left_out": report.left_out,
        "steps": report.steps,
        "strays": report.strays,
        "rejected": [{"line": one.line, "id": one.id, "reason": one.reason} for one in rejects],
    }
    facts: dict[str, object] = {
        "attached": report.rollouts,
        "  in place of older labels": report.replaced,
        "attached before": report.known,
        "steps": report.steps,
        "states off the graph": report.strays,
    }
    if report.left_out:
        facts["left out"] = f"{report.left_out:,}, as --max is reached"
    if rejects:
        _tell(output, rejects)
    if not report.rollouts and not report.known and not report.left_out:
        raise DataError(
            f"nothing in {rollouts} can be attached to {store.name!r}",
            hint=rejects[0].reason if rejects else "it holds no rollout" + (f" of {wanted}" if wanted else ""),
        )
    output.result(document, facts_table(facts, title=f"Rollouts on {store.name}"))
    if rejects and strict:
        raise typer.Exit(1)


@app.command("prune")
@with_options
def prune(
    database: DatabaseOptions,
    graph: GraphMeant = None,
    before: Annotated[
        int | None,
        typer.Option("--before", min=0, max=LARGEST, help="Those that an earlier version labelled.", metavar="VERSION"),
    ] = None,
    keep: Annotated[
        int | None,
        typer.Option("--keep", min=0, max=LARGEST, help="All but the N attached last.", metavar="N"),
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="All of them.", metavar="")] = False,
    json: Json = False,
) -> None:
    """Remove attached rollouts, and the states off the graph that none of the others reaches."""
    from dataclasses import asdict

    from proas.cli.database import connect, graph_meant
    from proas.errors import UsageError

    if [before is not None, keep is not None, everything].count(True) != 1:
        raise UsageError("which rollouts are to go?", hint="give one of --before VERSION, --keep N and --all")
    output = Output(json_wanted=json)
    store = graph_meant(connect(database, output), graph)
    with output.waiting(f"Removing rollouts from {store.name}"):
        report = store.prune(before=before, keep=keep, everything=everything)
    facts = {
        "removed": report.rollouts,
        "steps": report.steps,
        "states off the graph": report.strays,
        "still attached": report.left,
    }
    output.result({"graph": store.name, **asdict(report)}, facts_table(facts, title=f"Rollouts on {store.name}"))


def _labelled(store: ReferenceGraph, rollouts: list[Rollout], version: int | None) -> list[Rollout]:
    """The rollouts with the graph's labels: those that they carry, unless a version is asked for, else new ones."""
    from proas.rollouts import RolloutBatch
    from proas.states import attach_all

    bare = [
        rollout
        for rollout in rollouts
        if version is not None or rollout.graph != store.name or any(step.label is None for step in rollout.steps)
    ]
    if not bare:
        return rollouts
    labelled = {one.id: one for one in store.label(attach_all(RolloutBatch(tuple(bare))), version=version)}
    return [labelled.get(rollout.id, rollout) for rollout in rollouts]


def _tell(output: Output, rejects: Sequence[Reject]) -> None:
    output.warn(f"{len(rejects):,} records cannot be attached")
    table = columns("line", "id", "reason", right=("line",))
    for reject in rejects[:_SHOWN]:
        table.add_row(str(reject.line or ""), plain(reject.id), plain(reject.reason))
    output.note(table)
    if len(rejects) > _SHOWN:
        output.note(f"... and {len(rejects) - _SHOWN:,} more")
