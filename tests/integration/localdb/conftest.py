"""Servers of one's own: these tests start, kill and remove them, so they never use the shared one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from proas.localdb import LocalServer, ServerInfo

SMALL: dict[str, Any] = {"heap": "512m", "page_cache": "64m"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalServer]:
    """A server that the tests of a module share; each leaves it running or stopped as it likes."""
    made = LocalServer(tmp_path_factory.mktemp("neo4j") / "home with a space", **SMALL)
    yield made
    made.remove()


@pytest.fixture
def up(server: LocalServer) -> ServerInfo:
    """The shared server, running."""
    return server.up()
