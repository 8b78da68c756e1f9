"""A connection that breaks at the commit: the driver cannot know whether the server has stored the transaction.

The break is real: a proxy between the driver and the server cuts the socket when the COMMIT message passes, either
before the server gets it or after the server has answered it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import astuple, replace
from typing import Any

import pytest

from proas.errors import GraphUnavailable
from proas.graph.connect import Connection
from proas.graph.drivers import forget_driver
from proas.graph.exchange import export_graph, import_graph
from proas.graph.rows import StateRow, SubgoalRow, SuccessRow, TaskRow, TransitionRow, VersionRow
from proas.graph.store import ReferenceGraph
from proas.rollouts import RolloutBatch
from tests.support.bolt_proxy import BoltProxy

KINDS = (TaskRow, SubgoalRow, StateRow, TransitionRow, SuccessRow, VersionRow)
WHERE = pytest.mark.parametrize("where", ["before", "after"])


@pytest.fixture
def proxy(connection: Connection) -> Iterator[BoltProxy]:
    with BoltProxy(connection.uri) as made:
        yield made


@pytest.fixture
def through(connection: Connection, proxy: BoltProxy) -> Iterator[Connection]:
    """The same server by way of the proxy, with little patience."""
    made = replace(connection, uri=proxy.uri(), retry_deadline=8.0)
    ReferenceGraph(made, "greeting").exists()  # from here on it is a server that had answered
    yield made
    forget_driver(made)


@pytest.fixture
def twin(connection: Connection, graph: ReferenceGraph) -> Iterator[ReferenceGraph]:
    """Another graph, which gets the same calls without a fault."""
    made = ReferenceGraph.create(connection, f"{graph.name[:90]}-twin")
    yield made
    made.drop(force=True)


def content(graph: ReferenceGraph) -> list[list[tuple[Any, ...]]]:
    """All that is stored but the times at which it was."""
    return [[astuple(_without_time(row)) for row in graph.rows(kind)] for kind in KINDS]


def _without_time(row: Any) -> Any:
    return replace(row, at="") if isinstance(row, VersionRow) else row


def said(report: object) -> object:
    """A report without its time and names."""
    names = ("graph", "layer", "base")
    return replace(report, seconds=0.0, **{name: "" for name in names if hasattr(report, name)})  # type: ignore[type-var]


@WHERE
def test_evolve(where, proxy, through, graph, twin, corridor):
    batch = RolloutBatch((corridor.win("a", "t1"), corridor.win("b", "t1", 3), corridor.win("c", "t2")))
    proxy.lose(where)
    report = ReferenceGraph(through, graph.name).evolve(batch)
    assert (proxy.lost, proxy.commits) == (1, 2)
    assert said(report) == said(twin.evolve(batch))
    assert content(graph) == content(twin)
    again = graph.evolve(batch)
    assert (again.successes, again.known, again.version) == (0, 3, 1)
    assert graph.verify().ok


@WHERE
def test_add(where, proxy, through, graph, twin, corridor):
    graphs = [corridor.graph(f"t{i}") for i in range(3)]
    proxy.lose(where, frozenset({2, 4}))  # the first transaction only looks for the graph
    report = ReferenceGraph(through, graph.name).add(graphs, batch_rows=140)
    assert proxy.lost == 2
    assert said(report) == said(twin.add(graphs, batch_rows=140))
    assert content(graph) == content(twin)
    assert graph.add(graphs).skipped == 3
    assert graph.verify().ok


@WHERE
def test_add_in_pieces(where, proxy, through, graph, twin, corridor):
    """A task that takes several transactions: each loses its answer once."""
    proxy.lose(where, frozenset({2, 4, 6, 8}))
    report = ReferenceGraph(through, graph.name).add([corridor.graph("t1")], batch_rows=20)
    assert proxy.lost == 4
    assert said(report) == said(twin.add([corridor.graph("t1")], batch_rows=20))
    assert content(graph) == content(twin)
    assert graph.verify().ok


@WHERE
def test_promote(where, proxy, through, connection, graph, twin, corridor):
    reports = []
    for base, way in ((graph, through), (twin, connection)):
        base.add([corridor.graph("t1")])
        layer = ReferenceGraph.create(connection, f"{base.name[:90]}-run", base=base.name)
        layer.evolve(RolloutBatch((corridor.win("a", "t1"), corridor.win("b", "t2"))))
        proxy.lose(where)
        reports.append(said(ReferenceGraph(way, layer.name).promote(run="merge")))
        proxy.lose(where, frozenset())
        assert base.verify().ok
        assert layer.promote().successes == 0
    assert reports[0] == reports[1]
    assert content(graph) == content(twin)
    assert graph.info().version == 1


@WHERE
def test_create_and_drop(where, proxy, through, connection, graph_name, corridor, ask):
    proxy.lose(where)
    made = ReferenceGraph.create(through, graph_name)
    assert proxy.lost == 1
    assert ask("MATCH (g:ARG {name: $g}) RETURN count(g) AS n", g=graph_name) == [{"n": 1}]
    made.add([corridor.graph("t1")])
    proxy.lose(where, frozenset({1, 3}))
    made.drop()
    assert proxy.lost == 2
    assert ask("MATCH (n) WHERE n.graph = $g OR n.name = $g RETURN count(n) AS n", g=graph_name) == [{"n": 0}]


@WHERE
def test_import(where, proxy, through, graph, twin, corridor, tmp_path):
    graph.add([corridor.graph("t1"), corridor.graph("t2", 2)])
    graph.evolve(RolloutBatch((corridor.win("a", "t1"),)))
    file = tmp_path / "graph.jsonl"
    export_graph(graph, file)
    twin.drop()
    proxy.lose(where, frozenset(range(1, 40, 2)))
    import_graph(through, file, twin.name)
    assert proxy.lost >= 6
    assert [list(twin.rows(kind)) for kind in KINDS] == [list(graph.rows(kind)) for kind in KINDS]
    assert twin.verify().ok


WRITES: dict[str, Callable[[ReferenceGraph, Any], object]] = {
    "evolve": lambda graph, corridor: graph.evolve(RolloutBatch((corridor.win("a", "t1"), corridor.win("b", "t2")))),
    "add": lambda graph, corridor: graph.add([corridor.graph("t1"), corridor.graph("t2")]),
}


@WHERE
@pytest.mark.parametrize("write", WRITES)
def test_the_caller_gives_up_and_runs_again(write, where, proxy, through, graph, twin, corridor):
    """Every commit is cut until the deadline: one clear error; the rerun ends with the same graph."""
    brief = replace(through, retry_deadline=0.5)
    ReferenceGraph(brief, graph.name).exists()
    proxy.lose(where, frozenset(range(1 if write == "evolve" else 2, 1000)))  # `add` looks for the graph first
    with pytest.raises(GraphUnavailable, match=proxy.uri()):
        WRITES[write](ReferenceGraph(brief, graph.name), corridor)
    assert proxy.lost >= 1
    stored = graph.stats().tasks
    assert stored == (0 if where == "before" else 2)
    forget_driver(brief)
    proxy.lose(where, frozenset())
    WRITES[write](ReferenceGraph(through, graph.name), corridor)
    WRITES[write](twin, corridor)
    assert content(graph) == content(twin)
    assert graph.verify().ok
