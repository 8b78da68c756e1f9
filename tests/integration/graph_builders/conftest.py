"""A migrated database, an empty graph in it, and generated games."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from proas.envs.alfworld.generator import generate
from proas.graph.connect import Connection
from proas.graph.migrations import migrate
from proas.graph.store import ReferenceGraph
from proas.localdb import ServerInfo


@pytest.fixture(scope="session")
def connection(neo4j_server: ServerInfo) -> Connection:
    """The test server, migrated; every note of the server is a warning, and every warning an error."""
    settings = Connection(
        uri=neo4j_server.uri,
        username=neo4j_server.username,
        password=neo4j_server.password,
        database=neo4j_server.database,
        notifications="warn",
    )
    migrate(settings)
    return settings


@pytest.fixture
def graph(connection: Connection, graph_name: str) -> Iterator[ReferenceGraph]:
    made = ReferenceGraph.create(connection, graph_name)
    yield made
    if made.exists():
        made.drop(force=True)


@pytest.fixture(scope="session")
def samples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of 24 generated trials, four of each kind, some with sliced goals."""
    root = tmp_path_factory.mktemp("samples")
    for trial in generate(24, seed=5, sliced_share=0.2):
        trial.write(root)
    return root


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Unpacked archives and parsed games go to a cache that the run throws away."""
    monkeypatch.setenv("PROAS_CACHE_DIR", str(tmp_path_factory.getbasetemp() / "cache"))
