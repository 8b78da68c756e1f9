"""The doctor in verl's environment: green as it is, and right about what is broken on purpose."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from proas.graph.connect import Connection
from proas.graph.store import ReferenceGraph
from proas.graph_builders import build_graph, builder
from proas.integrations.verl.probe import LOOPS, TRAINERS


def doctor(connection: Connection, games: Path, graph: str, **environ: str) -> tuple[int, dict[str, Any]]:
    """Run the program as a user does."""
    words = ["doctor", "--graph", graph, "--data", str(games), "--json"]
    env = {
        **os.environ,
        "NEO4J_URI": connection.uri,
        "NEO4J_USERNAME": connection.username,
        "NEO4J_PASSWORD": connection.password.get_secret_value(),
        "NEO4J_DATABASE": connection.database,
        **environ,
    }
    done = subprocess.run(
        [sys.executable, "-m", "proas.cli", *words], env=env, capture_output=True, text=True, timeout=240, check=False
    )
    assert done.stdout, done.stderr
    document = json.loads(done.stdout)
    return done.returncode, {check["name"]: check for check in document["checks"]}


@pytest.fixture
def filled(graph: ReferenceGraph, games: Path) -> ReferenceGraph:
    build_graph("alfworld", builder("alfworld"), graph, data=games)
    return graph


def test_green(filled: ReferenceGraph, connection: Connection, games: Path) -> None:
    code, checks = doctor(connection, games, filled.name)
    assert code == 0, checks
    assert checks["verl"]["found"] == "0.9.1"
    assert all(name in checks["plug-in"]["found"] for name in (*TRAINERS, *LOOPS))
    assert {check["ok"] for check in checks.values()} <= {True, None}


def test_a_plug_in_that_is_kept_out(filled: ReferenceGraph, connection: Connection, games: Path) -> None:
    code, checks = doctor(connection, games, filled.name, VERL_USE_EXTERNAL_PLUGINS="none")
    assert code == 1
    assert [name for name, check in checks.items() if check["ok"] is False] == ["plug-in"]
    assert "VERL_USE_EXTERNAL_PLUGINS=none" in checks["plug-in"]["found"]


def test_a_plug_in_that_cannot_be_loaded(
    filled: ReferenceGraph, connection: Connection, games: Path, tmp_path: Path
) -> None:
    """verl passes over the reason; the doctor tells it."""
    (tmp_path / "transfer_queue.py").write_text("raise RuntimeError('this queue is out of order')\n", encoding="utf-8")
    code, checks = doctor(connection, games, filled.name, PYTHONPATH=str(tmp_path))
    assert code == 1
    assert "out of order" in checks["plug-in"]["found"]


def test_trl_beside_verl(filled: ReferenceGraph, connection: Connection, games: Path, tmp_path: Path) -> None:
    """verl's workers look for a class that TRL no longer has, and fail where TRL is there at all."""
    (tmp_path / "trl").mkdir()
    (tmp_path / "trl" / "__init__.py").touch()
    code, checks = doctor(connection, games, filled.name, PYTHONPATH=str(tmp_path))
    assert code == 1
    assert [name for name, check in checks.items() if check["ok"] is False] == ["plug-in"]
    assert "pip uninstall trl" in checks["plug-in"]["found"]


def test_wrong_releases(connection: Connection, games: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from proas.envs import EnvSpec
    from proas.integrations import health

    def look() -> dict[str, health.Finding]:
        wanted = health.Wanted(("verl",), lambda: connection, None, EnvSpec("alfworld", games))
        return {finding.name: finding for finding in health.examine(wanted)}

    for name, version in (("verl", "0.8.0"), ("TransferQueue", "0.1.9")):
        older = tmp_path / f"{name}-{version}.dist-info"
        older.mkdir()
        (older / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    found = look()
    assert (found["verl"].ok, found["verl"].found) == (False, "0.8.0")
    assert "verl==0.9.1" in found["verl"].advice
    assert found["verl's companions"].ok is False
    assert "TransferQueue 0.1.9, not 0.1.11" in found["verl's companions"].found
    monkeypatch.setattr(health, "_COMPANIONS", {**health._COMPANIONS, "a-package-to-come": ""})
    assert look()["verl's companions"].found == "not installed: a-package-to-come"
