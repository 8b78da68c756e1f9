from __future__ import annotations

import time
from pathlib import Path

import psutil
import pytest
from neo4j import GraphDatabase

from proas.errors import DataError, LocalServerError, UsageError
from proas.localdb import LocalServer, Progress, ServerInfo, archive
from proas.localdb.admin import AdminTool
from proas.localdb.process import alive

from .conftest import SMALL

# Each test starts servers, which takes a minute apiece on a machine that is busy with other work.
pytestmark = pytest.mark.timeout(900)


def query(info: ServerInfo, text: str, **parameters):
    auth = (info.username, info.password.get_secret_value())
    with GraphDatabase.driver(info.uri, auth=auth) as driver:
        return driver.execute_query(text, parameters, database_=info.database).records


def count(info: ServerInfo) -> int:
    return query(info, "MATCH (n:Kept) RETURN count(n) AS n")[0]["n"]


def test_round_trip_to_another_server(server, up, tmp_path):
    query(up, "MATCH (n) DETACH DELETE n")
    query(up, "UNWIND range(1, 1000) AS i CREATE (:Kept {i: i})-[:NEXT {text: 'é ' + i}]->(:Kept {i: -i})")
    query(up, "CREATE CONSTRAINT kept_unique IF NOT EXISTS FOR (n:Kept) REQUIRE n.i IS UNIQUE")
    with pytest.raises(UsageError, match="runs, and its database can be dumped only while it does not"):
        server.dump(tmp_path / "graph.dump")
    stages: list[Progress] = []
    written = server.dump(tmp_path / "graph.dump", restart=True, progress=stages.append)
    assert written == tmp_path / "graph.dump"
    assert "Dumping the database" in {stage.stage for stage in stages}
    assert count(server.info) == 2000  # it runs again
    assert [path.name for path in tmp_path.iterdir()] == ["graph.dump"]

    other = LocalServer(tmp_path / "other", **SMALL, tied=True)
    try:
        other.load(written)
        assert other.status().state == "stopped"
        info = other.up()
        assert info.password != up.password
        total = "MATCH (a:Kept)-[r:NEXT]->(b:Kept) RETURN count(*) AS n, sum(a.i + b.i) AS zero, min(r.text) AS text"
        assert query(info, total)[0].data() == {"n": 1000, "zero": 0, "text": "é 1"}
        assert query(info, "SHOW CONSTRAINTS YIELD name")[0]["name"] == "kept_unique"
        assert (server.info.uri, server.info.http_url) != (info.uri, info.http_url)
        assert other.remove()
        assert not other.home.exists()
        assert not psutil.pid_exists(info.pid)
        assert not other.remove()
    finally:
        other.remove()


def test_names_and_overwriting(server, tmp_path):
    server.up()
    server.down()
    written = server.dump(tmp_path)
    assert written == tmp_path / "neo4j.dump"
    with pytest.raises(UsageError, match=r"neo4j\.dump exists already"):
        server.dump(tmp_path)
    written.write_bytes(b"")
    assert server.dump(tmp_path, overwrite=True).stat().st_size > 1000
    with pytest.raises(UsageError, match="there is no folder"):
        server.dump(tmp_path / "absent" / "graph.dump")
    with pytest.raises(UsageError, match=r"there is a database in .* already"):
        server.load(written)


def test_dump_after_a_kill_recovers_first(server, tmp_path):
    info = server.up()
    query(info, "MATCH (n) DETACH DELETE n")
    query(info, "UNWIND range(1, 10) AS i CREATE (:Kept {i: i})")
    process = psutil.Process(info.pid)
    process.kill()
    while alive(process):
        time.sleep(0.05)
    server.dump(tmp_path / "killed.dump")
    server.load(tmp_path / "killed.dump", overwrite=True)
    assert count(server.up()) == 10


def test_load_that_fails_keeps_what_was_there(server, tmp_path, monkeypatch):
    info = server.up()
    query(info, "MATCH (n) DETACH DELETE n")
    query(info, "CREATE (:Kept {i: 1})")
    server.down()
    whole = server.dump(tmp_path / "whole.dump")

    (tmp_path / "junk.dump").write_bytes(b"junk" * 1000)
    with pytest.raises(DataError, match=r"junk\.dump is no Neo4j dump"):
        server.load(tmp_path / "junk.dump", overwrite=True)
    with pytest.raises(DataError, match="cannot read"):
        server.load(tmp_path / "absent.dump", overwrite=True)

    # Cut where the head is whole, so that the fault shows only while loading.
    cut = tmp_path / "cut.dump"
    cut.write_bytes(whole.read_bytes()[:-2000])
    with pytest.raises(LocalServerError, match=r"cut\.dump .*the database from before is kept"):
        server.load(cut, overwrite=True)

    # The loading process dies: the next start puts back what was there.
    def killed(self, source):
        raise SystemExit

    monkeypatch.setattr(AdminTool, "load", killed)
    monkeypatch.setattr(archive, "recover", lambda home: None)
    with pytest.raises(SystemExit):
        server.load(whole, overwrite=True)
    assert not archive.has_database(server._home)
    monkeypatch.undo()
    assert count(server.up()) == 1
    assert not (Path(server.home) / "data" / "before-load").exists()


def test_nothing_to_dump(tmp_path):
    with pytest.raises(UsageError, match="there is no database in"):
        LocalServer(tmp_path / "none").dump(tmp_path)
    assert list(tmp_path.iterdir()) == []
