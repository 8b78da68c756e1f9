"""An iteration of training: 16 tasks x 8 rollouts x 50 steps, with the graph in the loop, and where its time goes.

    python benchmarks/training.py [--out benchmarks/results/training.json] [--data PATH] [--run RUN]

Without ``--data`` games are generated. Without ``--run`` a policy is warmed up first, which takes minutes; ``--run``
takes the policy of a run there is. A policy of a short warm start solves little, so that nearly all rollouts are 50
steps long: the costly end. ``cpu_seconds`` is the processor time of all processes of the trainer, which says what the
iteration costs also where the machine does other things; ``seconds`` is the clock's.

The database is the one that ``NEO4J_URI`` names, else the local server, which is started where it does not run. A
server compiles what it runs often: in its first minute the graph takes about one and a half times as long as later, so
that ``server_minutes_up`` has to be read beside ``graph``.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
from pathlib import Path
from typing import Any

import psutil
from machine import machine

from proas.envs.alfworld.generator import generate
from proas.graph import Connection, ReferenceGraph, migrate
from proas.graph.drivers import driver_of
from proas.shaping import preset as shaping_preset
from proas.training.config import TrainConfig, preset
from proas.training.run_directory import RunDirectory, software
from proas.training.trainer import Trainer

ITERATIONS = 18
PARTS = ("environment", "policy", "passing", "graph", "shaping", "update")


class Meter:
    """Reads the processor's time at each iteration; implements ``proas.training.trainer.Watcher``."""

    def __init__(self) -> None:
        self._process = psutil.Process()
        self._began = 0.0
        self.rows: list[dict[str, float]] = []

    def phase(self, what: str) -> None:
        """An iteration begins, or ends with an evaluation."""
        if what.startswith("iteration"):
            self._began = self._spent()

    def metrics(self, row: dict[str, float]) -> None:
        """An iteration is done."""
        if "seconds/total" in row and "seconds/evaluation" not in row:
            self.rows.append({**row, "cpu_seconds": self._spent() - self._began})

    def note(self, message: str) -> None:
        """Say it."""
        print(message, flush=True)

    def _spent(self) -> float:
        processes = [self._process, *self._process.children(recursive=True)]
        times = [process.cpu_times() for process in processes]
        return sum(time.user + time.system for time in times)


def main() -> None:
    """Run the benchmark and write its result."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "training.json")
    parser.add_argument("--data", type=Path, help="ALFWorld trials; generated games if not given")
    parser.add_argument("--run", type=Path, help="a run whose policy plays")
    options = parser.parse_args()
    connection = Connection.resolve()
    migrate(connection)
    with tempfile.TemporaryDirectory() as folder:
        data = options.data or _games(Path(folder) / "games")
        warm = options.run or _warm(Path(folder) / "warm", data)
        described = machine()
        up = _minutes_up(connection)
        rows = _train(Path(folder) / "run", data, warm, connection)
    print(json.dumps(result := _result(rows, described, up), indent=2))
    options.out.parent.mkdir(exist_ok=True)
    options.out.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


def _games(folder: Path) -> Path:
    for trial in generate(120, seed=5):
        trial.write(folder)
    return folder


def _settings(data: Path, **more: object) -> TrainConfig:
    return preset("tiny-alfworld").updated(
        {
            "data": str(data.absolute()),
            "iterations": ITERATIONS,
            "step_limit": 50,
            "evaluation.every": 0,
            "evaluation.tasks": 16,
        }
        | more
    )


def _warm(folder: Path, data: Path) -> Path:
    config = _settings(data, **{"algorithm": "sft", "warm_start.epochs": 2, "warm_start.demonstrations": 600})
    directory = RunDirectory(folder)
    directory.begin(config, graph="", init="")
    Trainer(config, directory, Meter()).run()
    return folder


def _train(folder: Path, data: Path, warm: Path, connection: Connection) -> list[dict[str, float]]:
    config = _settings(data).with_shaping(shaping_preset("membership"))
    directory, meter, name = RunDirectory(folder), Meter(), f"benchmark-training-{os.getpid()}"
    directory.begin(config, graph=name, init=str(warm))
    try:
        Trainer(config, directory, meter, connection=connection, graph=name, init=warm).run()
    finally:
        ReferenceGraph(connection, name).drop(force=True)
    return meter.rows


def _minutes_up(connection: Connection) -> float:
    asked = "CALL dbms.queryJmx('java.lang:type=Runtime') YIELD attributes RETURN attributes"
    found = driver_of(connection).execute_query(asked)
    return round(found.records[0]["attributes"]["Uptime"]["value"] / 60_000, 1)


def _result(rows: list[dict[str, float]], described: dict[str, object], up: float) -> dict[str, Any]:
    timed = rows[1:]  # the first one warms caches

    def median(name: str) -> float:
        return round(statistics.median(row[name] for row in timed), 3)

    total = median("seconds/total")
    return {
        "benchmark": "training",
        "tasks": 16,
        "group_size": 8,
        "step_limit": 50,
        "iterations": len(timed),
        "steps": round(statistics.median(row["rollout/steps"] for row in timed) * 128),
        "tokens": round(median("rollout/tokens")),
        "updated_rollouts": round(median("update/rollouts")),
        "seconds": total,
        "cpu_seconds": median("cpu_seconds"),
        "seconds_by_part": {part: median(f"seconds/{part}") for part in PARTS},
        "graph_seconds_by_iteration": [round(row["seconds/graph"], 3) for row in rows],
        "share_by_part": {part: round(median(f"seconds/{part}") / total, 3) for part in PARTS},
        "success": median("rollout/success"),
        "resident_mib": median("memory/resident_mib"),
        "workers": preset("tiny-alfworld").workers,
        "server_minutes_up": up,
        "machine": described,
        "software": {name: version for name, version in software().items() if name != "commit"},
    }


if __name__ == "__main__":
    main()
