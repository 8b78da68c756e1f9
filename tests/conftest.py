"""What all tests share: a real Neo4j server, the real data, and names that do not clash.

The server is started when the first test asks for it and ended with the test run; with several test processes
(``pytest -n``), before the first, for all of them. Where one is there already, it is
used instead: ``PROAS_TEST_NEO4J_URI`` names it, with ``PROAS_TEST_NEO4J_USERNAME``, ``PROAS_TEST_NEO4J_PASSWORD`` or
``PROAS_TEST_NEO4J_PASSWORD_FILE``, and ``PROAS_TEST_NEO4J_DATABASE``. ``PROAS_TEST_RELEASE`` selects another release.
"""

from __future__ import annotations

import os
import re
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import SecretStr

from proas.graph.connect import Connection
from proas.graph.store import ReferenceGraph
from proas.localdb import DEFAULT_RELEASE, LocalServer, ServerInfo

ROOT = Path(__file__).resolve().parent.parent


def _named_server() -> ServerInfo | None:
    """The server that the environment names for tests, if it names one."""
    uri = os.environ.get("PROAS_TEST_NEO4J_URI", "")
    if not uri:
        return None
    password = os.environ.get("PROAS_TEST_NEO4J_PASSWORD", "")
    if file := os.environ.get("PROAS_TEST_NEO4J_PASSWORD_FILE", ""):
        password = Path(file).read_text(encoding="utf-8").strip()
    if not password:
        pytest.fail("PROAS_TEST_NEO4J_URI is set without PROAS_TEST_NEO4J_PASSWORD or PROAS_TEST_NEO4J_PASSWORD_FILE")
    return ServerInfo(
        uri=uri,
        http_url=os.environ.get("PROAS_TEST_NEO4J_HTTP_URL", ""),
        username=os.environ.get("PROAS_TEST_NEO4J_USERNAME", "neo4j"),
        password=SecretStr(password),
        database=os.environ.get("PROAS_TEST_NEO4J_DATABASE", "neo4j"),
        pid=0,
        home=Path(),
        release="external",
    )


def _server_in(home: Path) -> LocalServer:
    return LocalServer(
        home,
        release=os.environ.get("PROAS_TEST_RELEASE", DEFAULT_RELEASE),
        heap="1g",
        page_cache="256m",
        tied=True,
    )


class SharedServer:
    """Starts one server for all test processes and names it to them through the environment."""

    def __init__(self) -> None:
        self._home = tempfile.TemporaryDirectory(prefix="proas-tests-")
        self._server = _server_in(Path(self._home.name))

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self) -> None:
        """Start it before the processes are started, which inherit the environment."""
        info = self._server.up()
        password = Path(self._home.name) / "test-password"
        password.touch(mode=0o600)
        password.write_text(info.password.get_secret_value(), encoding="utf-8")
        os.environ["PROAS_TEST_NEO4J_URI"] = info.uri
        os.environ["PROAS_TEST_NEO4J_HTTP_URL"] = info.http_url
        os.environ["PROAS_TEST_NEO4J_PASSWORD_FILE"] = str(password)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self) -> None:
        """End it after them."""
        self._server.remove()
        self._home.cleanup()


def pytest_configure(config: pytest.Config) -> None:
    """Share one server where this process only hands tests out to others."""
    hands_out = getattr(config.option, "numprocesses", None) and not hasattr(config, "workerinput")
    if hands_out and not config.option.collectonly and not os.environ.get("PROAS_TEST_NEO4J_URI"):
        config.pluginmanager.register(SharedServer(), "proas-shared-server")


@pytest.fixture(scope="session")
def neo4j_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerInfo]:
    """A running Neo4j server, one for the whole run."""
    named = _named_server()
    if named is not None:
        yield named
        return
    server = _server_in(tmp_path_factory.mktemp("neo4j"))
    try:
        yield server.up()
    finally:
        server.remove()


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """Folder of the real data; tests that need it are skipped where it is absent."""
    folder = Path(os.environ.get("PROAS_TEST_DATA") or ROOT.parent / "shared" / "data")
    if not folder.is_dir():
        pytest.skip(f"no real data at {folder}; set PROAS_TEST_DATA to its folder")
    return folder.resolve()


@pytest.fixture
def graph_name(request: pytest.FixtureRequest) -> str:
    """A graph name that no other test uses, on a server that may be shared."""
    return f"test-{re.sub(r'[^a-z0-9]+', '-', request.node.name.lower())[:40].strip('-')}-{uuid.uuid4().hex[:8]}"


@pytest.fixture
def graph(connection: Connection, graph_name: str) -> Iterator[ReferenceGraph]:
    """A new empty graph, dropped afterwards with its layers; each folder of tests says how it connects."""
    made = ReferenceGraph.create(connection, graph_name)
    yield made
    if made.exists():
        made.drop(force=True)
