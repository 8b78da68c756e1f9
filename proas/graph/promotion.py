"""Promotion: what a layer has learnt, merged into its base in one transaction."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from proas.errors import UsageError
from proas.graph.building import fault_against
from proas.graph.client import Client, Transaction
from proas.graph.distances import measure_tasks
from proas.graph.layers import graph_info
from proas.graph.names import check_run_name
from proas.graph.reading import task_graph_from_row
from proas.graph.records import TaskGraph
from proas.graph.reports import PromoteReport
from proas.graph.writing import Scope, known_tasks, lock_graph, missing_pieces, write_pieces
from proas.rollouts import Reject

__all__ = ["promote_layer"]

PAGE = 100
"""Tasks read and merged at once within the transaction."""


def promote_layer(client: Client, name: str, *, run: str) -> PromoteReport:
    """See :meth:`proas.graph.store.ReferenceGraph.promote`."""
    began = time.monotonic()
    base = graph_info(client, name).base
    if not base:
        raise UsageError(f"graph {name!r} is not a layer", hint="only a layer has a base to be merged into")
    report = client.write(_Promotion(name, base, check_run_name(run) or name).work)
    return replace(report, seconds=time.monotonic() - began)


class _Promotion:
    """The transaction, repeatable: what an earlier attempt stored although its answer was lost is reported as done."""

    def __init__(self, layer: str, base: str, run: str) -> None:
        self._layer = layer
        self._base = base
        self._run = run
        self._attempted: PromoteReport | None = None

    def work(self, tx: Transaction) -> PromoteReport:
        report = _promote(tx, self._layer, self._base, self._run)
        gained = report.version > report.version_before
        if gained or self._attempted is None:
            self._attempted = report
        return self._attempted


def _promote(tx: Transaction, layer: str, base: str, run: str) -> PromoteReport:
    # Base before layer, always: two promotions into one base wait for each other instead of deadlocking.
    below = lock_graph(tx, base)
    above = lock_graph(tx, layer)
    target = replace(below, version=below.version + 1)
    added: Counter[str] = Counter()
    rejected: list[Reject] = []
    for graphs, successes in _pages(tx, above):
        known = known_tasks(tx, target, [graph.task.key for graph in graphs])
        faults = {graph.task.key: fault_against(graph, known[graph.task.key]) for graph in graphs}
        rejected += [Reject(reason, id=task) for task, reason in faults.items() if reason]
        sound = [graph for graph in graphs if not faults[graph.task.key]]
        fresh = _unknown(tx, target, [row for row in successes if not faults[row["task"]]])
        seeds, gains = _supports(sound, successes, fresh)
        merged = [_with_support(graph, seeds, gains) for graph in sound]
        pieces = missing_pieces(tx, target, merged, known)
        write_pieces(tx, target, pieces)
        measure_tasks(tx, target, [graph.task.key for graph in merged])
        created = {row["key"] for name, row in pieces.rows if name == "create_transitions"}
        raised = [{"key": key, "support": n} for key, n in sorted(gains.items()) if key not in created]
        tx.rows("add_support", graph=base, rows=raised)
        carried = [{**row, "since": target.version} for row in fresh]
        tx.rows("create_successes", graph=base, rows=carried)
        added.update(tasks=pieces.tasks, states=pieces.states, transitions=pieces.transitions, successes=len(fresh))
    if added.total():
        tx.rows("set_version", graph=base, version=target.version)
        counts = {"states": added["states"], "transitions": added["transitions"]}
        tx.rows("count_version", graph=base, k=target.version, run=run, **counts)
    return PromoteReport(
        layer=layer,
        base=base,
        version_before=below.version,
        version=target.version if added.total() else below.version,
        added_tasks=added["tasks"],
        added_states=added["states"],
        added_transitions=added["transitions"],
        successes=added["successes"],
        seconds=0.0,
        rejected=tuple(rejected),
    )


def _pages(tx: Transaction, layer: Scope) -> Iterator[tuple[list[TaskGraph], list[dict[str, Any]]]]:
    """The layer's own part, some tasks at a time: task graphs and successes."""
    alone = {"graph": layer.graph, "base": None, "base_version": None}
    after = ""
    while True:
        keys = [row["key"] for row in tx.rows("page_task_rows", graph=layer.graph, after=after, limit=PAGE)]
        if not keys:
            return
        rows = tx.rows("read_task_graphs", tasks=keys, version=layer.version, **alone)
        successes = tx.rows("task_successes", graph=layer.graph, tasks=keys)
        yield [task_graph_from_row(row) for row in rows], [dict(row) for row in successes]
        after = keys[-1]


def _unknown(tx: Transaction, base: Scope, successes: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Those successes that the base has not joined, by this way or another."""
    seen = tx.rows("known_successes", keys=[row["key"] for row in successes], **base.parameters())
    known = {row["key"] for row in seen}
    return [row for row in successes if row["key"] not in known]


def _supports(
    graphs: Sequence[TaskGraph], successes: Sequence[Mapping[str, Any]], fresh: Sequence[Mapping[str, Any]]
) -> tuple[dict[str, int], Counter[str]]:
    """Support of each transition by building alone, and the gain by successes that are new to the base."""
    seen = Counter(key for row in successes for key in row["transitions"])
    gains = Counter(key for row in fresh for key in row["transitions"])
    edges = {edge.key: edge.support for graph in graphs for edge in graph.transitions}
    return {key: max(0, support - seen[key]) for key, support in edges.items()}, gains


def _with_support(graph: TaskGraph, seeds: Mapping[str, int], gains: Mapping[str, int]) -> TaskGraph:
    edges = tuple(replace(edge, support=seeds[edge.key] + gains.get(edge.key, 0)) for edge in graph.transitions)
    return replace(graph, transitions=edges)
