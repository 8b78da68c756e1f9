"""``proas graph viz --query`` with a saved query of Neo4j Browser that is asked of the database itself."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from proas.cli.console import Output, listed
from proas.cli.graph.pages import write_drawing, write_table
from proas.cli.graph.rollout_choice import ids_meant, with_files
from proas.errors import UsageError

if TYPE_CHECKING:
    from proas.graph.saved import Answer, Saved
    from proas.graph.store import ReferenceGraph
    from proas.views.drawing import DrawnTask

__all__ = ["Chosen", "saved_page"]

_LISTED = 8
_OF_ROLLOUTS = frozenset({"detours", "beyond"})
_ATTACH = "attach rollouts first: `proas rollouts attach ROLLOUTS.jsonl`"


@dataclass(frozen=True)
class Chosen:
    """What the user said of a query's parameters.

    Attributes:
        task: Key of the task.
        version: Version to draw.
        other: Graph to compare with.
        attached: Id of an attached rollout.
        files: Rollouts to lay over the task, ``FILE`` or ``FILE#ID``.
    """

    task: str | None
    version: int | None
    other: str | None
    attached: str | None
    files: tuple[str, ...]


def saved_page(output: Output, store: ReferenceGraph, saved: Saved, path: Path, chosen: Chosen) -> None:
    """Ask the query and write what it returns: its picture, its table, or both.

    Raises:
        UsageError: A parameter is missing, or the query finds nothing.
        DataError: The page cannot be written.
    """
    from proas.graph.saved import ask
    from proas.views.saved import drawn_answer

    with output.waiting(f"Reading {store.name}"):
        parameters = _parameters(store, saved, chosen)
        answer = ask(store, saved.name, parameters)
        tasks = drawn_answer(store, answer, version=chosen.version)
        if chosen.task is not None:
            tasks = tuple(task for task in tasks if task.key == chosen.task)
        if answer.columns and chosen.task is not None:
            tasks = _whole(store, chosen.task, chosen.version)
    note = _table(saved, answer)
    if not tasks:
        if not note:
            lacking = saved.name in _OF_ROLLOUTS and not store.attached()
            hint = _ATTACH if lacking else saved.meaning
            raise UsageError(f"{saved.name} finds nothing to draw in {store.name!r}", hint=hint)
        write_table(output, store, path, saved.meaning, note, len(answer.rows) or len(answer.nodes))
        return
    tasks = (with_files(store, tasks[0], chosen.files, version=chosen.version), *tasks[1:])
    write_drawing(output, store, path, _title(saved, tasks, parameters), tasks, version=chosen.version, note=note)


def _parameters(store: ReferenceGraph, saved: Saved, chosen: Chosen) -> dict[str, Any]:
    values: dict[str, Any] = {"graph": store.name}
    if "rollout" in saved.takes:
        values["rollout"] = _attached(store, chosen)
    if "task" in saved.takes:
        if chosen.task is None:
            raise UsageError(f"query {saved.name!r} is of one task", hint="name the TASK")
        values["task"] = chosen.task
    if "other" in saved.takes:
        values["other"] = _other(store, chosen)
    return values


def _attached(store: ReferenceGraph, chosen: Chosen) -> str:
    """Id of the attached rollout that is meant: the newest of the task, or of all, if none is named."""
    known = [one.id for one in store.attached() if chosen.task is None or one.task == chosen.task]
    of_task = f" of {chosen.task}" if chosen.task else ""
    if not known:
        raise UsageError(f"no rollout{of_task} is attached to {store.name!r}", hint=_ATTACH)
    if chosen.attached is None:
        return known[0]
    meant = ids_meant(known, chosen.attached)
    if len(meant) != 1:
        raise UsageError(
            f"no single rollout {chosen.attached!r}{of_task} is attached to {store.name!r}",
            hint=f"there are:{listed(known, _LISTED)}",
        )
    return meant[0]


def _other(store: ReferenceGraph, chosen: Chosen) -> str:
    from proas.browser.facts import another_graph
    from proas.cli.database import existing_graph

    if chosen.other is not None:
        return existing_graph(store.connection, chosen.other).name
    found = another_graph(store, chosen.task or "", store.info().base)
    if not found:
        raise UsageError(f"no other graph knows {chosen.task}", hint="name one with --other")
    return found


def _whole(store: ReferenceGraph, task: str, version: int | None) -> tuple[DrawnTask, ...]:
    from proas.views.choosing import draw, questions

    return draw(store, [task], questions("task"), version=version)[0]


def _table(saved: Saved, answer: Answer) -> str:
    """The answer's table as HTML; of graphs, what Browser shows as a picture. Empty where there is none."""
    from proas.views.page import table

    if answer.columns:
        numbers = {name for i, name in enumerate(answer.columns) if all(isinstance(row[i], int) for row in answer.rows)}
        heads = [f"#{name}" if name in numbers else name for name in answer.columns]
        return table(saved.meaning, heads, [[_cell(value) for value in row] for row in answer.rows])
    graphs = [node for node in answer.nodes.values() if "ARG" in node.labels]
    rows = sorted((node["base"] or node["name"], bool(node["base"]), node["name"], node["version"]) for node in graphs)
    told = [(name, version, base if layer else "-") for base, layer, name, version in rows]
    return table(saved.meaning, ("graph", "#version", "a layer over"), told) if graphs else ""


def _cell(value: object) -> str:
    if isinstance(value, Iterable) and not isinstance(value, str):
        return "; ".join(map(str, value))
    return "-" if value is None else str(value)


def _title(saved: Saved, tasks: tuple[DrawnTask, ...], parameters: dict[str, Any]) -> str:
    goal = tasks[0].goal or tasks[0].key
    compared = f" ({parameters['graph']} and {parameters['other']})" if "other" in parameters else ""
    meaning = saved.meaning.partition(":")[0].removesuffix(", as a table").removesuffix(", as a picture")
    return f"{meaning}: {goal if len(tasks) == 1 else f'{len(tasks):,} tasks'}{compared}"
