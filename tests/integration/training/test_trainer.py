"""Whole runs on the real server: versions equal iterations, and a run that resumes is the run that never ended."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from proas.envs.alfworld.generator import generate
from proas.errors import UsageError
from proas.graph import Connection, ReferenceGraph
from proas.shaping import preset as shaping_preset
from proas.training.checkpoint import Checkpoint, latest_checkpoint
from proas.training.config import TrainConfig, preset
from proas.training.run_directory import RunDirectory
from proas.training.trainer import Trainer


class Silent:
    """Watches and says nothing."""

    def phase(self, what: str) -> None:
        pass

    def metrics(self, row: dict[str, float]) -> None:
        pass

    def note(self, message: str) -> None:
        pass


class Stop(Exception):
    """Somebody pulls the plug."""


class Plug(Silent):
    """Ends the run in the middle of an iteration."""

    def __init__(self, at: int) -> None:
        self._at = f"iteration {at}"

    def phase(self, what: str) -> None:
        if what == self._at:
            raise Stop


@pytest.fixture(scope="module")
def games(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("games")
    for trial in generate(12, seed=31, kinds=("pick",)):
        trial.write(folder)
    return folder


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


@pytest.fixture(scope="module")
def warm(games: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A policy that imitates, for the other runs to start from."""
    directory = RunDirectory(tmp_path_factory.mktemp("warm") / "run")
    config = settings(games, algorithm="sft")
    directory.begin(config, graph="", init="")
    Trainer(config, directory, Silent()).run()
    return directory.path


@pytest.fixture
def names(graph_name: str, connection: Connection) -> Iterator[list[str]]:
    """Names of graphs, removed afterwards."""
    made = [f"{graph_name}-{i}" for i in range(3)]
    yield made
    for name in made:
        graph = ReferenceGraph(connection, name)
        if graph.exists():
            graph.drop(force=True)


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


@pytest.mark.parametrize("shaping", ["recommended", "paper"])
def test_a_run_that_resumes_is_the_run_that_never_ended(
    shaping: str, games: Path, warm: Path, tmp_path: Path, connection: Connection, names: list[str]
) -> None:
    config = settings(games).with_shaping(shaping_preset(shaping))
    whole = run(config, tmp_path / "whole", warm, connection=connection, graph=names[0])
    with pytest.raises(Stop):
        run(config, tmp_path / "part", warm, connection=connection, graph=names[1], watcher=Plug(3))
    # What a killed run may have left: an iteration in the graph that no checkpoint knows.
    learnt = ReferenceGraph(connection, names[1])
    assert learnt.info().version == 2
    part = run(config, tmp_path / "part", warm, connection=connection, graph=names[1], resume=True)
    assert told(part) == told(whole)
    ours, theirs = (Checkpoint.read(latest_checkpoint(d.checkpoints)) for d in (part, whole))
    assert torch.equal(ours.weights, theirs.weights)
    assert ours.position == theirs.position
    for name in names[:2]:
        assert ReferenceGraph(connection, name).info().version == 3
    assert ReferenceGraph(connection, names[0]).stats().transitions == learnt.stats().transitions


def test_a_later_version_than_the_checkpoint_is_forgotten(
    games: Path, warm: Path, tmp_path: Path, connection: Connection, names: list[str]
) -> None:
    config = settings(games).with_shaping(shaping_preset("recommended"))
    whole = run(config, tmp_path / "whole", warm, connection=connection, graph=names[0])
    done = told(whole)
    (whole.checkpoints / "iteration-000003.pt").unlink()
    again = run(config, tmp_path / "whole", warm, connection=connection, graph=names[0], resume=True)
    assert told(again) == done


@pytest.mark.parametrize("algorithm", ["grpo", "dapo", "gigpo", "migpo", "hgpo", "graphgpo", "tigpo", "ppo"])
def test_every_algorithm_trains_under_the_graph_s_shaping(
    algorithm: str, games: Path, warm: Path, tmp_path: Path, connection: Connection, names: list[str]
) -> None:
    config = settings(games, algorithm=algorithm, iterations=1).with_shaping(shaping_preset("recommended"))
    directory = run(config, tmp_path / "run", warm, connection=connection, graph=names[0])
    row = list(directory.metrics())[-1]
    assert row["rollout/success"] > 0, "the warm start solves nothing: the test shows nothing"
    assert row["proas/graph/version"] == 1
    assert row["proas/graph/coverage"] > 0
    assert row["update/steps"] > 0
    start, end = (Checkpoint.read(latest_checkpoint(directory.checkpoints, k)).weights for k in (0, 1))
    assert not torch.equal(start, end)
    assert sum(
        row[f"seconds/{part}"] for part in ("environment", "policy", "passing", "graph", "shaping", "update")
    ) == (pytest.approx(row["seconds/total"]))


def test_a_run_without_the_graph_needs_no_database(games: Path, warm: Path, tmp_path: Path) -> None:
    loop = shaping_preset("recommended").updated({"verdicts": "loop_mask", "info_seeking": False})
    config = settings(games, iterations=1).with_shaping(loop)
    row = list(run(config, tmp_path / "run", warm).metrics())[-1]
    assert not [name for name in row if name.startswith("proas/graph/")]
    assert row["update/steps"] > 0
    with pytest.raises(UsageError, match="needs a database"):
        run(settings(games).with_shaping(shaping_preset("paper")), tmp_path / "other", warm)
