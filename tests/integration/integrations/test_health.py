"""The doctor finds each thing that was broken on purpose, says what to do, and touches nothing."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import socket

import pytest
from pydantic import SecretStr

from proas.cli.app import main
from proas.envs import EnvSpec
from proas.envs.alfworld.data import sample_root
from proas.errors import GraphUnavailable
from proas.graph import Connection, migrations
from proas.graph.client import Client
from proas.graph_builders import build_graph, builder
from proas.integrations.health import PARTS, Wanted, examine

VERL = importlib.util.find_spec("verl") is not None


@pytest.fixture(scope="module")
def games():
    return sample_root()


@pytest.fixture
def filled(graph, games):
    build_graph("alfworld", builder("alfworld"), graph, data=games)
    return graph


def look(connection, *, parts=("graph", "data"), graph=None, data=None, env="alfworld"):
    def connect():
        if isinstance(connection, Exception):
            raise connection
        return connection

    found = examine(Wanted(tuple(parts), connect, graph, EnvSpec(env, data)))
    return {finding.name: finding for finding in found}


def test_all_is_well(filled, connection, games):
    found = look(connection, graph=filled.name, data=games)
    assert list(found) == ["database", "schema", "graph", "alfworld data", "coverage"]
    assert all(finding.ok and not finding.advice for finding in found.values())
    assert "tasks" in found["graph"].found


def test_no_server(games):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    away = Connection(f"bolt://127.0.0.1:{port}", SecretStr("x"), connect_deadline=0.2)
    found = look(away, data=games, graph="g")
    assert found["database"].ok is False
    assert str(port) in found["database"].found
    assert found["alfworld data"].ok, "one broken thing does not hide the others"


def test_no_address(games):
    found = look(GraphUnavailable("no server is named", hint="set NEO4J_URI"), data=games)
    assert (found["database"].ok, found["database"].advice) == (False, "set NEO4J_URI")


def test_a_wrong_password(connection, games):
    wrong = Connection(connection.uri, SecretStr("wrong"), username=f"nobody-{id(games)}", database=connection.database)
    found = look(wrong, data=games)
    assert found["database"].ok is False
    assert "wrong" not in found["database"].found.split("password")[-1] or "refused" in found["database"].found


def test_a_schema_that_is_not_this_release_s(connection, games, monkeypatch):
    shipped = migrations.shipped_migrations()
    newer = migrations.Migration.parse("V9999__things_to_come.cypher", "RETURN 1;")
    monkeypatch.setattr(migrations, "shipped_migrations", lambda: (*shipped, newer))
    found = look(connection, data=games, graph="g")
    assert list(found) == ["database", "schema", "alfworld data"]
    assert found["schema"].ok is False
    assert "V9999__things_to_come.cypher" in found["schema"].found
    assert "proas db migrate" in found["schema"].advice
    monkeypatch.setattr(migrations, "shipped_migrations", lambda: shipped[:-1])
    assert "does not know" in look(connection)["schema"].found
    monkeypatch.undo()
    monkeypatch.setattr(migrations, "REQUIRED_CONSTRAINTS", migrations.REQUIRED_CONSTRAINTS | {"arg_dropped_by_hand"})
    assert "arg_dropped_by_hand" in look(connection)["schema"].found


def test_a_graph_whose_drop_was_cut_off(graph, connection, games):
    Client(connection).write(lambda tx: tx.rows("begin_drop", graph=graph.name))
    found = look(connection, graph=graph.name, data=games)
    assert found["graph"].ok is False
    assert f"proas graph drop {graph.name}" in found["graph"].advice


def test_an_environment_that_nobody_knows(connection):
    found = look(connection, parts=("data",), env="almworld")
    assert found["almworld data"].ok is False
    assert "almworld" in found["almworld data"].found


def test_games_that_cannot_be_played(connection, games, tmp_path):
    shutil.copytree(games, tmp_path / "games")
    for problem in (tmp_path / "games").glob("**/initial_state.pddl"):
        problem.write_text("(nonsense", encoding="utf-8")
    found = look(connection, parts=("data",), data=tmp_path / "games")
    assert found["alfworld data"].ok is False
    assert "can be played" in found["alfworld data"].found


def test_devices_without_an_engine(connection, tmp_path, monkeypatch):
    seen = tmp_path / "nvidia-smi"
    seen.write_text("#!/bin/sh\necho 'NVIDIA H100, 81559 MiB'\n", encoding="utf-8")
    seen.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    found = look(connection, parts=("devices",))
    assert found["GPUs"].found == "1: NVIDIA H100, 81559 MiB"
    assert found["rollout engine"].ok is False
    assert "proas[vllm]" in found["rollout engine"].advice
    seen.write_text("#!/bin/sh\necho 'no driver'; exit 9\n", encoding="utf-8")
    assert look(connection, parts=("devices",))["GPUs"].found == "none seen"


def test_no_such_graph(connection, games):
    found = look(connection, graph="no-such-graph", data=games)
    assert found["graph"].ok is False
    assert "no-such-graph" in found["graph"].found


def test_a_graph_that_is_empty(graph, connection, games):
    found = look(connection, graph=graph.name, data=games)
    assert (found["graph"].ok, found["graph"].advice) == (False, "fill it: proas graph build")
    assert found["coverage"].ok is False


def test_a_graph_of_other_tasks(graph, connection, corridor, games):
    graph.add([corridor.graph("one")])
    found = look(connection, graph=graph.name, data=games)
    assert found["graph"].ok
    assert found["coverage"].ok is False
    assert "0 of" in found["coverage"].found


def test_no_data(connection, tmp_path):
    found = look(connection, parts=("data",), data=tmp_path / "nowhere")
    assert found["alfworld data"].ok is False
    assert "nowhere" in found["alfworld data"].found
    (tmp_path / "empty").mkdir()
    assert look(connection, parts=("data",), data=tmp_path / "empty")["alfworld data"].ok is False


def test_devices_are_only_told(connection):
    found = look(connection, parts=("devices",))
    assert found["GPUs"].ok is None


@pytest.mark.skipif(VERL, reason="verl is installed: tests/verl looks at it")
def test_verl_that_is_not_installed(connection):
    found = look(connection, parts=("verl",))
    assert found["verl"].ok is False
    assert "pip install 'proas[verl]'" in found["verl"].advice
    assert "plug-in" not in found


def test_on_the_command_line(filled, connection, games, monkeypatch, capsys):
    monkeypatch.setenv("NEO4J_URI", connection.uri)
    monkeypatch.setenv("NEO4J_USERNAME", connection.username)
    monkeypatch.setenv("NEO4J_PASSWORD", connection.password.get_secret_value())
    words = [
        "doctor",
        "--graph",
        filled.name,
        "--data",
        str(games),
        "--without",
        "verl",
        "--without",
        "devices",
        "--json",
    ]
    assert main(words) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["ok"]
    assert [check["ok"] for check in document["checks"]] == [True] * 5
    assert main(["doctor", "--graph", "nope", "--data", str(games), "--without", "verl"]) == 1
    said = capsys.readouterr().out
    assert "broken" in said
    assert "nope" in said


def test_the_parts_are_named_once():
    assert len(set(PARTS)) == len(PARTS) == 4
