"""Tests inside verl's own environment (``make test-verl``); where verl is not installed they are skipped."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from proas.graph.connect import Connection
from proas.graph.migrations import migrate
from proas.graph.store import ReferenceGraph
from proas.graph_builders import build_graph, builder
from proas.localdb import ServerInfo

HERE = Path(__file__).parent
INSTALLED = importlib.util.find_spec("verl") is not None

if INSTALLED:
    sys.path.insert(0, str(HERE / "support"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what needs verl where it is not installed, and say why."""
    skip = pytest.mark.skip(reason="verl is not installed here; `make test-verl` makes an environment that has it")
    for item in items:
        if HERE in item.path.parents:
            # Warnings of verl and of what it imports are not ours to mend.
            item.add_marker(pytest.mark.filterwarnings("ignore") if INSTALLED else skip)


@pytest.fixture(scope="session")
def connection(neo4j_server: ServerInfo) -> Connection:
    """The test server, migrated."""
    settings = Connection(
        uri=neo4j_server.uri,
        username=neo4j_server.username,
        password=neo4j_server.password,
        database=neo4j_server.database,
    )
    migrate(settings)
    return settings


@pytest.fixture(scope="session")
def games(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A few easy games, made on the spot."""
    from cpu_run import make_games

    return make_games(tmp_path_factory.mktemp("games"))


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory: pytest.TempPathFactory, games: Path) -> Path:
    """A tiny model that can spell the games' words."""
    from cpu_run import make_model

    from proas.envs import EnvSpec, open_world

    return make_model(tmp_path_factory.mktemp("model"), open_world(EnvSpec("alfworld", games)))


@pytest.fixture
def seeded(graph: ReferenceGraph, games: Path) -> ReferenceGraph:
    """The games' plans, as `proas graph build alfworld` stores them."""
    report = build_graph("alfworld", builder("alfworld"), graph, data=games)
    assert report.added_tasks == 4
    return graph


@pytest.fixture
def command(
    seeded: ReferenceGraph, games: Path, tiny_model: Path, tmp_path: Path
) -> Callable[..., tuple[list[str], str]]:
    """Words of a run, and the name of its layer."""
    from cpu_run import scaled_down

    from proas.integrations.verl.presets import PRESETS, RunPlan

    def words(algorithm: str, loop: str, *, data: Path = games, **more: Any) -> tuple[list[str], str]:
        layer = f"{seeded.name}.layer"
        plan = RunPlan(str(data), str(data), seeded.name, layer, loop=loop)  # type: ignore[arg-type]
        return scaled_down(PRESETS[f"alfworld-1.5b-{algorithm}"], plan, tiny_model, tmp_path, **more), layer

    return words
