"""Drivers: one a process, none across a fork, none leaked; and what a user is told when there is no way in."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import time
import uuid
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from neo4j.exceptions import ClientError, Neo4jError
from pydantic import SecretStr

from proas.errors import GraphAuthError, GraphError, GraphNotFound, GraphUnavailable, GraphVersionError
from proas.graph.client import Client, Transaction, release_numbers
from proas.graph.drivers import driver_of, forget_driver
from proas.graph.store import ReferenceGraph, list_graphs
from proas.rollouts import RolloutBatch


def _in_child(graph: ReferenceGraph, batch: RolloutBatch) -> tuple[int, int, bool]:
    covered = graph.label(batch).rollouts[0].covered
    return os.getpid(), id(driver_of(graph.connection)), bool(covered)


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")  # Python 3.12 warns of what is tested
@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_workers_open_their_own_driver(method, graph, corridor):
    graph.add([corridor.graph("t1")])
    batch = RolloutBatch((corridor.win("w", "t1"),))
    graph.label(batch)
    mine = driver_of(graph.connection)
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context(method)) as pool:
        answers = [future.result(timeout=120) for future in [pool.submit(_in_child, graph, batch) for _ in range(4)]]
    assert all(covered for _, _, covered in answers)
    assert os.getpid() not in {pid for pid, _, _ in answers}
    assert driver_of(graph.connection) is mine
    assert graph.label(batch).rollouts[0].covered


def test_one_driver_a_process(connection):
    with ThreadPoolExecutor(8) as pool:
        assert len({id(driver) for driver in pool.map(lambda _: driver_of(connection), range(32))}) == 1


def test_a_pool_of_two_survives_two_hundred_failures(connection, graph, client):
    small = replace(connection, pool_size=2)
    tight = Client(small)

    def fail(tx: Transaction) -> None:
        tx.rows("page_tasks", graph=graph.name)  # its other parameters are missing

    began = time.monotonic()
    for _ in range(200):
        with pytest.raises(GraphError):
            tight.read(fail)
    assert tight.rows("list_graphs", graph=graph.name)
    assert time.monotonic() - began < 60
    forget_driver(small)


def test_a_wrong_password_is_tried_once(connection, monkeypatch):
    wrong = replace(connection, password=SecretStr("not-the-password"))
    attempts = []
    in_session = Client._in_session
    monkeypatch.setattr(Client, "_in_session", lambda *a: attempts.append(1) or in_session(*a))
    with pytest.raises(GraphAuthError, match="refused the password") as caught:
        list_graphs(wrong)
    assert len(attempts) == 1
    assert "not-the-password" not in str(caught.value)
    assert pickle.loads(pickle.dumps(caught.value)).hint == caught.value.hint
    forget_driver(wrong)


def test_a_server_that_is_down_is_named(connection):
    nobody = replace(connection, uri="bolt://127.0.0.1:9", connect_deadline=0.3)
    with pytest.raises(GraphUnavailable, match=r"bolt://127\.0\.0\.1:9"):
        list_graphs(nobody)
    routed = replace(nobody, uri="neo4j://127.0.0.1:9")
    with pytest.raises(GraphUnavailable, match=r"write bolt://127\.0\.0\.1:9"):
        list_graphs(routed)
    for one in (nobody, routed):
        forget_driver(one)


def test_a_server_without_encryption_is_told_from_one_that_is_down(connection):
    secure = replace(connection, uri=connection.uri.replace("bolt", "bolt+s", 1), connect_deadline=0.3)
    with pytest.raises(GraphUnavailable, match="no encrypted connection") as caught:
        list_graphs(secure)
    assert connection.uri in (caught.value.hint or "")
    forget_driver(secure)


def test_an_unknown_database(connection):
    other = replace(connection, database="nosuchdatabase")
    with pytest.raises(GraphNotFound, match="nosuchdatabase"):
        list_graphs(other)
    forget_driver(other)


@pytest.mark.parametrize(
    "code", ["Neo.ClientError.Statement.EntityNotFound", "Neo.TransientError.Transaction.DeadlockDetected"]
)
def test_a_passing_fault_is_repeated(code, graph, corridor, monkeypatch):
    attempt = Client._attempt
    failed = []

    def sometimes(self, driver, access, work):
        if access == "WRITE" and len(failed) < 2:
            failed.append(code)
            raise Neo4jError._hydrate_neo4j(code=code, message="in the way")
        return attempt(self, driver, access, work)

    monkeypatch.setattr(Client, "_attempt", sometimes)
    assert graph.evolve(RolloutBatch((corridor.win("w", "t1"),))).successes == 1
    assert len(failed) == 2
    assert isinstance(Neo4jError._hydrate_neo4j(code=code, message=""), Neo4jError)


def test_a_lasting_fault_is_not_repeated_for_ever(graph, corridor, monkeypatch):
    calls = []

    def never(self, driver, access, work):
        calls.append(1)
        raise ClientError._hydrate_neo4j(code="Neo.ClientError.Statement.EntityNotFound", message="in the way")

    monkeypatch.setattr(Client, "_attempt", never)
    with pytest.raises(GraphError, match="in the way"):
        graph.stats()
    assert 2 < len(calls) < 20


def test_the_server_is_told_who_calls(connection, ask):
    list_graphs(connection)
    found = ask("CALL dbms.listConnections() YIELD userAgent RETURN collect(DISTINCT userAgent) AS agents")
    assert any(agent.startswith("proas/") for agent in found[0]["agents"])


def test_a_server_that_is_too_old_is_refused(connection, monkeypatch):
    monkeypatch.setattr("proas.graph.client.OLDEST_SERVER", (9999, 1))
    stranger = replace(connection, pool_size=3)  # not yet greeted by this process
    with pytest.raises(GraphVersionError, match=r"needs 9999\.1 or later"):
        list_graphs(stranger)
    forget_driver(stranger)


@pytest.mark.parametrize(
    ("release", "numbers"),
    [
        ("5.26.30", (5, 26)),
        ("5.27-aura", (5, 27)),
        ("2026.08.1", (2026, 8)),
        ("5", (5, 0)),
        ("", (0, 0)),
        ("x.y", (0, 0)),
    ],
)
def test_releases_are_read(release, numbers):
    assert release_numbers(release) == numbers


def test_the_release_of_the_server(client):
    assert release_numbers(client.server_version()) >= (5, 23)


@given(
    texts=st.lists(
        st.text(min_size=1, max_size=30).filter(lambda text: text.replace("\n", " ").isprintable()),
        min_size=1,
        max_size=4,
        unique=True,
    )
)
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_text_is_only_a_text(texts, connection, corridor):
    """Names of tasks and ids of rollouts with quotes, back-ticks or Cypher in them come back as they were."""
    graph = ReferenceGraph.create(connection, f"texts-{uuid.uuid4().hex[:8]}")
    try:
        wins = tuple(corridor.win(f"id {text}", f"`{text}'\"\\", 5) for text in texts)
        assert graph.evolve(RolloutBatch(wins), run=f"run {texts[0]}".replace("\n", " ")).successes == len(texts)
        assert {task.key for task in graph.tasks()} == {win.task for win in wins}
        assert all(rollout.covered for rollout in graph.label(RolloutBatch(wins)))
        assert graph.verify().ok
    finally:
        graph.drop()
