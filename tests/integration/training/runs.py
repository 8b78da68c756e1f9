"""Runs of seconds for the tests of this folder."""

from __future__ import annotations

from pathlib import Path

from proas.graph import Connection
from proas.training.config import TrainConfig, preset
from proas.training.run_directory import RunDirectory
from proas.training.trainer import Trainer
from tests.watchers import Silent


class Stop(Exception):
    """Somebody pulls the plug."""


class Plug(Silent):
    """Ends the run in the middle of an iteration."""

    def __init__(self, at: int) -> None:
        self._at = f"iteration {at}"

    def phase(self, what: str) -> None:
        if what == self._at:
            raise Stop


def settings(games: Path, **more: object) -> TrainConfig:
    """A run of seconds whose demonstrations are the expert's, so that some rollouts succeed."""
    return preset("smoke").updated(
        {
            "data": str(games),
            "iterations": 3,
            "evaluation.every": 0,
            "evaluation.temperatures": [1.0],
            "warm_start.demonstrations": 48,
            "warm_start.skill": 1.0,
            "warm_start.epochs": 16,
            "warm_start.batch": 2,
            "warm_start.learning_rate": 4e-3,
            "warm_start.low": 0.99,
            "warm_start.high": 1.0,
            **more,
        }
    )


def run(
    config: TrainConfig,
    folder: Path,
    warm: Path,
    *,
    connection: Connection | None = None,
    graph: str = "",
    watcher: Silent | None = None,
    resume: bool = False,
) -> RunDirectory:
    directory = RunDirectory(folder)
    if not resume:
        directory.begin(config, graph=graph, init=str(warm))
    trainer = Trainer(config, directory, watcher or Silent(), connection=connection, graph=graph, init=warm)
    trainer.run(resume=resume)
    return directory


def told(directory: RunDirectory) -> list[dict[str, float]]:
    """Metrics without what the clock and the memory decide."""
    return [
        {name: value for name, value in row.items() if not name.startswith(("seconds/", "memory/"))}
        for row in directory.metrics()
    ]
