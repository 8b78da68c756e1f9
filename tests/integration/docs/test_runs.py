"""The programs behind the pages' figures and tables, on the real server."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from proas.envs.alfworld.generator import generate
from proas.graph.connect import Connection
from proas.graph.store import list_graphs
from proas.localdb import ServerInfo

DOCS = Path(__file__).resolve().parents[3] / "docs"

Answer = subprocess.CompletedProcess[str]


@pytest.fixture
def environment(neo4j_server: ServerInfo, connection: Connection) -> dict[str, str]:
    """An environment that names the tests' server, which is migrated."""
    return {
        **os.environ,
        "NEO4J_URI": neo4j_server.uri,
        "NEO4J_USERNAME": neo4j_server.username,
        "NEO4J_PASSWORD": neo4j_server.password.get_secret_value(),
        "NEO4J_DATABASE": neo4j_server.database,
    }


def program(environment: dict[str, str], *words: object) -> Answer:
    name, *rest = map(str, words)
    call = [sys.executable, "-W", "error", str(DOCS / name), *rest]
    return subprocess.run(call, env=environment, capture_output=True, text=True, timeout=240, check=False)


def rows(text: str) -> list[list[str]]:
    """The cells of the first table, without its head."""
    lines = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("|")]
    return lines[2:]


def test_a_new_path_is_purified_and_merged(environment: dict[str, str], tmp_path: Path, connection: Connection) -> None:
    for trial in generate(6, seed=2):
        trial.write(tmp_path)
    done = program(environment, "cases.py", "path", "--data", tmp_path, "--tasks", 6)
    assert done.returncode == 0, done.stderr
    found = rows(done.stdout)
    assert {row[3] for row in found} <= {"kept", "loop", "self-loop", "invalid", "falls back"}
    assert any(row[3] == "kept" and row[2] == "not in graph" for row in found), "nothing new was merged"
    for _, _, before, fate, after in found:
        assert fate != "kept" or after in {"progress", "seen before"}
        assert before == "not in graph" or after != "not in graph", "what was known is known still"
        assert fate not in {"invalid", "self-loop"} or after == "not in graph"
    assert "docs-cases" not in [info.name for info in list_graphs(connection)]


def test_both_orders_are_progress_and_meet_again(environment: dict[str, str]) -> None:
    done = program(environment, "cases.py", "orders")
    assert done.returncode == 0, done.stderr
    found = rows(done.stdout)
    assert {cell for row in found for cell in (row[4], row[8])} == {"progress"}
    assert [row[3] == row[7] for row in found] == [True, True, False, True, True]
    assert {found[2][1], found[3][1]} == {found[2][5], found[3][5]}


@pytest.mark.slow
def test_the_same_seed_draws_the_same_figure(environment: dict[str, str], tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="the extra viz is not installed")
    drawn = []
    for folder in (tmp_path / "one", tmp_path / "two"):
        done = program(environment, "figures.py", "ladder", "--out", folder)
        assert done.returncode == 0, done.stderr
        drawn.append((folder / "ladder.svg").read_bytes())
    assert drawn[0] == drawn[1]
    assert b"<svg" in drawn[0]


def test_a_figure_of_runs_needs_runs(environment: dict[str, str], tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="the extra viz is not installed")
    done = program(environment, "figures.py", "masked", "--out", tmp_path)
    assert done.returncode == 2
    assert "needs the folder of a run" in done.stderr
