"""The program as a user runs it, on the real server, in a folder of the test's own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from proas.cli.app import main
from proas.graph import Connection, ReferenceGraph
from proas.localdb import ServerInfo
from proas.rollouts import Rollout, RolloutBatch
from proas.states import ladder_of_rollout
from tests.support.browser import launched

if TYPE_CHECKING:
    from playwright.sync_api import Browser

CLIENT_VARIABLES = ("NEO4J_URI", "NEO4J_USERNAME", "NEO4J_PASSWORD", "NEO4J_PASSWORD_FILE", "NEO4J_DATABASE")


@dataclass(frozen=True)
class Outcome:
    """What one call came to."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """The JSON document on standard output; anything else there is a failure."""
        return json.loads(self.out)

    @property
    def error(self) -> dict[str, Any]:
        """The error in the JSON document."""
        found: dict[str, Any] = self.document["error"]
        return found


Proas = Callable[..., Outcome]


def connection_to(server: ServerInfo) -> Connection:
    """The server, as the library reaches it."""
    return Connection(uri=server.uri, username=server.username, password=server.password, database=server.database)


def login(server: ServerInfo) -> dict[str, str]:
    """The environment in which the program uses a server."""
    return {
        "NEO4J_URI": server.uri,
        "NEO4J_USERNAME": server.username,
        "NEO4J_PASSWORD": server.password.get_secret_value(),
        "NEO4J_DATABASE": server.database,
    }


@pytest.fixture
def no_server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A working folder of the test's own and an environment that names no server. The local one's home is empty."""
    for name in CLIENT_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.delenv("ALFWORLD_DATA", raising=False)
    monkeypatch.setenv("PROAS_HOME", str(tmp_path / "proas-home"))
    monkeypatch.setenv("COLUMNS", "80")
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    return work


@pytest.fixture
def work(no_server: Path, neo4j_server: ServerInfo, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder, and an environment that names the tests' server."""
    for name, value in login(neo4j_server).items():
        monkeypatch.setenv(name, value)
    return no_server


@pytest.fixture
def proas(no_server: Path, capfd: pytest.CaptureFixture[str]) -> Proas:
    """Run the program in this process; ``proas("graph", "list", "--json").document``."""

    def run(*words: object) -> Outcome:
        capfd.readouterr()
        code = main([str(word) for word in words])
        sys.stdout.flush()
        out, err = capfd.readouterr()
        return Outcome(code, out, err)

    return run


def spawn(*words: object, cwd: Path, env: dict[str, str] | None = None) -> Outcome:
    """Run the program as a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "proas.cli", *(str(word) for word in words)],
        cwd=cwd,
        env={**os.environ, **(env or {})},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    return Outcome(done.returncode, done.stdout, done.stderr)


@pytest.fixture(scope="session")
def games(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve new games, two of each kind."""
    from proas.envs.alfworld.generator import generate

    folder = tmp_path_factory.mktemp("games")
    for trial in generate(12, seed=11):
        trial.write(folder)
    return folder


@pytest.fixture(scope="session")
def rollouts(games: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four rollouts of each game by a noisy expert, as the program writes them."""
    file = tmp_path_factory.mktemp("rollouts") / "rollouts.jsonl"
    made = spawn("rollout", "--data", games, "--group-size", 4, "--seed", 5, "--out", file, cwd=file.parent)
    assert made.code == 0, made.err
    return file


@pytest.fixture(scope="session")
def built(games: Path, neo4j_server: ServerInfo, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A graph of the games with every shortest solution, made once; removed with its layers at the end."""
    name = f"e2e-{uuid.uuid4().hex[:8]}"
    cwd, env = tmp_path_factory.mktemp("built"), login(neo4j_server)
    made = spawn("graph", "build", "--data", games, "--graph", name, "--expand", "optimal", cwd=cwd, env=env)
    assert made.code == 0, made.err
    yield name
    dropped = spawn("graph", "drop", name, "--force", "--yes", cwd=cwd, env=env)
    assert dropped.code == 0, dropped.err


def evolved_layer(connection: Connection, base: str, parts: Iterable[Sequence[Rollout]], run: str) -> ReferenceGraph:
    """A layer that has learnt as a training run's does: the successes of each part of some rollouts are a version."""
    layer = ReferenceGraph.create(connection, f"evolved-{uuid.uuid4().hex[:8]}", base=base)
    for part in parts:
        layer.evolve(RolloutBatch(tuple(part)), ladder_of=ladder_of_rollout, run=run)
    return layer


@pytest.fixture
def graph(built: str, work: Path) -> str:
    """The graph of the games, to be read only; the environment names its server."""
    return built


@pytest.fixture
def layer(graph: str, graph_name: str, proas: Proas) -> str:
    """A layer of the test's own over the graph, to be written to."""
    assert proas("graph", "create", graph_name, "--base", graph).code == 0
    return graph_name


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """A headless Chromium, one for a module of tests; see ``tests.support.browser``."""
    with launched() as browser:
        yield browser
