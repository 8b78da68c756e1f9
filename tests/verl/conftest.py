"""Tests inside verl's own environment (``make test-verl``); where verl is not installed they are skipped."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

from proas.graph.connect import Connection
from proas.graph.migrations import migrate
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
