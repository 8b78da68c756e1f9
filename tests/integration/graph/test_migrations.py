"""Migrations on servers of their own: from nothing, in parallel, and when the files and the records disagree."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor

import pytest

from proas.errors import GraphConflict, GraphVersionError
from proas.graph.client import Client
from proas.graph.connect import Connection
from proas.graph.drivers import driver_of, forget_driver
from proas.graph.migrations import (
    REQUIRED_CONSTRAINTS,
    MigrationInfo,
    migrate,
    migration_info,
    shipped_migrations,
    validate,
)
from proas.graph.store import ReferenceGraph
from proas.localdb import LocalServer

pytestmark = [pytest.mark.neo4j, pytest.mark.slow]


@pytest.fixture(scope="module")
def empty_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Connection]:
    """A server that nobody has migrated."""
    server = LocalServer(tmp_path_factory.mktemp("empty"), heap="512m", page_cache="64m", tied=True)
    try:
        info = server.up()
        settings = Connection(info.uri, info.password, info.username, info.database, notifications="warn")
        yield settings
        forget_driver(settings)
    finally:
        server.remove()


@pytest.fixture
def bare(empty_server: Connection) -> Connection:
    """The same server without schema and records."""
    for kind, names in (("CONSTRAINT", "SHOW CONSTRAINTS YIELD name"), ("INDEX", "SHOW INDEXES YIELD name, type")):
        for row in _run(empty_server, names):
            if row.get("type") != "LOOKUP":
                _run(empty_server, f"DROP {kind} {row['name']} IF EXISTS")
    _run(empty_server, "MATCH (n) DETACH DELETE n")
    return empty_server


def _run(connection: Connection, text: str) -> list[dict[str, object]]:
    found = driver_of(connection).execute_query(text, database_=connection.database)  # type: ignore[arg-type]
    return [dict(record) for record in found.records]


def _migrate(connection: Connection) -> tuple[MigrationInfo, ...]:
    return migrate(connection)


def _chain(connection: Connection) -> list[dict[str, object]]:
    columns = "m.version AS version, COUNT { (m)-[:MIGRATED_TO]->() } AS next"
    return _run(connection, f"MATCH (m:__ProASMigration) RETURN {columns} ORDER BY version")


def test_nothing_is_written_without_the_constraints(bare, corridor):
    assert [info.state for info in migration_info(bare)] == ["pending"] * len(shipped_migrations())
    with pytest.raises(GraphVersionError, match="proas db migrate"):
        ReferenceGraph.create(bare, "g")
    with pytest.raises(GraphVersionError, match="V0001"):
        validate(bare)
    assert _run(bare, "MATCH (n) RETURN count(n) AS n") == [{"n": 0}]


def test_migrating_makes_every_constraint_and_records_it(bare):
    infos = migrate(bare)
    assert [info.state for info in infos] == ["applied"] * len(shipped_migrations())
    assert all(info.at and info.by for info in infos)
    assert {row["name"] for row in _run(bare, "SHOW CONSTRAINTS YIELD name")} >= REQUIRED_CONSTRAINTS
    assert validate(bare) == infos
    assert migrate(bare) == infos
    last = len(infos)
    assert _chain(bare) == [{"version": k, "next": int(k < last)} for k in range(1, last + 1)]


def test_eight_at_once_make_one_schema(bare):
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(8, mp_context=context) as pool:
        results = [future.result(timeout=240) for future in [pool.submit(_migrate, bare) for _ in range(8)]]
    assert all(info.state == "applied" for infos in results for info in infos)
    assert len(_chain(bare)) == len(shipped_migrations())
    assert validate(bare)


def test_a_cut_between_schema_and_record_is_mended(bare):
    client = Client(bare)
    client.schema(shipped_migrations()[0].statements)
    assert migration_info(bare)[0].state == "pending"
    assert [info.state for info in migrate(bare)] == ["applied"] * len(shipped_migrations())


def test_a_changed_file_is_noticed(bare):
    migrate(bare)
    _run(bare, "MATCH (m:__ProASMigration {version: 1}) SET m.checksum = 'another'")
    assert migration_info(bare)[0].state == "changed"
    for check in (migrate, validate):
        with pytest.raises(GraphConflict, match="V0001"):
            check(bare)


def test_a_later_release_is_noticed(bare):
    migrate(bare)
    _run(
        bare,
        "CREATE (:__ProASMigration {version: 99, description: 'later', source: 'V0099__later.cypher', checksum: 'x', "
        "at: datetime(), by: '9.9'})",
    )
    assert migration_info(bare)[-1].state == "unknown"
    for check in (migrate, validate):
        with pytest.raises(GraphVersionError, match=r"9\.9"):
            check(bare)


def test_a_missing_constraint_is_noticed(bare, corridor):
    migrate(bare)
    graph = ReferenceGraph.create(bare, "g")
    _run(bare, "DROP CONSTRAINT arg_state_key_unique")
    for write in (lambda: validate(bare), lambda: graph.add([corridor.graph("t1")])):
        with pytest.raises(GraphVersionError, match="arg_state_key_unique"):
            write()
    [violation] = graph.verify().violations
    assert (violation.rule, violation.samples) == ("constraint", ("arg_state_key_unique",))


def test_migrating_again_mends_what_somebody_dropped(bare, corridor):
    """The fault says to migrate, so that has to help."""
    infos = migrate(bare)
    _run(bare, "DROP CONSTRAINT arg_transition_key_unique")
    assert migrate(bare) == infos
    assert validate(bare) == infos
    assert ReferenceGraph.create(bare, "g").add([corridor.graph("t1")]).added_tasks == 1
