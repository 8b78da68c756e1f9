"""Reading a graph as of a version: task graphs, counts and growth, streamed page by page.

A layer reads the union: what its base showed when the layer was made, and its own elements up to the version. Nothing
is ever removed from a graph and versions only grow, so pages read one after the other still show one moment.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from proas.errors import GraphNotFound, UsageError
from proas.graph.client import Client
from proas.graph.records import Task, TaskGraph, Transition
from proas.graph.reports import GraphDiff, GraphStats, SubgoalGrowth, VersionInfo
from proas.graph.writing import Scope, ladder_from_rows
from proas.rollouts import State

__all__ = [
    "count_graph",
    "graph_growth",
    "iter_task_graphs",
    "iter_tasks",
    "read_task_graph",
    "scope_at",
    "task_graph_from_row",
]

TASK_PAGE = 1000
"""Tasks listed in one transaction."""

GRAPH_PAGE = 32
"""Task graphs read in one transaction: a few thousand elements."""


def scope_at(client: Client, name: str, version: int | None) -> Scope:
    """What a graph shows as of a version; ``None`` is the current one.

    Raises:
        GraphNotFound: No such graph or version.
    """
    for row in client.rows("list_graphs", graph=name):
        current = row["version"]
        if row["dropping"]:
            break
        if version is not None and not 0 <= version <= current:
            hint = f"its versions are 0 to {current}"
            raise GraphNotFound(f"graph {name!r} has no version {version}", hint=hint)
        return Scope(name, current if version is None else version, row["base"] or None, row["base_version"])
    raise GraphNotFound(f"there is no graph {name!r}", hint="`proas graph list` shows them")


def iter_tasks(client: Client, scope: Scope) -> Iterator[Task]:
    """All tasks in order of their keys."""
    after = ""
    while True:
        page = client.rows("page_tasks", after=after, limit=TASK_PAGE, version=scope.version, **scope.parameters())
        for row in page:
            yield _task(row["key"], row["task"])
        if len(page) < TASK_PAGE:
            return
        after = page[-1]["key"]


def read_task_graph(client: Client, scope: Scope, key: str) -> TaskGraph:
    """The graph of one task. Raises :class:`GraphNotFound`."""
    for graph in _read(client, scope, [key]):
        return graph
    raise GraphNotFound(f"graph {scope.graph!r} has no task {key!r} at version {scope.version}")


def iter_task_graphs(client: Client, scope: Scope) -> Iterator[TaskGraph]:
    """The graphs of all tasks in order of their keys."""
    page: list[str] = []
    for task in iter_tasks(client, scope):
        page.append(task.key)
        if len(page) == GRAPH_PAGE:
            yield from _read(client, scope, page)
            page = []
    yield from _read(client, scope, page)


def _read(client: Client, scope: Scope, keys: Sequence[str]) -> Iterable[TaskGraph]:
    if not keys:
        return []
    rows = client.rows("read_task_graphs", tasks=keys, version=scope.version, **scope.parameters())
    return [task_graph_from_row(row) for row in rows]


def _task(key: str, stored: Mapping[str, Any]) -> Task:
    return Task(key, stored["env"], stored["goal"], stored["text"])


def task_graph_from_row(row: Any) -> TaskGraph:
    """Task graph of a record of ``read_task_graphs``; elements of the base come before those of the layer."""
    states: dict[str, State] = {}
    sources: dict[str, str] = {}
    for stored in (*row["base_states"], *row["states"]):
        # A copy that a layer keeps of a state of its base says nothing new.
        if stored["key"] not in states:
            states[stored["key"]] = State(key=stored["key"], facts=tuple(stored["facts"]))
            sources[stored["key"]] = stored["source"]
    transitions: dict[str, Transition] = {}
    below = {stored["key"]: stored["support"] for stored in row["base_transitions"]}
    for stored in (*row["transitions"], *row["base_transitions"]):
        key = stored["key"]
        if stored["inherited"] and key in below:
            below[key] += stored["support"]  # what the layer's own successes add
            continue
        transitions[key] = Transition(
            stored["source_state"],
            stored["action"],
            stored["target_state"],
            stored["source"],
            below.get(key, stored["support"]),
            0 if key in below else stored["since"],
        )
    start = row["task"]["start"]
    return TaskGraph(
        task=_task(row["key"], row["task"]),
        ladder=ladder_from_rows(row["subgoals"]),
        start=states[start],
        states={key: states[key] for key in sorted(states)},
        transitions=tuple(transitions[key] for key in sorted(transitions)),
        sources={key: sources[key] for key in sorted(sources)},
    )


def count_graph(client: Client, scope: Scope) -> GraphStats:
    """Counts as of the version of the scope."""
    own = client.rows("count_elements", graph=scope.graph, version=scope.version)
    below = client.rows("count_elements", graph=scope.base, version=scope.base_version) if scope.base else []
    total: Counter[str] = Counter()
    by_source: dict[str, Counter[str]] = {"state": Counter(), "transition": Counter()}
    for row in (*own, *below):
        total[row["kind"]] += row["n"]
        if row["kind"] in by_source:
            by_source[row["kind"]][row["source"]] += row["n"]
    mine: Counter[str] = Counter()
    for row in own:
        mine[row["kind"]] += row["n"]
    return GraphStats(
        graph=scope.graph,
        version=scope.version,
        base=scope.base or "",
        tasks=total["task"],
        subgoals=total["subgoal"],
        states=total["state"],
        transitions=total["transition"],
        successes=total["success"],
        own_states=mine["state"],
        own_transitions=mine["transition"],
        states_by_source=dict(sorted(by_source["state"].items())),
        transitions_by_source=dict(sorted(by_source["transition"].items())),
        versions=_versions(client, scope.graph, -1, scope.version),
    )


def graph_growth(client: Client, name: str, from_version: int, to_version: int) -> GraphDiff:
    """See :meth:`proas.graph.store.ReferenceGraph.diff`."""
    if from_version >= to_version:
        raise UsageError(
            f"version {from_version} is not before version {to_version}", hint="give the earlier version first"
        )
    scope_at(client, name, from_version)
    scope_at(client, name, to_version)
    span = {"graph": name, "after": from_version, "upto": to_version}
    growth: dict[tuple[str, int], list[Any]] = {}
    added_tasks = 0
    for row in client.rows("growth_by_subgoal", **span):
        if row["kind"] == "task":
            added_tasks += row["n"]
            continue
        entry = growth.setdefault((row["task"], row["index"]), [row["description"], 0, 0])
        entry[1 if row["kind"] == "state" else 2] += row["n"]
    tasks = tuple(SubgoalGrowth(task, index, *growth[task, index]) for task, index in sorted(growth))
    return GraphDiff(
        graph=name,
        from_version=from_version,
        to_version=to_version,
        added_tasks=added_tasks,
        added_states=sum(one.added_states for one in tasks),
        added_transitions=sum(one.added_transitions for one in tasks),
        tasks=tasks,
        versions=_versions(client, name, from_version, to_version),
    )


def _versions(client: Client, name: str, after: int, upto: int) -> tuple[VersionInfo, ...]:
    rows = client.rows("version_history", graph=name, after=after, upto=upto)
    return tuple(
        VersionInfo(row["k"], row["run"], row["added_states"], row["added_transitions"], row["at"]) for row in rows
    )
