"""Labelling an iteration of 128 rollouts x 50 steps, on graphs of 100 k and 1 M transitions, in one run.

    python benchmarks/label.py [--out benchmarks/results/label.json] [--keep]

Four ways to the same labels, which is checked before anything is timed:

- ``label``: :meth:`ReferenceGraph.label`, from records to labelled records; the figure.
- ``round trip``: of this, the statement alone, from parameters to the answer.
- ``query a step``: what a step-by-step labeller does: one query for each transition, with the same driver. 6,400 of
  them take half a minute, so that some of each batch are timed and scaled up.
- ``set``: the keys of all edges in a Python set, and the definitions in plain loops, the keys of the steps at hand: the
  lower bound, for a graph that lives in the trainer's own memory.

The database is the one that ``NEO4J_URI`` names, else the local server, which is started where it does not run. The
graphs are made on the first run (the large one takes minutes) and dropped at the end unless ``--keep`` is given. Each
batch is new to the process; its tasks are drawn from the whole graph.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import synthetic
from machine import machine
from neo4j import Driver

from proas.graph.client import Client
from proas.graph.connect import Connection
from proas.graph.drivers import driver_of
from proas.graph.labelling import label_parameters
from proas.graph.migrations import migrate
from proas.graph.store import ReferenceGraph
from proas.rollouts import Rollout, RolloutBatch

TASKS, GROUP, STEPS = 16, 8, 50
SIZES = {"100k": 100_000, "1m": 1_000_000}
WARM_UP, ROUNDS, STEPWISE = 8, 31, 16
ONE_STEP = (
    "MATCH ()-[e:TRANSITION {graph: $graph, key: $key}]->() WHERE e.since <= $version RETURN count(e) > 0 AS known"
)

Verdict = list[tuple[bool, bool, int]]


def main() -> None:
    """Run the benchmark and write its result."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "label.json")
    parser.add_argument("--keep", action="store_true", help="leave the graphs in the database")
    options = parser.parse_args()
    connection = Connection.resolve()
    migrate(connection)
    graphs = {name: _graph(connection, f"benchmark-label-{name}", size) for name, size in SIZES.items()}
    cases = {name: _Case(graph, SIZES[name]) for name, graph in graphs.items()}
    described = machine()
    for _ in range(ROUNDS):
        for case in cases.values():  # in turns, so that whatever else the machine does falls on all alike
            case.round()
    result: dict[str, Any] = {"benchmark": "label", "rollouts": TASKS * GROUP, "steps": STEPS, "tasks": TASKS}
    result |= {"neo4j": Client(connection).server_version(), "machine": described}
    result |= {name: case.result() for name, case in cases.items()}
    result["label_1m_over_100k"] = round(result["1m"]["label_ms"] / result["100k"]["label_ms"], 2)
    print(json.dumps(result, indent=2))
    options.out.parent.mkdir(exist_ok=True)
    options.out.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    if not options.keep:
        for graph in graphs.values():
            graph.drop()


def _graph(connection: Connection, name: str, transitions: int) -> ReferenceGraph:
    graph = ReferenceGraph.create(connection, name)
    wanted = transitions // synthetic.EDGES
    if graph.stats().tasks != wanted:
        report = graph.add(synthetic.task_graphs(transitions), batch_rows=5000)
        print(f"{name}: {report.added_transitions} transitions in {report.seconds:.0f} s")
    return graph


class _Case:
    """One graph, and the times of the four ways on it."""

    def __init__(self, graph: ReferenceGraph, transitions: int) -> None:
        self._graph = graph
        self._transitions = transitions
        self._client = Client(graph.connection)
        self._driver = driver_of(graph.connection)
        self._seed = 0
        self._times: dict[str, list[float]] = {"label": [], "round_trip": [], "step": [], "set": []}
        for _ in range(WARM_UP):
            batch = self._batch()
            edges = _edges(graph, batch)
            assert [_verdict(r) for r in graph.label(batch)] == [_by_set(r, edges) for r in batch]
        self._at_hand = self._batch()
        self._edges = _edges(graph, self._at_hand)
        assert all(len(r.transition_keys) == STEPS for r in self._at_hand)  # derived now, so that "set" does not pay

    def round(self) -> None:
        """Each way once; of the queries a step, a few."""
        batch = self._batch()
        self._times["label"].append(_timed(lambda: self._graph.label(batch)))
        tasks = label_parameters(self._batch())
        asked = {"graph": self._graph.name, "version": None, "min_support": 1, "tasks": tasks}
        self._times["round_trip"].append(_timed(lambda: self._client.rows("label_batch", **asked)))
        self._times["set"].append(_timed(lambda: [_by_set(r, self._edges) for r in self._at_hand]))
        keys = [key for rollout in batch for key in rollout.transition_keys][:: TASKS * GROUP * STEPS // STEPWISE]
        self._times["step"] += [_timed(lambda k=key: _one_step(self._driver, self._graph, k)) for key in keys]

    def result(self) -> dict[str, Any]:
        """Medians in milliseconds, and their ratios."""
        label, trip, by_set = (statistics.median(self._times[name]) for name in ("label", "round_trip", "set"))
        stepwise = statistics.mean(self._times["step"]) * TASKS * GROUP * STEPS
        return {
            "transitions": self._transitions,
            "label_ms": round(label, 1),
            "label_ms_quartiles": [round(q, 1) for q in statistics.quantiles(self._times["label"], n=4)],
            "round_trip_ms": round(trip, 1),
            "query_a_step_ms": round(stepwise),
            "set_ms": round(by_set, 2),
            "query_a_step_over_label": round(stepwise / label),
            "query_a_step_over_round_trip": round(stepwise / trip),
            "label_over_set": round(label / by_set, 1),
        }

    def _batch(self) -> RolloutBatch:
        self._seed += 1
        corridors = self._transitions // synthetic.EDGES
        return synthetic.rollouts(TASKS, group_size=GROUP, steps=STEPS, seed=self._seed, of=corridors)


def _timed(work: Callable[[], object]) -> float:
    """Milliseconds."""
    began = time.perf_counter()
    work()
    return (time.perf_counter() - began) * 1000


def _one_step(driver: Driver, graph: ReferenceGraph, key: str) -> None:
    driver.execute_query(
        ONE_STEP, graph=graph.name, key=key, version=0, database_=graph.connection.database, routing_="r"
    )


def _edges(graph: ReferenceGraph, batch: RolloutBatch) -> set[str]:
    return {edge.key for task in batch.by_task() for edge in graph.read(task).transitions}


def _by_set(rollout: Rollout, edges: set[str]) -> Verdict:
    visited: set[str] = set()
    judged = []
    for t, key in enumerate(rollout.transition_keys):
        visited.add(rollout.state_keys[t])
        known = key in edges
        judged.append((known, known and rollout.state_keys[t + 1] not in visited))
    left, verdict = 0, []
    for known, progress in reversed(judged):
        left += not progress
        verdict.append((known, progress, left))
    return verdict[::-1]


def _verdict(rollout: Rollout) -> Verdict:
    labels = [step.label for step in rollout.steps]
    return [(label.reasonable, label.progress, label.drift) for label in labels if label is not None]


if __name__ == "__main__":
    main()
