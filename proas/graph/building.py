"""Adding verified task graphs: streamed, in batches of one transaction each, repeatable."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from proas.errors import GraphCapacityError
from proas.graph.client import Client, Transaction
from proas.graph.distances import measure_in_turns
from proas.graph.records import UNVERIFIED, TaskGraph
from proas.graph.reports import AddReport
from proas.graph.writing import (
    Known,
    Pieces,
    confirm_transitions,
    known_tasks,
    lock_graph,
    missing_pieces,
    write_pieces,
)
from proas.keys import digest, state_key
from proas.rollouts import Reject

__all__ = ["Progress", "add_task_graphs", "fault_against", "fault_within"]

Progress = Callable[[int], None]
"""Called with the number of items (task graphs, rows, nodes) finished since the last call."""

SMALLEST_BATCH = 16
"""A server that cannot take so few elements in one transaction is not asked again."""

BUILD_RUN = "build"
"""Run of a version that building began."""


@dataclass
class _Tally:
    tasks: int = 0
    skipped: int = 0
    added_tasks: int = 0
    added_states: int = 0
    added_transitions: int = 0
    rejected: list[Reject] = field(default_factory=list)

    def count(self, pieces: Pieces) -> None:
        self.added_tasks += pieces.tasks
        self.added_states += pieces.states
        self.added_transitions += pieces.transitions


def add_task_graphs(
    client: Client,
    name: str,
    task_graphs: Iterable[TaskGraph],
    *,
    batch_rows: int,
    progress: Progress | None,
) -> AddReport:
    """See :meth:`proas.graph.store.ReferenceGraph.add`."""
    began = time.monotonic()
    tally = _Tally()
    limit = max(batch_rows, SMALLEST_BATCH)
    client.write(lambda tx: lock_graph(tx, name))  # says that the graph is missing before the builder works
    done = progress or (lambda _: None)
    for batch in _batches(_sound(task_graphs, tally, done), limit):
        limit = _add_batch(client, name, batch, limit, tally)
        measure_in_turns(client, name, [graph.task.key for graph in batch])
        done(len(batch))
    return AddReport(
        tasks=tally.tasks,
        skipped=tally.skipped,
        added_tasks=tally.added_tasks,
        added_states=tally.added_states,
        added_transitions=tally.added_transitions,
        rejected=tuple(tally.rejected),
        seconds=time.monotonic() - began,
    )


@dataclass(frozen=True, slots=True)
class _Attempt:
    """Outcome of one transaction; ``marks`` are the tasks and digests of task graphs that are whole by it."""

    written: Pieces
    whole: bool
    skipped: int
    rejected: tuple[Reject, ...]
    marks: tuple[tuple[str, str], ...]


def _add_batch(client: Client, name: str, batch: Sequence[TaskGraph], limit: int, tally: _Tally) -> int:
    """Write one batch in as few transactions as the limit allows; returns the limit that the server could take."""
    first = True
    while True:
        try:
            attempt = client.write(_Piece(name, batch, limit).work)
        except GraphCapacityError:
            if limit // 2 < SMALLEST_BATCH:
                raise
            limit //= 2
            continue
        tally.count(attempt.written)
        if first:
            tally.skipped += attempt.skipped
            tally.rejected.extend(attempt.rejected)
            first = False
        if attempt.whole:
            return limit


class _Piece:
    """One transaction of a build: at most ``limit`` missing rows of a batch; the next one finds what is left missing.

    It can be repeated: what an earlier attempt stored although its answer was lost is reported as written here.
    """

    def __init__(self, name: str, batch: Sequence[TaskGraph], limit: int) -> None:
        self._name = name
        self._batch = batch
        self._limit = limit
        self._attempted: _Attempt | None = None

    def work(self, tx: Transaction) -> _Attempt:
        current = lock_graph(tx, self._name)
        # What a layer sees of its base never changes, so a version that some layer sees is closed.
        scope = replace(current, version=current.version + 1) if current.pinned else current
        known = known_tasks(tx, scope, [graph.task.key for graph in self._batch])
        digests = {graph.task.key: _digest(graph) for graph in self._batch}
        wanted = [graph for graph in self._batch if digests[graph.task.key] not in known[graph.task.key].built]
        faults = {graph.task.key: fault_against(graph, known[graph.task.key]) for graph in wanted}
        sound = [graph for graph in wanted if not faults[graph.task.key]]
        missing = missing_pieces(tx, scope, sound, known)
        if self._attempted is not None and _is_stored(self._attempted, missing, known):
            return self._attempted
        pieces = missing.first(self._limit)
        write_pieces(tx, scope, pieces)
        if pieces.rows and current.pinned:
            tx.rows("set_version", graph=self._name, version=scope.version)
        if pieces.rows:
            counts = {"states": pieces.states, "transitions": pieces.transitions}
            tx.rows("count_version", graph=self._name, k=scope.version, run=BUILD_RUN, **counts)
        whole = len(pieces.rows) == len(missing.rows)
        if whole:
            confirm_transitions(tx, scope, sound, pieces)
        marks = sorted((graph.task.key, digests[graph.task.key]) for graph in sound) if whole else []
        if marks:
            tx.rows("mark_built", graph=self._name, rows=[{"task": task, "digest": mark} for task, mark in marks])
        rejected = tuple(Reject(reason, id=key) for key, reason in faults.items() if reason)
        self._attempted = _Attempt(pieces, whole, len(self._batch) - len(wanted), rejected, tuple(marks))
        return self._attempted


def _is_stored(attempt: _Attempt, missing: Pieces, known: Mapping[str, Known]) -> bool:
    """Whether nothing of an attempt is missing any more."""
    lacking = {row["key"] for _, row in missing.rows}
    return not any(row["key"] in lacking for _, row in attempt.written.rows) and all(
        mark in known[task].built for task, mark in attempt.marks
    )


def fault_within(graph: TaskGraph) -> str:
    """Why a task graph contradicts itself; empty when it does not."""
    if graph.start.key not in graph.states:
        return "its start state is not among its states"
    for key, state in graph.states.items():
        if key != state.key or key != state_key(graph.task.env, graph.task.key, state.facts):
            return f"state {key} does not have the key of its facts"
    seen: set[str] = set()
    for transition in graph.transitions:
        source, target = transition.source_state, transition.target_state
        if source not in graph.states or target not in graph.states:
            return f"transition {transition.action!r} has an end that is not among the states"
        if source == target:
            return f"transition {transition.action!r} is a self-loop"
        if graph.subgoal_of[target] < graph.subgoal_of[source]:
            return f"transition {transition.action!r} falls back to an earlier subgoal"
        if transition.key in seen:
            return f"transition {transition.action!r} occurs twice"
        seen.add(transition.key)
    return ""


def fault_against(graph: TaskGraph, known: Known) -> str:
    """Why a task graph contradicts what is stored of its task; empty when it does not."""
    if known.task is None or known.ladder is None:
        return ""
    if known.task.env != graph.task.env:
        return f"the stored task belongs to environment {known.task.env!r}, not {graph.task.env!r}"
    if known.start != graph.start.key:
        return "it starts in another state than the stored task"
    if [s.condition for s in known.ladder.subgoals] != [s.condition for s in graph.ladder.subgoals]:
        return "its subgoals are not those of the stored task: build another graph, or evolve this one by its rollouts"
    return ""


def _sound(task_graphs: Iterable[TaskGraph], tally: _Tally, done: Progress) -> Iterator[TaskGraph]:
    for graph in task_graphs:
        tally.tasks += 1
        reason = fault_within(graph)
        if reason:
            tally.rejected.append(Reject(reason, id=graph.task.key))
            done(1)
        else:
            yield graph


def _batches(task_graphs: Iterable[TaskGraph], rows: int) -> Iterator[list[TaskGraph]]:
    """Group task graphs up to a number of elements; a task occurs once a group."""
    batch: dict[str, TaskGraph] = {}
    size = 0
    for graph in task_graphs:
        weight = 1 + len(graph.ladder.subgoals) + len(graph.states) + len(graph.transitions)
        if batch and (size + weight > rows or graph.task.key in batch):
            yield list(batch.values())
            batch, size = {}, 0
        batch[graph.task.key] = graph
        size += weight
    if batch:
        yield list(batch.values())


def _digest(graph: TaskGraph) -> str:
    conditions = [subgoal.condition for subgoal in graph.ladder.subgoals]
    keys = sorted(t.key for t in graph.transitions)
    # Only what is out of the ordinary, so that most graphs have the digest of their keys alone.
    seen = sorted((t.key, t.support, t.source == UNVERIFIED) for t in graph.transitions)
    telling = [one for one in seen if one[1] > 1 or one[2]]
    return digest(
        "task graph", graph.start.key, conditions, sorted(graph.states), keys, *([telling] if telling else [])
    )
