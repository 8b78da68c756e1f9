"""``proas graph viz``: one page to look at and to send on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from proas.cli.console import Output
from proas.cli.graph.pages import write_drawing
from proas.cli.graph.rollout_choice import with_files
from proas.cli.options import LARGEST, DatabaseOptions, GraphMeant, Json, VersionOption, with_options
from proas.errors import UsageError

if TYPE_CHECKING:
    from proas.graph.store import ReferenceGraph
    from proas.views.choosing import Question
    from proas.views.drawing import DrawnTask

__all__ = ["diff_page", "viz"]

_MOST = 2000


@with_options
def viz(
    database: DatabaseOptions,
    html: Annotated[Path, typer.Option("--html", "-o", help="The page to write.", metavar="OUT.html")],
    task: Annotated[
        str | None, typer.Argument(help="Key of a task, or its unique beginning.", metavar="[TASK]")
    ] = None,
    query: Annotated[
        str | None,
        typer.Option(
            "--query",
            "-q",
            help="A saved query of Neo4j Browser. Of the task or of all tasks: task (all of it), subgoal (one class, "
            "see --subgoal), added (what came after --after), shortest (a shortest way to the goal), support (what "
            "more than one demonstration took), detours (that attached rollouts took most often). Of the task: growth "
            "(what came when), provenance (who showed it), beyond (regions that only rollouts reach), rollout (one "
            "that is attached, see --attached), compare and only_here (with another graph, see --other). Of the "
            "database: graphs.",
            metavar="NAME",
        ),
    ] = None,
    graph: GraphMeant = None,
    version: VersionOption = None,
    after: Annotated[
        int | None, typer.Option("--after", min=0, max=LARGEST, help="Mark what came after this version.", metavar="K")
    ] = None,
    subgoal: Annotated[
        int, typer.Option("--subgoal", min=0, max=LARGEST, help="Index of the subgoal to show.", metavar="M")
    ] = 0,
    other: Annotated[
        str | None,
        typer.Option(
            "--other",
            help="Graph to compare with; if not given, another one that knows the task.",
            metavar="NAME",
        ),
    ] = None,
    attached: Annotated[
        str | None,
        typer.Option(
            "--attached", help="Id of the attached rollout to show; if not given, the task's newest.", metavar="ID"
        ),
    ] = None,
    rollout: Annotated[
        list[str] | None,
        typer.Option(
            "--rollout",
            help="Rollouts to lay over a task, step by step: those of a file, or one of them; may be repeated.",
            metavar="FILE[#ID]",
        ),
    ] = None,
    limit: Annotated[
        int,
        typer.Option(
            "--limit", min=1, max=LARGEST, help="Draw no more tasks when there are this many states.", metavar="N"
        ),
    ] = _MOST,
    json: Json = False,
) -> None:
    """Write a page that draws a task, or what a query finds: one file that needs no network.

    Subgoals run from left to right. A slider goes through the versions, rollouts can be followed step by step, and
    everything drawn is there as tables too. The library that draws is fetched once, verified and kept.
    """
    from proas.cli.database import connect, graph_meant
    from proas.cli.graph.task_names import find_task
    from proas.graph.saved import Saved
    from proas.views.choosing import draw
    from proas.views.saved import query_named

    output = Output(json_wanted=json)
    if task is None and query is None:
        raise UsageError("what is to be drawn?", hint="give a TASK, or --query NAME, or both")
    if rollout and task is None:
        raise UsageError("rollouts are laid over one task", hint="name the TASK")
    question = query_named(query or "task")
    store = graph_meant(connect(database, output), graph)
    if isinstance(question, Saved):
        from proas.cli.graph.viz_saved import Chosen, saved_page

        key = find_task(store, task, version) if task is not None else None
        saved_page(output, store, question, html, Chosen(key, version, other, attached, tuple(rollout or ())))
        return
    keys = [find_task(store, task, version)] if task is not None else [t.key for t in store.tasks(version=version)]
    with output.waiting(f"Reading {store.name}"):
        tasks, left_out = draw(store, keys, question, version=version, after=after or 0, subgoal=subgoal, limit=limit)
    if not tasks:
        raise UsageError(f"{question.name} finds nothing to draw in {store.name!r}", hint=question.meaning)
    if rollout:
        tasks = (with_files(store, tasks[0], rollout, version=version), *tasks[1:])
    write_drawing(output, store, html, _title(tasks, question), tasks, left_out, version=version, after=after)


def _title(tasks: tuple[DrawnTask, ...], question: Question) -> str:
    goal = tasks[0].goal or tasks[0].key
    if question.name == "task":
        return goal if len(tasks) == 1 else f"{len(tasks):,} tasks"
    return f"{question.meaning.capitalize()}: {goal if len(tasks) == 1 else f'{len(tasks):,} tasks'}"


def diff_page(output: Output, store: ReferenceGraph, path: Path, *, after: int, version: int) -> None:
    """Write what a graph gained between two versions: the numbers by task and subgoal, and a drawing of it."""
    from proas.views.choosing import draw, questions
    from proas.views.diff_page import growth_by_task, growth_table

    found = store.diff(after, version)
    order = [task for task, _ in growth_by_task(found)]
    tasks, left_out = draw(store, order, questions("added"), version=version, after=after, limit=_MOST)
    goals = {task.key: task.text or task.goal for task in store.tasks(version=version)}
    title = f"{store.name}: what was learnt after version {after} up to {version}"
    note = growth_table(found, goals)
    write_drawing(output, store, path, title, tasks, left_out, version=version, after=after, note=note)
