"""The rows of a layer and its base as those of one plain graph.

History becomes a line: what the layer sees of the base keeps its version, and version k of the layer becomes version
``base_version + k``. What the layer repeats from its base is counted once; its own support is added to the base's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from heapq import merge
from typing import Any, Protocol, TypeVar

from proas.errors import GraphConflict
from proas.graph.exchange.tables import TABLES
from proas.graph.rows import (
    GraphRow,
    Row,
    RowKind,
    StateRow,
    SubgoalRow,
    SuccessRow,
    TaskRow,
    TransitionRow,
    VersionRow,
)

__all__ = ["RowSource", "plain_rows", "union_rows"]

T = TypeVar("T")


class RowSource(Protocol):
    """What rows are read from: a :class:`~proas.graph.store.ReferenceGraph`."""

    def rows(self, kind: type[RowKind]) -> Iterator[RowKind]:
        """The graph's own rows of one kind in key order."""


def plain_rows(graph: RowSource, version: int) -> Iterator[Row]:
    """The own rows of a graph as of a version, in the order of ``TABLES``.

    The version is read once, at the start: what an evolution adds while the rows are streamed is newer and left out.
    """
    tasks: set[str] = set()
    for table in TABLES:
        for row in _visible(graph.rows(table.row), version, tasks):  # type: ignore[type-var]  # once for each kind
            yield replace(row, version=version) if isinstance(row, GraphRow) else row


def union_rows(base: RowSource, layer: RowSource, root: GraphRow) -> Iterator[Row]:
    """The union of a layer and its base as the rows of one plain graph.

    Args:
        base: The base.
        layer: The layer.
        root: The ``ARG`` row of the layer.

    Raises:
        GraphConflict: Base and layer hold different elements under one key.
    """
    seen, shift = root.base_version, root.base_version
    yield GraphRow(version=shift + root.version, base="", base_version=-1, created=root.created)
    joins: tuple[tuple[type[Any], Callable[[Any, Any], Any]], ...] = (
        (VersionRow, _join_versions),
        (TaskRow, _join_tasks),
        (SubgoalRow, _join_subgoals),
        (StateRow, _first),
        (TransitionRow, _join_transitions),
        (SuccessRow, _first),
    )
    tasks_below: set[str] = set()
    tasks_own: set[str] = set()
    for kind, join in joins:
        below = _visible(base.rows(kind), seen, tasks_below)
        own = (_moved(row, shift) for row in _visible(layer.rows(kind), root.version, tasks_own))
        yield from _merged(below, own, lambda row: row.k if isinstance(row, VersionRow) else row.key, join)


def _visible(rows: Iterator[T], version: int, tasks: set[str]) -> Iterator[T]:
    """Rows as of a version; a subgoal, which has no version of its own, with its task. Fills ``tasks`` in passing."""
    for row in rows:
        if isinstance(row, SubgoalRow):
            if row.task in tasks:
                yield row
        elif (row.k if isinstance(row, VersionRow) else getattr(row, "since", 0)) <= version:
            if isinstance(row, TaskRow):
                tasks.add(row.key)
            yield row


def _merged(below: Iterator[T], own: Iterator[T], key: Callable[[T], Any], join: Callable[[T, T], T]) -> Iterator[T]:
    """Two sorted streams as one; of two rows with one key ``join`` makes one. A row of the base comes first."""
    held: list[T] = []
    for row in merge(below, own, key=key):
        if held and key(held[0]) == key(row):
            held = [join(held[0], row)]
            continue
        yield from held
        held = [row]
    yield from held


def _moved(row: Any, shift: int) -> Any:
    """A row of the layer, its version counted from the first version of the base."""
    if isinstance(row, VersionRow):
        return replace(row, k=row.k + shift)
    return row if isinstance(row, SubgoalRow) else replace(row, since=row.since + shift)


def _first(below: T, _: T) -> T:
    return below


def _join_versions(below: VersionRow, own: VersionRow) -> VersionRow:
    """The last version of the base and version 0 of the layer, which holds what was built into the layer."""
    states, transitions = below.added_states + own.added_states, below.added_transitions + own.added_transitions
    return replace(below, added_states=states, added_transitions=transitions)


def _join_tasks(below: TaskRow, own: TaskRow) -> TaskRow:
    if (below.env, below.start) != (own.env, own.start):
        raise GraphConflict(f"task {below.key!r} of the layer is not that of its base", hint="run `proas graph verify`")
    return replace(below, built=tuple(dict.fromkeys((*below.built, *own.built))))


def _join_subgoals(below: SubgoalRow, own: SubgoalRow) -> SubgoalRow:
    if (below.task, below.index, below.condition) != (own.task, own.index, own.condition):
        message = f"subgoal {below.index} of task {below.task!r} differs between the layer and its base"
        raise GraphConflict(message, hint="run `proas graph verify`")
    return below


def _join_transitions(below: TransitionRow, own: TransitionRow) -> TransitionRow:
    return replace(below, support=below.support + own.support)
