"""What the tests of training in this folder share."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from proas.envs.alfworld.generator import generate
from proas.graph import Connection, ReferenceGraph
from proas.training.run_directory import RunDirectory

if find_spec("torch") is None:
    collect_ignore_glob = ["test_*.py"]
else:
    import torch

    torch.set_num_threads(1)  # small tensors; threads would only wait for one another


def pytest_report_header() -> str | None:
    return None if find_spec("torch") else "training: torch is not installed (extra `train`), its tests are left out"


@pytest.fixture(scope="session")
def games(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("games")
    for trial in generate(12, seed=31, kinds=("pick",)):
        trial.write(folder)
    return folder


@pytest.fixture(scope="session")
def warm(games: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A policy that imitates, for the other runs to start from."""
    from proas.training.trainer import Trainer
    from tests.integration.training.runs import settings
    from tests.watchers import Silent

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
