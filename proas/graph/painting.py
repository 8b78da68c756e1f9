"""Labels and marks by which a style sheet can colour a graph in Neo4j Browser.

Style sheets of Browser select by label and by type, never by a property. So tasks that somebody wants to look at are
painted: subgoals get a label by their order, states by the source of what is known, and along each transition runs a
mark whose type says how old it is and how often it was demonstrated.

============  =====================================================================================
on            from this closed set
============  =====================================================================================
``Subgoal``   ``Order0`` to ``Order5``, ``OrderLater``, ``OrderGoal``
``State``     ``FromPlan FromSearch FromAround FromRollout FromTeacher FromElsewhere``;
              ``StartState``, ``GoalState``
transitions   ``BUILT`` (version 0), ``LEARNT`` or ``NEWEST`` (the last version that grew), each with
              ``ONCE``, ``AGAIN`` (2 to 4 demonstrations) or ``OFTEN``: ``LEARNT_AGAIN``
============  =====================================================================================

Paint is of the moment: what a graph learns later has none until it is painted again. Nothing that labels, evolves,
verifies or exports a graph sees it, and dropping a graph removes it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from proas.graph.client import Client, Transaction
from proas.graph.writing import Scope, lock_graph

__all__ = ["MOST_STATES", "PaintReport", "TaskSize", "paint", "tasks_to_look_at", "unpaint"]

MOST_STATES = 2000
"""States painted, if nothing else is said."""

_LISTED = 1000
_STATES_A_TRANSACTION = 2000


@dataclass(frozen=True, slots=True)
class TaskSize:
    """A task that a graph itself holds something of.

    Attributes:
        key: Its key.
        goal: In words.
        states: Number of its states; of a layer, those that it holds itself.
        learnt: Of these, states that came after version 0.
    """

    key: str
    goal: str
    states: int
    learnt: int


@dataclass(frozen=True, slots=True)
class PaintReport:
    """What was painted.

    Attributes:
        tasks: Keys of the tasks.
        states: Number of states.
        marks: Number of marks.
        newest: The version that counts as the newest.
    """

    tasks: tuple[str, ...]
    states: int
    marks: int
    newest: int


def tasks_to_look_at(client: Client, name: str, *, limit: int = _LISTED) -> tuple[TaskSize, ...]:
    """Tasks of a graph itself, those of which most was learnt first."""
    rows = client.rows("task_sizes", graph=name, limit=limit)
    return tuple(TaskSize(row["key"], row["goal"], row["states"], row["learnt"]) for row in rows)


def paint(client: Client, name: str, tasks: Sequence[TaskSize], *, most: int = MOST_STATES) -> PaintReport:
    """Paint tasks in their order, until that many states are painted; painting again brings the paint up to date.

    Args:
        client: The database.
        name: Name of the graph; of a layer, what it holds itself is painted.
        tasks: From :func:`tasks_to_look_at`.
        most: States at most; the first task is painted in any case.

    Raises:
        GraphNotFound: No such graph.
        GraphConflict: It is being dropped.
    """
    chosen = _within(tasks, most)
    newest = _newest(client, name)
    states = marks = 0
    for part in _parts(chosen):

        def work(tx: Transaction, part: list[str] = part) -> tuple[int, int]:
            seen = _paint(tx, lock_graph(tx, name), part, on=True)
            return seen, int(tx.rows("paint_transitions", graph=name, tasks=part, newest=newest)[0]["marks"])

        done = client.write(work)
        states, marks = states + done[0], marks + done[1]
    return PaintReport(tuple(task.key for task in chosen), states, marks, newest)


def unpaint(client: Client, name: str) -> int:
    """Take all paint off a graph; returns the number of tasks that were gone through."""
    tasks = tasks_to_look_at(client, name, limit=2**31 - 1)
    for part in _parts(tasks):

        def work(tx: Transaction, part: list[str] = part) -> Any:
            return _paint(tx, lock_graph(tx, name), part, on=False)

        client.write(work)
    return len(tasks)


def _paint(tx: Transaction, scope: Scope, tasks: list[str], *, on: bool) -> int:
    tx.rows("paint_subgoals", graph=scope.graph, tasks=tasks, on=on)
    states = int(tx.rows("paint_states", graph=scope.graph, base=scope.base, tasks=tasks, on=on)[0]["states"])
    tx.rows("unpaint_transitions", graph=scope.graph, tasks=tasks)
    return states


def _newest(client: Client, name: str) -> int:
    """The last version that brought a transition; 1 where none after version 0 did, so that all counts as built."""
    rows = client.rows("version_history", graph=name, after=0, upto=2**31 - 1)
    return max((int(row["k"]) for row in rows if row["added_transitions"]), default=1)


def _within(tasks: Sequence[TaskSize], most: int) -> list[TaskSize]:
    chosen: list[TaskSize] = []
    states = 0
    for task in tasks:
        states += task.states
        if chosen and states > most:
            break
        chosen.append(task)
    return chosen


def _parts(tasks: Sequence[TaskSize]) -> Iterator[list[str]]:
    part: list[str] = []
    states = 0
    for task in tasks:
        if part and states + task.states > _STATES_A_TRANSACTION:
            yield part
            part, states = [], 0
        part.append(task.key)
        states += task.states
    if part:
        yield part
