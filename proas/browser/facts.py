"""What the guide says of a database: which graph, which task, what was learnt, what is attached."""

from __future__ import annotations

from proas.browser.guide import GuideFacts
from proas.graph.attached import Attached
from proas.graph.client import Client
from proas.graph.connect import Connection
from proas.graph.painting import PaintReport, TaskSize, paint, tasks_to_look_at
from proas.graph.saved import ask
from proas.graph.store import ReferenceGraph, list_graphs

__all__ = ["another_graph", "facts_of", "graph_to_look_at", "painted", "tasks_of"]


def graph_to_look_at(connection: Connection) -> str:
    """Name of the graph that changed last; empty where there is none."""
    rows = Client(connection).rows("latest_graph")
    return str(rows[0]["name"]) if rows else ""


def painted(store: ReferenceGraph, tasks: tuple[TaskSize, ...], *, most: int) -> PaintReport:
    """Paint a graph for Browser, the tasks first that are to be looked at first."""
    return paint(Client(store.connection), store.name, tasks, most=most)


def tasks_of(store: ReferenceGraph, first: str | None) -> tuple[TaskSize, ...]:
    """Tasks that the graph itself holds something of, the one that is asked for first, then by what was learnt."""
    found = tasks_to_look_at(Client(store.connection), store.name)
    wanted = tuple(task for task in found if task.key == first)
    return wanted + tuple(task for task in found if task.key != first)


def facts_of(store: ReferenceGraph, tasks: tuple[TaskSize, ...], *, painted_tasks: int, other: str = "") -> GuideFacts:
    """What the guide says of a graph.

    Args:
        store: The graph.
        tasks: From :func:`tasks_of`; the guide begins with the first.
        painted_tasks: Number of tasks painted.
        other: Graph to compare with; if empty, one that knows the task too is sought.
    """
    info = store.info()
    if not tasks:
        return GuideFacts(graph=store.name, base=info.base, version=info.version, other=other)
    task = tasks[0]
    read = store.read(task.key)
    grown = [made for made in store.stats().versions if made.k > 0 and made.added_transitions]
    best = max(grown, key=lambda made: (made.added_transitions, made.k), default=None)
    rollouts = store.attached()
    place = task.key if not rollouts or any(one.task == task.key for one in rollouts) else _astray(store, rollouts)
    own = [one.id for one in rollouts if one.task == place]
    return GuideFacts(
        graph=store.name,
        base=info.base,
        version=info.version,
        task=task.key,
        goal=task.goal,
        states=task.states,
        subgoals=tuple(subgoal.description for subgoal in read.ladder.subgoals),
        learnt_at=best.k if best else 0,
        added=best.added_transitions if best else 0,
        painted=painted_tasks,
        rollouts=len(rollouts),
        rollout=own[0] if own else "",
        rollout_task="" if place == task.key else place,
        other=other or another_graph(store, task.key, info.base),
    )


def _astray(store: ReferenceGraph, rollouts: tuple[Attached, ...]) -> str:
    """A task whose rollouts reach states that the graph does not know, else any with rollouts."""
    found = ask(store, "detours", {"graph": store.name})
    strays = [str(node["task"]) for node in found.nodes.values() if "Stray" in node.labels]
    return (strays or [rollouts[0].task])[0]


def another_graph(store: ReferenceGraph, task: str, base: str) -> str:
    """Another graph that knows the task: a layer over the same base rather than the base; empty where there is none."""
    names = [str(row["name"]) for row in Client(store.connection).rows("graphs_of_task", task=task)]
    layers = [info.name for info in list_graphs(store.connection) if base and info.base == base]
    near = [name for name in names if name in layers and name != store.name]
    further = [name for name in names if name not in {store.name, base}]
    return (near or ([base] if base in names and base else []) or further or [""])[0]
