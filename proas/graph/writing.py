"""Writing pieces of task graphs under the lock of their graph: what building and evolution share.

A writer takes the lock of the ``ARG`` node first, looks up what is there, and creates what is missing, all in one
transaction. Writers of one graph therefore take turns, whatever the order of their batches, and cannot deadlock;
writers of different graphs do not meet. The uniqueness constraints stand behind this for writers that do not take the
lock: a collision fails the transaction, and the next attempt finds the element there.

A layer never writes to its base. Where it attaches something to a task or state of the base it keeps a copy of its
own, marked ``inherited``, which counts as nothing new.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from proas.errors import GraphConflict, GraphNotFound
from proas.graph.captions import caption_of
from proas.graph.client import Transaction
from proas.graph.records import Task, TaskGraph
from proas.keys import KEY_VERSION, digest
from proas.subgoals import Condition, Ladder, Subgoal

__all__ = [
    "Known",
    "Pieces",
    "Scope",
    "confirm_transitions",
    "known_tasks",
    "ladder_from_rows",
    "lock_graph",
    "missing_pieces",
    "subgoal_key",
    "write_pieces",
]


@dataclass(frozen=True, slots=True)
class Scope:
    """What a transaction on a graph can see.

    Attributes:
        graph: Name of the graph.
        version: Its version.
        base: Base of a layer, else ``None``.
        base_version: Version of the base that the layer sees.
        pinned: Some layer over this graph sees just this version, so that nothing may be added to it any more.
    """

    graph: str
    version: int
    base: str | None
    base_version: int | None
    pinned: bool = False

    def parameters(self) -> dict[str, Any]:
        """The scope as parameters ``graph``, ``base`` and ``base_version``."""
        return {"graph": self.graph, "base": self.base, "base_version": self.base_version}


@dataclass(frozen=True, slots=True)
class Known:
    """What a graph knows of a task.

    Attributes:
        own: The graph itself holds the task.
        below: The base of the layer holds it.
        task: The task as stored, ``None`` when it is unknown.
        start: Key of its start state.
        ladder: Its subgoals.
        built: Digests of the task graphs that were added whole.
    """

    own: bool
    below: bool
    task: Task | None
    start: str
    ladder: Ladder | None
    built: frozenset[str]


@dataclass(frozen=True, slots=True)
class Pieces:
    """Rows to create, in the order in which they must be created.

    Attributes:
        rows: ``(statement, row)`` pairs; what a row refers to comes before it.
    """

    rows: tuple[tuple[str, dict[str, Any]], ...]

    @property
    def tasks(self) -> int:
        """New tasks, inherited ones not counted."""
        return self._count("create_tasks")

    @property
    def states(self) -> int:
        """New states, inherited ones not counted."""
        return self._count("create_states")

    @property
    def transitions(self) -> int:
        """New transitions, inherited ones not counted."""
        return self._count("create_transitions")

    def first(self, limit: int) -> Pieces:
        """The first rows only."""
        return Pieces(self.rows[:limit])

    def _count(self, statement: str) -> int:
        return sum(name == statement and not row["inherited"] for name, row in self.rows)


def lock_graph(tx: Transaction, graph: str) -> Scope:
    """Take the lock of a graph until the end of the transaction.

    Raises:
        GraphNotFound: No such graph.
        GraphConflict: It is being dropped.
    """
    row = tx.row("lock_graph", graph=graph)
    if row is None:
        raise GraphNotFound(f"there is no graph {graph!r}", hint="`proas graph list` shows them")
    if row["dropping"]:
        raise GraphConflict(f"graph {graph!r} is being dropped", hint="finish with `proas graph drop`, or use another")
    return Scope(graph, row["version"], row["base"], row["base_version"], row["pinned"])


def known_tasks(tx: Transaction, scope: Scope, keys: Iterable[str]) -> dict[str, Known]:
    """What a graph knows of each task."""
    found = tx.rows("known_tasks", tasks=sorted(keys), **scope.parameters())
    return {row["key"]: _known(row) for row in found}


def _known(row: Any) -> Known:
    stored = row["task"]
    return Known(
        own=row["own"],
        below=row["below"],
        task=Task(row["key"], stored["env"], stored["goal"], stored["text"]) if stored else None,
        start=stored["start"] if stored else "",
        ladder=ladder_from_rows(row["subgoals"]) if stored else None,
        built=frozenset(row["built"]),
    )


def ladder_from_rows(rows: Iterable[Mapping[str, Any]]) -> Ladder:
    """Ladder of the stored subgoals of a task."""
    ordered = sorted(rows, key=lambda row: row["index"])
    return Ladder(
        tuple(
            Subgoal(row["index"], row["description"], tuple(row["phrases"]), _condition(row["condition"]))
            for row in ordered
        )
    )


def _condition(text: str) -> Condition:
    return tuple(tuple(conjunction) for conjunction in json.loads(text))


def subgoal_key(task: str, index: int) -> str:
    """Key of the subgoal ``g_m`` of a task."""
    return digest("subgoal", KEY_VERSION, task, index)


def missing_pieces(
    tx: Transaction,
    scope: Scope,
    graphs: Sequence[TaskGraph],
    known: Mapping[str, Known],
    *,
    supported: Collection[str] = (),
) -> Pieces:
    """Rows that the graph lacks of these task graphs, in sorted order of their keys.

    Args:
        tx: The transaction that holds the lock.
        scope: From :func:`lock_graph`.
        graphs: Task graphs without contradiction, each task at most once.
        known: From :func:`known_tasks`.
        supported: Keys of transitions that the graph must hold itself, to carry support of its own; others that the
            base shows are left there.
    """
    keys = [graph.task.key for graph in graphs]
    stored = {row["key"]: row for row in tx.rows("known_elements", tasks=keys, **scope.parameters())}
    rows: dict[str, list[dict[str, Any]]] = {
        name: [] for name in ("create_tasks", "create_subgoals", "create_states", "create_transitions")
    }
    for graph in sorted(graphs, key=lambda g: g.task.key):
        knows, there = known[graph.task.key], stored[graph.task.key]
        transitions = _transition_rows(graph, scope, there, supported)
        states = _state_rows(graph, scope, there, transitions)
        rows["create_transitions"].extend(transitions)
        rows["create_states"].extend(states)
        if not knows.own and (states or not knows.below):
            rows["create_tasks"].append(_task_row(graph, scope, knows))
            rows["create_subgoals"].extend(_subgoal_rows(graph, knows))
    return Pieces(tuple((name, row) for name, some in rows.items() for row in some))


def write_pieces(tx: Transaction, scope: Scope, pieces: Pieces) -> None:
    """Create the rows; see :func:`missing_pieces`."""
    for name in dict.fromkeys(name for name, _ in pieces.rows):
        rows = iter([row for other, row in pieces.rows if other == name])
        while chunk := list(islice(rows, 1000)):
            tx.rows(name, graph=scope.graph, rows=chunk)


def confirm_transitions(tx: Transaction, scope: Scope, graphs: Sequence[TaskGraph], created: Pieces) -> None:
    """Raise the support of stored transitions to what these graphs have seen, and their source where it was unverified.

    Repeating it changes nothing: the larger number stays, and is not added to.

    Args:
        tx: The transaction that holds the lock.
        scope: From :func:`lock_graph`.
        graphs: Task graphs without contradiction.
        created: What was just written of them.
    """
    new = {row["key"] for name, row in created.rows if name == "create_transitions"}
    stored = {edge.key: edge for graph in graphs for edge in graph.transitions if edge.key not in new}
    rows = iter([{"key": key, "source": edge.source, "support": edge.support} for key, edge in sorted(stored.items())])
    while chunk := list(islice(rows, 1000)):
        tx.rows("confirm_transitions", graph=scope.graph, rows=chunk)


def _task_row(graph: TaskGraph, scope: Scope, knows: Known) -> dict[str, Any]:
    task = knows.task or graph.task
    return {
        "key": task.key,
        "env": task.env,
        "goal": task.goal,
        "text": task.text,
        "start": knows.start or graph.start.key,
        "since": 0 if knows.below else scope.version,
        "inherited": knows.below,
    }


def _subgoal_rows(graph: TaskGraph, knows: Known) -> list[dict[str, Any]]:
    task, ladder = graph.task.key, knows.ladder or graph.ladder
    return [
        {
            "key": subgoal_key(task, subgoal.index),
            "task": task,
            "index": subgoal.index,
            "description": subgoal.description,
            "phrases": list(subgoal.phrases),
            "condition": json.dumps(subgoal.condition, ensure_ascii=False, separators=(",", ":")),
        }
        for subgoal in ladder.subgoals
    ]


def _state_rows(
    graph: TaskGraph, scope: Scope, there: Mapping[str, Any], transitions: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    own, below = set(there["states"]), set(there["base_states"])
    ends = {row[end] for row in transitions for end in ("source_state", "target_state")}
    sources = _sources(graph)
    return [
        {
            "key": key,
            "task": graph.task.key,
            "subgoal": subgoal_key(graph.task.key, graph.subgoal_of[key]),
            "facts": list(graph.states[key].facts),
            "name": caption_of(graph.states[key].facts),
            "initial": key == graph.start.key,
            "source": sources[key],
            "since": 0 if key in below else scope.version,
            "inherited": key in below,
        }
        for key in sorted(graph.states)
        if key not in own and (key in ends or key not in below)
    ]


def _transition_rows(
    graph: TaskGraph, scope: Scope, there: Mapping[str, Any], supported: Collection[str]
) -> list[dict[str, Any]]:
    own, below = set(there["transitions"]), set(there["base_transitions"])
    rows: dict[str, dict[str, Any]] = {}
    for transition in graph.transitions:
        key = transition.key
        if key in own or (key in below and key not in supported):
            continue
        rows[key] = {
            "key": key,
            "task": graph.task.key,
            "source_state": transition.source_state,
            "action": transition.action,
            "target_state": transition.target_state,
            "source": transition.source,
            "support": transition.support,
            "since": 0 if key in below else scope.version,
            "inherited": key in below,
        }
    return [rows[key] for key in sorted(rows)]


def _sources(graph: TaskGraph) -> dict[str, str]:
    """Source of every state: as given, else of a transition that reaches it, else of one that leaves it."""
    sources = {transition.source_state: transition.source for transition in graph.transitions}
    sources |= {transition.target_state: transition.source for transition in graph.transitions}
    return {key: graph.sources.get(key) or sources.get(key, "unknown") for key in graph.states}
