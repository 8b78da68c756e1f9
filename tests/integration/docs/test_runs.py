"""The programs behind the pages' figures and tables, on the real server."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import uuid
from pathlib import Path

import pytest

from proas.envs.alfworld.generator import generate
from proas.graph.connect import Connection
from proas.graph.store import ReferenceGraph, list_graphs
from proas.graph_builders import build_graph, builder
from proas.localdb import ServerInfo
from proas.rollout_files import load_rollouts, write_rollouts
from proas.states import ladder_of_rollout

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


@pytest.fixture
def run(environment: dict[str, str], connection: Connection, tmp_path: Path) -> Path:
    """Folder of a run of one iteration that kept its labelled rollouts."""
    for trial in generate(3, seed=3):
        trial.write(tmp_path / "games")
    name = f"figures-{uuid.uuid4().hex[:8]}"
    graph = ReferenceGraph.create(connection, name)
    try:
        build_graph("alfworld", builder("alfworld"), graph, data=tmp_path / "games")
        call = [sys.executable, "-m", "proas.cli", "rollout", "--data", str(tmp_path / "games"), "--group-size", "8"]
        file = tmp_path / "rollouts.jsonl"
        subprocess.run([*call, "--seed", "1", "--out", str(file)], env=environment, check=True, capture_output=True)
        batch = load_rollouts(file)
        folder = tmp_path / "run"
        (folder / "rollouts").mkdir(parents=True)
        write_rollouts(folder / "rollouts" / "00001.jsonl", graph.label(batch))
        report = graph.evolve(batch, ladder_of=ladder_of_rollout)
    finally:
        graph.drop(force=True)
    grown = {"added_states": float(report.added_states), "added_transitions": float(report.added_transitions)}
    row = {"iteration": 1.0, "proas/mask_rate": 0.5, **{f"proas/graph/{key}": value for key, value in grown.items()}}
    (folder / "config.json").write_text(json.dumps({"arm": "recommended", "graph": name}), encoding="utf-8")
    (folder / "metrics.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
    return folder


def test_the_same_run_draws_the_same_figures_and_one_that_learnt_nothing_none(
    environment: dict[str, str], run: Path, tmp_path: Path
) -> None:
    pytest.importorskip("matplotlib", reason="the extra viz is not installed")
    sources = {"ladder": run / "rollouts" / "00001.jsonl", "growth": run, "masked": run}
    for name, source in sources.items():
        drawn = []
        for folder in (tmp_path / "one", tmp_path / "two"):
            done = program(environment, "figures.py", name, source, "--out", folder)
            assert done.returncode == 0, done.stderr
            drawn.append((folder / f"{name}.svg").read_bytes())
        assert drawn[0] == drawn[1]
        assert b"<svg" in drawn[0]

    # None is drawn of nothing.
    done = program(environment, "figures.py", "masked", "--out", tmp_path)
    assert done.returncode == 2
    assert "RUN" in done.stderr
    (run / "metrics.jsonl").write_text('{"iteration": 1.0}\n', encoding="utf-8")
    done = program(environment, "figures.py", "growth", run, "--out", tmp_path)
    assert done.returncode == 1
    assert "learnt nothing" in done.stderr
