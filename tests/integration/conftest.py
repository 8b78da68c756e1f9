"""The server, migrated, a graph of the test's own in it; and the mark ``neo4j`` on whatever uses the server."""

from __future__ import annotations

from pathlib import Path

import pytest

from proas.graph.connect import Connection
from proas.graph.migrations import migrate
from proas.localdb import ServerInfo


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what uses the server, so that ``-m 'not neo4j'`` leaves it out."""
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents and "neo4j_server" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.neo4j)


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
