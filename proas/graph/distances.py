"""How far each state is from its task's goal: measured in Cypher, kept with the states, right after every write.

The distance of a state is the number of transitions of a shortest way to a state of the last subgoal, over what the
graph shows: a layer's own transitions and those of its base. It is stored on the state with the version since which it
holds; as transitions are only ever added, a distance only ever falls. A state that leads to no goal has none, and
neither has one from which the way cannot be known (:data:`proas.subgoals.SEARCHING`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from proas.errors import GraphCapacityError
from proas.graph.client import Client, Transaction
from proas.graph.writing import Scope, lock_graph
from proas.subgoals import SEARCHING

__all__ = ["DistanceReport", "measure_graph", "measure_in_turns", "measure_tasks"]

LEVELS = 32
"""Levels that one statement spreads over."""

TASKS = 32
"""Tasks measured at once."""


@dataclass(frozen=True, slots=True)
class DistanceReport:
    """What measuring found.

    Attributes:
        graph: Name of the graph.
        version: Its version.
        tasks: Tasks of the graph itself; those that a layer only reads are measured in its base.
        states: States of these tasks that the graph itself holds.
        measured: Of these, those from which a goal can be reached.
        farthest: The largest distance.
        changed: Distances that were written.
        seconds: Wall-clock time.
    """

    graph: str
    version: int
    tasks: int
    states: int
    measured: int
    farthest: int
    changed: int
    seconds: float


def measure_tasks(tx: Transaction, scope: Scope, tasks: Collection[str]) -> int:
    """Measure some tasks within a transaction that holds the lock of their graph.

    Args:
        tx: The transaction.
        scope: From :func:`proas.graph.writing.lock_graph`; its version is the one since which new distances hold.
        tasks: Keys of tasks; those that the graph does not hold itself are passed over.

    Returns:
        Number of distances written.
    """
    ordered = sorted(set(tasks))
    changed = 0
    for begin in range(0, len(ordered), TASKS):
        some = ordered[begin : begin + TASKS]
        changed += _seed(tx, scope, some)
        first, further = 0, True
        while further:
            count, further = _spread(tx, scope, some, first)
            changed += count
            first += LEVELS
    return changed


def measure_in_turns(client: Client, name: str, tasks: Sequence[str]) -> int:
    """Measure some tasks in transactions of their own, as few as the server's transaction memory allows.

    Raises:
        GraphNotFound: No such graph.
        GraphCapacityError: Even 32 levels of one task do not fit the server's transaction memory.
    """
    try:
        return client.write(lambda tx: measure_tasks(tx, lock_graph(tx, name), tasks))
    except GraphCapacityError:
        if len(tasks) > 1:
            middle = len(tasks) // 2
            return measure_in_turns(client, name, tasks[:middle]) + measure_in_turns(client, name, tasks[middle:])
    changed, first, further = client.write(lambda tx: _seed(tx, lock_graph(tx, name), tasks)), 0, True
    while further:
        count, further = client.write(_turn(name, tasks, first))
        changed += count
        first += LEVELS
    return changed


def measure_graph(client: Client, name: str, *, progress: Callable[[int], None] | None) -> DistanceReport:
    """See :meth:`proas.graph.store.ReferenceGraph.measure`."""
    began = time.monotonic()
    scope = client.write(lambda tx: lock_graph(tx, name))
    tasks = changed = states = measured = farthest = 0
    after = ""
    while page := client.rows("page_task_rows", graph=name, after=after, limit=TASKS):
        keys = [row["key"] for row in page]
        changed += measure_in_turns(client, name, keys)
        found = client.rows("count_distances", graph=name, tasks=keys)[0]
        tasks += len(keys)
        states += found["states"]
        measured += found["measured"]
        farthest = max(farthest, found["farthest"])
        after = keys[-1]
        if progress is not None:
            progress(len(keys))
    seconds = time.monotonic() - began
    return DistanceReport(name, scope.version, tasks, states, measured, farthest, changed, seconds)


def _seed(tx: Transaction, scope: Scope, tasks: Sequence[str]) -> int:
    seeded = tx.rows("seed_distances", tasks=list(tasks), version=scope.version, **scope.parameters())[0]
    return int(seeded["changed"])


def _turn(name: str, tasks: Sequence[str], first: int) -> Callable[[Transaction], tuple[int, bool]]:
    return lambda tx: _spread(tx, lock_graph(tx, name), tasks, first)


def _spread(tx: Transaction, scope: Scope, tasks: Sequence[str], first: int) -> tuple[int, bool]:
    """Go over some levels; how much came nearer, and whether there are states beyond."""
    row = tx.rows(
        "spread_distances",
        tasks=list(tasks),
        first=first,
        last=first + LEVELS - 1,
        version=scope.version,
        searching=SEARCHING,
        **scope.parameters(),
    )[0]
    return row["changed"], row["further"] > 0
