"""Labelling an iteration of 128 rollouts x 50 steps, on graphs of 100 k and 1 M transitions, in one run.

    python benchmarks/label.py [--out benchmarks/results/label.json] [--keep]

Four ways to the same labels, which is checked before anything is timed:

- ``label``: :meth:`ReferenceGraph.label`, from records to labelled records; the figure.
- ``round trip``: of this, the statement alone, from parameters to the answer.
- ``query a step``: what a step-by-step labeller does: one query for each transition, with the same driver. 6,400 of
  them take half a minute, so that a part is timed and scaled up.
- ``set``: the keys of all edges in a Python set, and the definitions in plain loops, the keys of the steps at hand: the
  lower bound, for a graph that lives in the trainer's own memory.

The database is the one that ``NEO4J_URI`` names, else the local server, which is started where it does not run. The
graphs are made on the first run (the large one takes minutes) and dropped at the end unless ``--keep`` is given. Each
batch is new to the process; its tasks are drawn from the whole graph.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import synthetic
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
WARM_UP, ROUNDS, STEPWISE = 5, 31, 400
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
    result: dict[str, Any] = {"benchmark": "label", "rollouts": TASKS * GROUP, "steps": STEPS, "tasks": TASKS}
    result |= _machine(connection)
    for name, transitions in SIZES.items():
        graph = _graph(connection, f"benchmark-label-{name}", transitions)
        result[name] = _measure(graph, transitions)
        print(name, json.dumps(result[name], indent=2))
    result["label_1m_over_100k"] = round(result["1m"]["label_ms"] / result["100k"]["label_ms"], 2)
    print("label on 1 M over 100 k:", result["label_1m_over_100k"])
    options.out.parent.mkdir(exist_ok=True)
    options.out.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    if not options.keep:
        for name in SIZES:
            ReferenceGraph(connection, f"benchmark-label-{name}").drop()


def _graph(connection: Connection, name: str, transitions: int) -> ReferenceGraph:
    graph = ReferenceGraph.create(connection, name)
    wanted = transitions // synthetic.EDGES
    if graph.stats().tasks != wanted:
        report = graph.add(synthetic.task_graphs(transitions), batch_rows=5000)
        print(f"{name}: {report.added_transitions} transitions in {report.seconds:.0f} s")
    return graph


def _batches(count: int, transitions: int, seed: int) -> list[RolloutBatch]:
    corridors = transitions // synthetic.EDGES
    return [synthetic.rollouts(TASKS, group_size=GROUP, steps=STEPS, seed=seed + i, of=corridors) for i in range(count)]


def _measure(graph: ReferenceGraph, transitions: int) -> dict[str, Any]:
    client = Client(graph.connection)
    driver = driver_of(graph.connection)
    for batch in _batches(WARM_UP, transitions, seed=1000):
        edges = _edges(graph, batch)
        assert [_verdict(r) for r in graph.label(batch)] == [_by_set(r, edges) for r in batch]
    first = _batches(1, transitions, seed=2000)[0]
    _stepwise(driver, graph, first, 50)

    fresh = _batches(ROUNDS, transitions, seed=3000)
    label = [_timed(lambda b=b: graph.label(b)) for b in fresh]
    parameters = [label_parameters(batch) for batch in _batches(ROUNDS, transitions, seed=4000)]
    trip = [_timed(lambda p=p: client.rows("label_batch", graph=graph.name, version=None, tasks=p)) for p in parameters]
    stepwise = _timed(lambda: _stepwise(driver, graph, first, STEPWISE)) * TASKS * GROUP * STEPS / STEPWISE
    edges = _edges(graph, first)
    assert all(len(rollout.transition_keys) == STEPS for rollout in first)  # keys are at hand, as a trainer's would be
    by_set = [_timed(lambda: [_by_set(rollout, edges) for rollout in first]) for _ in range(ROUNDS)]
    median = statistics.median(label)
    return {
        "transitions": transitions,
        "label_ms": round(median, 1),
        "label_ms_quartiles": [round(q, 1) for q in statistics.quantiles(label, n=4)],
        "round_trip_ms": round(statistics.median(trip), 1),
        "query_a_step_ms": round(stepwise),
        "set_ms": round(statistics.median(by_set), 2),
        "query_a_step_over_label": round(stepwise / median),
        "label_over_set": round(median / statistics.median(by_set), 1),
    }


def _timed(work: Callable[[], object]) -> float:
    """Milliseconds."""
    began = time.perf_counter()
    work()
    return (time.perf_counter() - began) * 1000


def _stepwise(driver: Driver, graph: ReferenceGraph, batch: RolloutBatch, steps: int) -> list[bool]:
    keys = [key for rollout in batch for key in rollout.transition_keys][:steps]
    known = []
    for key in keys:
        records, _, _ = driver.execute_query(
            ONE_STEP, graph=graph.name, key=key, version=0, database_=graph.connection.database, routing_="r"
        )
        known.append(records[0]["known"])
    return known


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


def _machine(connection: Connection) -> dict[str, Any]:
    return {
        "neo4j": Client(connection).server_version(),
        "python": platform.python_version(),
        "cpus": os.cpu_count(),
        "processor": _processor(),
        "load_average_at_start": round(os.getloadavg()[0], 1),
    }


def _processor() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return platform.processor()
    names = [line.partition(":")[2].strip() for line in text.splitlines() if line.startswith("model name")]
    return names[0] if names else platform.processor()


if __name__ == "__main__":
    main()
