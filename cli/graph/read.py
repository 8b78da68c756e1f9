"""``proas graph list | stats | show | verify | diff``: looking at reference graphs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import RenderableType
from rich.text import Text

from proas.cli.console import Output, columns, counted, facts_table, moment, plain
from proas.cli.options import LARGEST, DatabaseOptions, GraphMeant, Json, VersionOption, with_options

if TYPE_CHECKING:
    from proas.graph.reports import GraphDiff

__all__ = ["diff", "list_graphs", "show", "stats", "verify"]

_TASKS = 20


@with_options
def list_graphs(database: DatabaseOptions, json: Json = False) -> None:
    """List the graphs of the database."""
    from proas.cli.database import connect
    from proas.graph.store import list_graphs as graphs_of

    output = Output(json_wanted=json)
    connection = connect(database, output)
    graphs = graphs_of(connection)
    table = columns("graph", "version", "over", "created", right=("version", "over"))
    for info in sorted(graphs, key=lambda one: (one.base or one.name, bool(one.base), one.name)):
        name = f"{'  ' if info.base else ''}{info.name}{'  (being imported or dropped)' if info.dropping else ''}"
        over = str(info.base_version) if info.base else ""
        table.add_row(plain(name), str(info.version), over, moment(info.created))
    document = {"database": connection.database, "graphs": [asdict(info) for info in graphs]}
    if not graphs:
        output.result(document, "No graph yet; make one with `proas graph build`.")
        return
    layers = Text("Layers stand below their base; `over` is the version of it that they see.", "dim")
    output.result(document, table, *([layers] if any(info.base for info in graphs) else []))


@with_options
def stats(
    database: DatabaseOptions, graph: GraphMeant = None, version: VersionOption = None, json: Json = False
) -> None:
    """Count tasks, subgoals, states and transitions, and say where they come from."""
    from proas.cli.database import connect, graph_meant

    output = Output(json_wanted=json)
    found = graph_meant(connect(database, output), graph).stats(version=version)
    facts: dict[str, object] = {"version": found.version}
    if found.base:
        facts["base"] = found.base
    facts |= {"tasks": found.tasks, "subgoals": found.subgoals, "states": found.states}
    facts |= {"transitions": found.transitions, "successes joined": found.successes}
    if found.base:
        facts |= {"own states": found.own_states, "own transitions": found.own_transitions}
    sources = columns("source", "states", "transitions", right=("states", "transitions"))
    names = sorted(found.states_by_source.keys() | found.transitions_by_source.keys())
    for name in names:
        states, transitions = found.states_by_source.get(name, 0), found.transitions_by_source.get(name, 0)
        sources.add_row(plain(name), f"{states:,}", f"{transitions:,}")
    numbers = ("version", "new states", "new transitions")
    versions = columns(*numbers, "run", "at", right=numbers)
    for made in found.versions[-10:]:
        versions.add_row(
            str(made.k), f"{made.added_states:,}", f"{made.added_transitions:,}", plain(made.run), moment(made.at)
        )
    document: dict[str, Any] = asdict(found)
    document["by_source"] = {
        name: {"states": found.states_by_source.get(name, 0), "transitions": found.transitions_by_source.get(name, 0)}
        for name in names
    }
    output.result(document, facts_table(facts, title=found.graph), sources, versions if found.versions else "")


@with_options
def show(
    task: Annotated[str, typer.Argument(help="Key of the task, or its unique beginning.", metavar="TASK")],
    database: DatabaseOptions,
    graph: GraphMeant = None,
    version: VersionOption = None,
    states: Annotated[
        int, typer.Option("--states", min=0, help="How many states to list for each subgoal.", metavar="N")
    ] = 3,
    rollout: Annotated[
        str | None,
        typer.Option(
            "--rollout",
            help="Show this rollout of the task too, step by step; the ID may leave out the task's key.",
            metavar="FILE#ID",
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Show a task's subgoals as a ladder, with the states and transitions of each, and a rollout's steps."""
    from proas.cli.database import connect, graph_meant
    from proas.cli.graph.rollout_choice import chosen_rollouts
    from proas.cli.graph.steps_view import rollout_document, rollout_view
    from proas.cli.graph.task_names import find_task
    from proas.cli.graph.task_view import as_document, as_ladder

    output = Output(json_wanted=json)
    store = graph_meant(connect(database, output), graph)
    seen = store.info().version if version is None else version  # one version, even while a run adds the next
    found = store.read(find_task(store, task, seen), version=seen)
    walked = (
        chosen_rollouts(store, found.task.key, rollout, version=version, only_one=True)[0]
        if rollout is not None
        else None
    )
    document: dict[str, Any] = {
        "graph": store.name,
        "version": seen,
        **as_document(found),
    }
    if walked is not None:
        document["rollout"] = rollout_document(walked)
    shown = as_ladder(found, graph=store.name, version=seen, listed=states)
    output.result(document, *shown, *(rollout_view(walked, seen) if walked is not None else ()))


@with_options
def verify(database: DatabaseOptions, graph: GraphMeant = None, json: Json = False) -> None:
    """Check every invariant of a graph on the database; ends with code 1 when one is broken."""
    from proas.cli.database import connect, graph_meant

    output = Output(json_wanted=json)
    store = graph_meant(connect(database, output), graph)
    with output.waiting(f"Checking {store.name}"):
        report = store.verify()
    broken = {violation.rule: violation for violation in report.violations}
    table = columns("rule", "holds", "broken", "where", right=("broken",))
    for rule in report.rules:
        violation = broken.get(rule)
        if violation is None:
            table.add_row(plain(rule), Text("yes", "green"), "", "")
        else:
            where = plain(violation.meaning + "\n" + "\n".join(violation.samples))
            table.add_row(plain(rule), Text("no", "bold red"), f"{violation.count:,}", where)
    verdict = Text("sound", "bold green") if report.ok else Text("not sound", "bold red")
    facts = {
        "graph": Text.assemble(f"{report.graph} at version {report.version}: ", verdict),
        "checked": f"{report.tasks:,} tasks, {report.states:,} states, {report.transitions:,} transitions "
        f"in {report.seconds:.1f} s",
    }
    output.result({**asdict(report), "ok": report.ok}, facts_table(facts), table)
    if not report.ok:
        raise typer.Exit(1)


@with_options
def diff(
    from_version: Annotated[int, typer.Option("--from", min=0, max=LARGEST, help="The older version.", metavar="K")],
    to_version: Annotated[int, typer.Option("--to", min=0, max=LARGEST, help="The newer version.", metavar="L")],
    database: DatabaseOptions,
    graph: GraphMeant = None,
    html: Annotated[
        Path | None,
        typer.Option("--html", help="Write a page that shows and draws it: one file, no network.", metavar="OUT.html"),
    ] = None,
    json: Json = False,
) -> None:
    """Show what a graph gained between two versions, by task and subgoal, most changed first."""
    from proas.cli.database import connect, graph_meant

    output = Output(json_wanted=json)
    store = graph_meant(connect(database, output), graph)
    if html is not None:
        from proas.cli.graph.viz import diff_page

        diff_page(output, store, html, after=from_version, version=to_version)
        return
    found = store.diff(from_version, to_version)
    facts: dict[str, object] = {
        "new tasks": found.added_tasks,
        "new states": found.added_states,
        "new transitions": found.added_transitions,
        "versions between": _versions(found, store.name),
    }
    title = f"{store.name}: version {from_version} to {to_version}"
    goals = {} if json else {task.key: task.text or task.goal for task in store.tasks(version=to_version)}
    output.result(asdict(found), facts_table(facts, title=title), *_growth(found, goals))


def _versions(found: GraphDiff, graph: str) -> str:
    """The versions as ranges, such as ``11 to 30``; a run by which the graph is called needs no name."""
    told = []
    for run, own in groupby(found.versions, key=lambda made: made.run):
        numbers = [made.k for made in own]
        span = str(numbers[0]) if len(numbers) == 1 else f"{numbers[0]} to {numbers[-1]}"
        told.append(f"{span} ({run})" if run and run != graph else span)
    return ", ".join(told) or "none"


def _growth(found: GraphDiff, goals: Mapping[str, str]) -> Iterator[RenderableType]:
    """What each task gained, subgoal by subgoal."""
    from proas.views.diff_page import growth_by_task

    ranked = growth_by_task(found)
    for task, own in ranked[:_TASKS]:
        name = plain(task)
        name.no_wrap = True
        yield ""
        yield name
        if goals.get(task):
            yield plain(goals[task])
        yield facts_table(
            {
                f"  {part.index} {part.description}": f"+{counted(part.added_states, 'state')}, "
                f"+{counted(part.added_transitions, 'transition')}"
                for part in own
            }
        )
    if len(ranked) > _TASKS:
        yield f"\n... and {len(ranked) - _TASKS:,} more tasks; --json lists them all"
