"""``proas db`` on a server of its own: the whole life of it, and commands that start it by themselves."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.conftest import Proas, spawn

pytestmark = [pytest.mark.neo4j, pytest.mark.slow]


@pytest.mark.timeout(900)  # starts a server three times
def test_the_life_of_a_local_server(proas: Proas, no_server: Path, games: Path) -> None:
    assert proas("db", "status", "--json").document["state"] == "stopped"
    assert proas("db", "down", "--json").document == {"ended": False}
    try:
        # Nothing is named and nothing runs, so a command starts the server, and says so.
        built = proas("graph", "build", "--data", games, "--graph", "home", "--json")
        assert built.code == 0, built.err
        assert built.document["tasks"] == 12
        assert "starting one" in built.err
        assert "made the schema" in built.err

        up = proas("db", "up", "--json").document
        assert up["started"] is False
        secret = Path(up["password_file"])
        assert secret.stat().st_mode & 0o777 == 0o600
        assert up["uri"].startswith("bolt://127.0.0.1:")
        status = proas("db", "status", "--json")
        assert (status.code, status.document["state"], status.document["graphs"]) == (0, "running", "home")
        shown = proas("db", "status")
        password = secret.read_text(encoding="utf-8").strip()
        assert password not in shown.out + shown.err + str(up) + built.err

        # Another process finds the same server.
        listed = spawn("graph", "list", "--json", cwd=no_server)
        assert [graph["name"] for graph in listed.document["graphs"]] == ["home"]

        browser = proas("db", "browser", "--no-open", "--json").document
        assert browser["url"].startswith("http://127.0.0.1:")
        assert {name.rsplit(".")[-1] for name in browser["files"]} >= {"grass", "cypher"}
        assert proas("db", "validate").code == 0
        assert proas("db", "migrate", "--json").document["applied"] == []

        running = proas("db", "dump", "home.dump", "--json")
        assert running.code == 2
        assert "--restart" in running.error["hint"]
        assert proas("db", "dump", "home.dump", "--restart").code == 0
        assert proas("graph", "drop", "home", "--yes").code == 0
        assert proas("db", "down").code == 0
        twice = proas("db", "load", "home.dump", "--json")
        assert twice.code == 2
        assert "--overwrite" in twice.error["hint"]
        broken = no_server / "broken.dump"
        broken.write_bytes((no_server / "home.dump").read_bytes()[:500])
        assert proas("db", "load", broken, "--overwrite").code == 1
        assert proas("db", "load", "home.dump", "--overwrite", "--json").document["running"] is False
        stats = proas("graph", "stats", "--graph", "home", "--json").document
        assert stats["tasks"] == 12
        assert proas("graph", "verify", "--graph", "home").code == 0
    finally:
        ended = proas("db", "down", "--json")
    assert ended.document == {"ended": True}
    assert proas("db", "status", "--json").code == 1


def test_dump_and_load_are_for_the_local_server_alone(proas: Proas, work: Path) -> None:
    for command in ("dump", "load"):
        done = proas("db", command, "file.dump", "--json")
        assert done.code == 2
        assert "NEO4J_URI" in done.error["message"]


def test_a_login_without_a_server_makes_no_sense(proas: Proas, no_server: Path) -> None:
    done = proas("graph", "list", "--username", "alice", "--json")
    assert done.code == 2
    assert "--uri" in done.error["hint"]
