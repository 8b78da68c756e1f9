"""A server of the test's own, with little memory for transactions, that may be killed at any moment."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import psutil
import pytest
from pydantic import SecretStr

from proas.errors import GraphAuthError, GraphCapacityError, GraphUnavailable
from proas.graph.client import Client
from proas.graph.connect import Connection
from proas.graph.drivers import forget_driver
from proas.graph.exchange import export_graph, import_graph
from proas.graph.migrations import migrate
from proas.graph.records import Task, TaskGraph
from proas.graph.reports import LabelReport
from proas.graph.store import ReferenceGraph, list_graphs
from proas.localdb import LocalServer
from proas.rollouts import RolloutBatch, State
from tests.support.bolt_proxy import BoltProxy

pytestmark = [pytest.mark.neo4j, pytest.mark.slow]

# The least with which this server starts and answers; the defaults are hundreds of times as much.
TIGHT = {"db.memory.transaction.max": "4m", "dbms.memory.transaction.total.max": "10m"}
SETTING = r"db\.memory\.transaction\.max"


@contextmanager
def unused_port() -> Iterator[int]:
    """A port at which nobody listens as long as it is held."""
    with closing(socket.socket()) as holder:
        holder.bind(("127.0.0.1", 0))
        yield holder.getsockname()[1]


@dataclass
class Small:
    """The server and how to reach it; the address stays the same over restarts."""

    server: LocalServer
    connection: Connection

    def kill(self) -> None:
        """End the process as the system does when memory runs out: at once."""
        process = psutil.Process(self.server.info.pid)
        process.kill()
        deadline = time.monotonic() + 60
        while process.is_running() and process.status() != psutil.STATUS_ZOMBIE:
            assert time.monotonic() < deadline
            time.sleep(0.02)

    def start(self) -> None:
        assert self.server.up().uri == self.connection.uri


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Small]:
    with unused_port() as free:
        port = free
    home = tmp_path_factory.mktemp("small")
    server = LocalServer(home, bolt_port=port, heap="512m", page_cache="64m", settings=TIGHT, tied=True)
    try:
        info = server.up()
        connection = Connection(info.uri, info.password, info.username, info.database, notifications="warn")
        migrate(connection)
        yield Small(server, connection)
        forget_driver(connection)
    finally:
        server.remove()


@pytest.fixture
def connection(small: Small) -> Connection:
    """Takes the place of the shared server's."""
    return small.connection


@pytest.fixture
def proxy(small: Small) -> Iterator[BoltProxy]:
    with BoltProxy(small.connection.uri) as made:
        yield made


@contextmanager
def known(connection: Connection) -> Iterator[Connection]:
    """A connection over which the server has answered; its driver is closed in the end."""
    try:
        list_graphs(connection)
        yield connection
    finally:
        forget_driver(connection)


def wins(corridor, number: int, prefix: str) -> RolloutBatch:
    return RolloutBatch(tuple(corridor.win(f"{prefix}{i}", f"{prefix}{i}") for i in range(number)))


def kept(graph: ReferenceGraph) -> tuple[int, int, int]:
    """What is stored: version, successes and states."""
    stats = graph.stats()
    return stats.version, stats.successes, stats.states


# Killed


def test_killed_in_the_middle_of_a_build_and_of_an_evolve(small, proxy, graph, corridor, graph_name):
    """One death, two victims: a build between two batches, and an evolve that has written all and not committed."""
    graphs = [corridor.graph(f"t{i}") for i in range(12)]
    grown = ReferenceGraph.create(small.connection, f"{graph_name[:80]}-grown")
    grown.add([corridor.graph("t1")])
    batch = RolloutBatch((corridor.win("a", "t1"), corridor.win("b", "new")))
    with (
        known(replace(small.connection, retry_deadline=0.5)) as direct,
        known(replace(direct, uri=proxy.uri())) as through,
        known(replace(small.connection, retry_deadline=200.0)) as patient,
    ):

        def until_the_server_dies() -> Iterator[TaskGraph]:
            for number, one in enumerate(graphs):
                if number == 7:
                    proxy.lose("before", then=small.kill)
                    with pytest.raises(GraphUnavailable, match=proxy.uri()):
                        ReferenceGraph(through, grown.name).evolve(batch)
                yield one

        with pytest.raises(GraphUnavailable, match=direct.uri) as caught:
            ReferenceGraph(direct, graph.name).add(until_the_server_dies(), batch_rows=140)
        assert "is it running?" in str(caught.value)
        assert proxy.lost == 1

        with ThreadPoolExecutor(1) as pool:  # whoever has the patience waits for the server to come back
            waiting = pool.submit(ReferenceGraph(patient, grown.name).evolve, batch)
            small.start()
            report = waiting.result(timeout=200)
    assert (report.version_before, report.version, report.successes, report.known) == (0, 1, 2, 0)
    assert kept(grown) == (1, 2, 30 + 16)
    assert grown.verify().ok

    built = graph.stats()
    assert (built.tasks, built.states, built.transitions) == (6, 6 * 30, 6 * 29)  # the batches before, whole
    rerun = graph.add(graphs)
    assert (rerun.skipped, rerun.added_tasks, graph.stats().transitions) == (6, 6, 12 * 29)
    assert graph.verify().ok


# Out of memory


@pytest.fixture
def refused(monkeypatch: pytest.MonkeyPatch) -> list[GraphCapacityError]:
    """The transactions that the server had no memory for."""
    found: list[GraphCapacityError] = []
    repeat = Client._repeat

    def watched(self, attempt):
        try:
            return repeat(self, attempt)
        except GraphCapacityError as error:
            found.append(error)
            raise

    monkeypatch.setattr(Client, "_repeat", watched)
    return found


def test_a_build_takes_smaller_batches(graph, corridor, refused):
    report = graph.add([corridor.graph(f"t{i}") for i in range(16)], batch_rows=10_000)
    assert refused
    assert (report.added_tasks, report.added_states, report.added_transitions) == (16, 480, 464)
    assert (report.skipped, report.rejected) == (0, ())
    corridor.length = 600
    refused.clear()
    report = graph.add([corridor.graph("long")])
    assert refused
    assert (report.added_tasks, report.added_states, report.added_transitions) == (1, 600, 599)
    assert graph.verify().ok


def test_a_build_of_what_cannot_be_stored_names_the_setting(graph, corridor):
    huge = State.of(corridor.env, "huge", ["at place 0", *(f"fact {i} " + "x" * 9_900 for i in range(1200))])
    with pytest.raises(GraphCapacityError, match=SETTING):
        graph.add([TaskGraph(Task("huge", corridor.env, "g", "g"), corridor.ladder(), huge, {huge.key: huge}, ())])
    graph.add([corridor.graph("t1")])
    assert (graph.stats().tasks, graph.stats().states) == (1, 30)


def test_an_evolve_that_is_too_big_says_so_and_stores_nothing(graph, corridor):
    graph.add([corridor.graph("t1")])
    batch = wins(corridor, 32, "w")
    with pytest.raises(GraphCapacityError, match=SETTING) as caught:
        graph.evolve(batch)
    assert "send less at once" in str(caught.value)
    assert kept(graph) == (0, 0, 30)
    halves = RolloutBatch(batch.rollouts[:16]), RolloutBatch(batch.rollouts[16:])
    assert [graph.evolve(half).successes for half in halves] == [16, 16]
    assert kept(graph) == (2, 32, 30 + 32 * 16)


def test_a_promotion_that_is_too_big_says_so_and_stores_nothing(graph, corridor, connection):
    graph.add([corridor.graph("t1")])
    layer = ReferenceGraph.create(connection, f"{graph.name[:90]}-run", base=graph.name)
    for i in range(3):
        layer.evolve(wins(corridor, 16, f"w{i}-"))
    with pytest.raises(GraphCapacityError, match=SETTING):
        layer.promote()
    assert kept(graph) == (0, 0, 30)
    assert layer.stats().successes == 48


@pytest.mark.parametrize("tasks", [1, 4])
def test_labels_of_a_big_batch_take_more_round_trips(tasks, graph, corridor, refused):
    graph.add([corridor.graph(f"t{i}") for i in range(tasks)])
    places = {f"r{n}": [place % 30 for place in range(n, 401 + n)] for n in range(64)}
    walks = [corridor.rollout(name, f"t{n % tasks}", walk) for n, (name, walk) in enumerate(places.items())]
    labelled = graph.label(RolloutBatch(tuple(walks)))
    assert refused
    assert (LabelReport.of(labelled).covered, LabelReport.of(labelled).version) == (64, 0)
    for rollout in labelled:
        walk = places[rollout.id]
        ahead = [there == here + 1 for here, there in pairwise(walk)]
        assert [step.label.reasonable for step in rollout.steps] == ahead


def test_an_import_and_a_drop_take_smaller_batches(refused, graph, corridor, connection, tmp_path):
    graph.add([corridor.graph(f"t{i}") for i in range(16)])
    graph.evolve(wins(corridor, 5, "w"))
    refused.clear()
    export_graph(graph, tmp_path / "graph.jsonl")
    copy = f"{graph.name[:90]}-copy"
    import_graph(connection, tmp_path / "graph.jsonl", copy)
    assert replace(ReferenceGraph(connection, copy).stats(), graph="", versions=()) == replace(
        graph.stats(), graph="", versions=()
    )
    assert refused
    assert ReferenceGraph(connection, copy).verify().ok
    refused.clear()
    ReferenceGraph(connection, copy).drop()
    assert refused
    assert not ReferenceGraph(connection, copy).exists()


# Addresses and passwords


def test_a_routed_address_works_where_the_server_takes_over_the_client_s(proxy, connection):
    with known(replace(connection, uri=proxy.uri("neo4j"))):
        assert proxy.logins >= 1


def test_a_routed_address_of_a_mapped_port_is_told_of_bolt(proxy, connection):
    """The server announces an address that does not lead to it from here; `bolt` does not ask for one."""
    with unused_port() as elsewhere:
        proxy.announce(elsewhere)
        routed = replace(connection, uri=proxy.uri("neo4j"), connect_deadline=0.5)
        with pytest.raises(GraphUnavailable) as caught:
            list_graphs(routed)
        forget_driver(routed)
        assert proxy.uri("bolt") in caught.value.hint
        assert proxy.uri("neo4j") in caught.value.message
        with known(replace(connection, uri=proxy.uri("bolt"))) as advised:
            assert isinstance(list_graphs(advised), tuple)


@pytest.mark.parametrize("scheme", ["bolt", "neo4j"])
def test_a_wrong_password_reaches_the_server_once(scheme, proxy, connection):
    """As after a start on a volume that keeps the password of an earlier one."""
    wrong = replace(connection, uri=proxy.uri(scheme), password=SecretStr("not-the-password"))
    with pytest.raises(GraphAuthError, match="a data volume keeps the password of its first start"):
        list_graphs(wrong)
    forget_driver(wrong)
    assert proxy.logins == 1
    with known(replace(connection, uri=proxy.uri(scheme))):  # the account is not locked
        assert proxy.logins >= 2


# Half an answer


def test_half_an_answer_labels_nothing(proxy, graph, corridor, connection):
    graph.add([corridor.graph(f"t{i}") for i in range(8)])
    batch = RolloutBatch(tuple(corridor.win(f"w{i}", f"t{i}", 1) for i in range(8)))
    with known(replace(connection, uri=proxy.uri(), retry_deadline=0.3)) as through:
        there = ReferenceGraph(through, graph.name)
        whole = LabelReport.of(there.label(batch))
        assert (whole.covered, whole.steps, whole.passed_through) == (8, 8 * 29, False)
        proxy.shorten_answers(400)
        with pytest.raises(GraphUnavailable):
            there.label(batch)
        passed = there.label(batch, on_failure="passthrough")
        assert proxy.cut_answers >= 2
        assert [(r.covered, r.version, r.graph) for r in passed] == [(False, None, graph.name)] * 8
        assert all(step.label is None for r in passed for step in r.steps)
        assert LabelReport.of(passed).metrics()["proas/graph/passed_through"] == 1.0
        proxy.shorten_answers(None)
        assert LabelReport.of(there.label(batch)) == whole


@pytest.fixture(autouse=True)
def _nothing_left(small: Small, tmp_path: Path) -> Iterator[None]:
    """Graphs of a test that failed must not crowd the next one."""
    yield
    for info in list_graphs(small.connection):
        if not info.base:
            ReferenceGraph(small.connection, info.name).drop(force=True)
