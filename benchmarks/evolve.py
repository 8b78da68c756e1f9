"""Evolving an iteration of 64 successes, on a graph of 100 k transitions, and the rate of adding task graphs.

    python benchmarks/evolve.py [--out benchmarks/results/evolve.json]

``evolve`` joins 64 successes of 8 tasks, each of up to 50 steps with mistakes, most of which are new to the graph;
``known`` sends the same batch again, which changes nothing. ``layer`` does the same in a layer over that graph, which
first copies the ends of what it adds. ``add`` counts elements as nodes and relationships, states and their membership
and transitions. The database is the one that ``NEO4J_URI`` names, else the local server; the graphs made are dropped.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
import uuid
from pathlib import Path
from typing import Any

import synthetic
from machine import machine

from proas.graph.client import Client
from proas.graph.connect import Connection
from proas.graph.migrations import migrate
from proas.graph.store import ReferenceGraph
from proas.rollouts import RolloutBatch

TRANSITIONS, TASKS, GROUP, STEPS = 100_000, 8, 8, 50
WARM_UP, ROUNDS = 4, 15


def main() -> None:
    """Run the benchmark and write its result."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "evolve.json")
    options = parser.parse_args()
    connection = Connection.resolve()
    migrate(connection)
    graph = ReferenceGraph.create(connection, f"benchmark-evolve-{uuid.uuid4().hex[:8]}")
    try:
        result = _measure(connection, graph)
    finally:
        graph.drop(force=True)
    print(json.dumps(result, indent=2))
    options.out.parent.mkdir(exist_ok=True)
    options.out.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


def _measure(connection: Connection, graph: ReferenceGraph) -> dict[str, Any]:
    result: dict[str, Any] = {
        "benchmark": "evolve",
        "successes": TASKS * GROUP,
        "neo4j": Client(connection).server_version(),
        "machine": machine(),
    }
    report = graph.add(synthetic.task_graphs(TRANSITIONS))
    elements = 2 * report.added_states + report.added_transitions
    result["add_elements_a_second"] = round(elements / report.seconds)
    again = graph.add(synthetic.task_graphs(TRANSITIONS))
    assert again.skipped == again.tasks
    result["add_again_over_add"] = round(again.seconds / report.seconds, 2)
    layer = ReferenceGraph.create(connection, f"{graph.name}-layer", base=graph.name)
    for name, target in (("base", graph), ("layer", layer)):
        result[name] = _evolve(target)
    assert graph.verify().ok
    assert layer.verify().ok
    return result


def _evolve(graph: ReferenceGraph) -> dict[str, Any]:
    batches = [_batch(seed) for seed in range(WARM_UP + ROUNDS)]
    for batch in batches[:WARM_UP]:
        graph.evolve(batch)
    reports, fresh, known = [], [], []
    for batch in batches[WARM_UP:]:
        began = time.perf_counter()
        reports.append(graph.evolve(batch))
        fresh.append((time.perf_counter() - began) * 1000)
    for batch in batches[WARM_UP:]:
        began = time.perf_counter()
        assert graph.evolve(batch).known == TASKS * GROUP
        known.append((time.perf_counter() - began) * 1000)
    return {
        "evolve_ms": round(statistics.median(fresh), 1),
        "known_ms": round(statistics.median(known), 1),
        "added_states": round(statistics.mean(report.added_states for report in reports)),
        "added_transitions": round(statistics.mean(report.added_transitions for report in reports)),
    }


def _batch(seed: int) -> RolloutBatch:
    corridors = TRANSITIONS // synthetic.EDGES
    return synthetic.rollouts(
        TASKS, group_size=GROUP, steps=STEPS, seed=seed, of=corridors, win=True, prefix=f"{seed}-"
    )


if __name__ == "__main__":
    main()
