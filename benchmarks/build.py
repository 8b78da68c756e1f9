"""Building reference graphs: trials a second, and memory at 100 against all trials, into a real Neo4j.

    python benchmarks/build.py [--data PATH] [--games N] [--workers N] [--out benchmarks/results/build.json]

With ``--data`` the games are real ones, else as many generated ones as ``--games`` says. The database is the one that
``NEO4J_URI`` names, else the local server, which is started where it does not run; the graphs made are dropped again.
Every build is a process of its own, so that its peak memory is its own (worker processes counted apart), and begins
with an empty cache of parsed games. ``rerun`` builds the same again over what is stored.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from machine import machine

from proas.envs.alfworld.generator import generate
from proas.graph.connect import Connection
from proas.graph.migrations import migrate
from proas.graph.store import ReferenceGraph
from proas.graph_builders import BuildOptions, Built, build_graph, builder
from proas.graph_builders.base import Rejected

FEW = 100
FIGURES = ("considered", "tasks", "skipped", "built", "rejected", "states", "transitions", "seconds", "rate")


class Builder:
    """The builder, with the time spent in it apart from the time spent storing."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._inner = builder("alfworld")

    def count(self, data: Path | None, options: BuildOptions) -> int:
        """As the builder says."""
        return self._inner.count(data, options)

    def build(self, data: Path | None, options: BuildOptions) -> Iterator[Built | Rejected]:
        """As the builder does, timed."""
        answers = self._inner.build(data, options)
        while True:
            began = time.perf_counter()
            answer = next(answers, None)
            self.seconds += time.perf_counter() - began
            if answer is None:
                return
            yield answer


def measure(data: Path, graph: str, options: BuildOptions) -> dict[str, Any]:
    """Build once, in this process."""
    store = ReferenceGraph.create(Connection.resolve(), graph)
    timed = Builder()
    report = build_graph("alfworld", timed, store, data=data, options=options).as_json()
    return {name: report[name] for name in FIGURES} | {
        "builder_seconds": round(timed.seconds, 3),
        "peak_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1),
        "worker_peak_mb": round(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024, 1),
    }


def in_own_process(data: Path, graph: str, cache: Path, **options: Any) -> dict[str, Any]:
    """``measure`` in a fresh process with its own cache."""
    request = json.dumps({"data": str(data), "graph": graph, "options": options})
    done = subprocess.run(
        [sys.executable, __file__, "--measure", request],
        env={**os.environ, "PROAS_CACHE_DIR": str(cache)},
        stdout=subprocess.PIPE,
        check=True,
    )
    measured: dict[str, Any] = json.loads(done.stdout)
    return measured


def compare(data: Path, workers: int) -> dict[str, Any]:
    """All builds, each into a graph of its own that is dropped afterwards."""
    connection = Connection.resolve()
    migrate(connection)
    builds = {
        "few": {"limit": FEW},
        "all": {},
        "all_with_workers": {"workers": workers},
        "optimal": {"expand": "optimal"},
        "optimal_with_workers": {"expand": "optimal", "workers": workers},
    }
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, options in builds.items():
            graph = f"bench-build-{uuid.uuid4().hex[:8]}"
            cache = Path(folder, name)
            try:
                found[name] = in_own_process(data, graph, cache, **options)
                print(f"{name}: {found[name]['seconds']} s", file=sys.stderr)
                if name == "all":
                    found["rerun"] = in_own_process(data, graph, cache, **options)
            finally:
                ReferenceGraph(connection, graph).drop(force=True)
    return found


def main() -> None:
    """Measure, print and keep."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="release, split or archive of games")
    parser.add_argument("--games", type=int, default=1500, help="generated games, without --data")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/build.json"))
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.measure:
        asked = json.loads(given.measure)
        print(json.dumps(measure(Path(asked["data"]), asked["graph"], BuildOptions(**asked["options"]))))
        return
    with tempfile.TemporaryDirectory() as folder:
        if given.data is None:
            for trial in generate(given.games, seed=1):
                trial.write(Path(folder))
        described = machine()
        builds = compare(given.data or Path(folder), given.workers)
    result = {
        "games": "real" if given.data else "generated",
        "builds": builds,
        "ratios": {
            "peak memory, all to few": round(builds["all"]["peak_mb"] / builds["few"]["peak_mb"], 3),
            "trials, all to few": round(builds["all"]["considered"] / builds["few"]["considered"], 1),
            "rerun to first build, seconds": round(builds["rerun"]["seconds"] / builds["all"]["seconds"], 3),
            "optimal to plan, seconds": round(builds["optimal"]["seconds"] / builds["all"]["seconds"], 2),
        },
        "machine": described,
    }
    given.out.parent.mkdir(parents=True, exist_ok=True)
    given.out.write_text(json.dumps(result, indent=2) + "\n")
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
