"""The real data, the real shop, and a graph in a migrated database."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from proas.envs.webshop import Shop, WebShopGoal, open_shop
from proas.graph.connect import Connection
from proas.graph.migrations import migrate
from proas.graph.store import ReferenceGraph
from proas.localdb import ServerInfo


@pytest.fixture(scope="session")
def webshop_data(data_dir: Path) -> Path:
    folder = data_dir / "webshop"
    if not folder.is_dir():
        pytest.skip(f"no WebShop data at {folder}")
    return folder


@pytest.fixture(scope="session")
def real_shop(webshop_data: Path) -> tuple[Shop, tuple[WebShopGoal, ...]]:
    return open_shop(webshop_data)


@pytest.fixture(scope="session")
def connection(neo4j_server: ServerInfo) -> Connection:
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
