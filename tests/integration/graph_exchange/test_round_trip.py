"""A graph that goes out and comes back is the identical graph, whatever the format and the name."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import networkx as nx
import pytest

from proas.errors import GraphConflict, GraphNotFound
from proas.graph.client import Client
from proas.graph.connect import Connection
from proas.graph.drivers import driver_of
from proas.graph.exchange import export_graph, import_graph
from proas.graph.rows import ORDER, Row, StateRow, TransitionRow
from proas.graph.store import ReferenceGraph
from proas.rollouts import RolloutBatch

from .conftest import grown, layered, success, way

NewName = Callable[[], str]
ENDINGS = [".jsonl", ".jsonl.gz", ".parquet"]


def rows_of(graph: ReferenceGraph) -> list[Row]:
    return [row for kind in ORDER for row in graph.rows(kind)]  # type: ignore[type-var]


def everything(connection: Connection, graph: str) -> list[str]:
    """Every node and relationship of a graph with all that is on it, read past the store, without the graph's name."""
    driver = driver_of(connection)

    def ask(text: str) -> list[Any]:
        return driver.execute_query(text, graph=graph, database_=connection.database).records  # type: ignore[arg-type]

    nodes = ask(
        "MATCH (n) WHERE n.graph = $graph OR (n:ARG AND n.name = $graph) RETURN labels(n) AS l, properties(n) AS p"
    )
    edges = ask(
        "MATCH (a)-[e]->(b) WHERE a.graph = $graph OR (a:ARG AND a.name = $graph) "
        "RETURN type(e) AS l, properties(e) AS p, coalesce(a.key, '') AS a, coalesce(b.key, b.name) AS b"
    )
    # Distances are measured anew, so that they hold since the version that is imported.
    ours = {"graph", "name", "distance_since"}
    found = []
    for record in (*nodes, *edges):
        properties = {k: v for k, v in record["p"].items() if k not in ours}
        ends = [record["a"], record["b"]] if "a" in record.keys() else []  # noqa: SIM118
        found.append(json.dumps([record["l"], ends, properties], sort_keys=True, default=str))
    return sorted(found)


def content(path: Path, *names: str) -> dict[str, bytes]:
    """Bytes of an export by file, the graph's name left out where the header says it."""
    files = path.iterdir() if path.is_dir() else (path,)
    found = {"" if file == path else file.name: file.read_bytes() for file in files}
    for name in names:
        found = {file: data.replace(f'"name":"{name}"'.encode(), b'"name":""') for file, data in found.items()}
    return found


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_graph_comes_back_identical_under_another_name(
    connection: Connection, new_name: NewName, tmp_path: Path, ending: str
) -> None:
    graph = grown(connection, new_name())
    first = export_graph(graph, tmp_path / f"first{ending}")
    copy = new_name()
    report = import_graph(connection, first.path, copy)
    assert report.counts == first.counts
    assert report.version == first.version == 2
    assert everything(connection, copy) == everything(connection, graph.name)
    second = export_graph(ReferenceGraph(connection, copy), tmp_path / f"second{ending}")
    assert rows_of(ReferenceGraph(connection, copy)) == rows_of(graph)
    assert first.left_out == {}
    if ending == ".jsonl":
        assert content(first.path, graph.name) == content(second.path, copy)


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_graph_comes_back_as_the_same_bytes_under_its_own_name(
    connection: Connection, new_name: NewName, tmp_path: Path, ending: str
) -> None:
    graph = grown(connection, new_name())
    before = everything(connection, graph.name)
    first = export_graph(graph, tmp_path / f"first{ending}")
    graph.drop()
    import_graph(connection, first.path)
    assert everything(connection, graph.name) == before
    assert graph.verify().ok
    second = export_graph(graph, tmp_path / f"second{ending}")
    assert content(first.path) == content(second.path)


def test_formats_hold_the_same(connection: Connection, new_name: NewName, tmp_path: Path) -> None:
    graph = grown(connection, new_name())
    export_graph(graph, tmp_path / "g.jsonl")
    copy, again = new_name(), new_name()
    import_graph(connection, tmp_path / "g.jsonl", copy)
    export_graph(ReferenceGraph(connection, copy), tmp_path / "g.parquet")
    import_graph(connection, tmp_path / "g.parquet", again)
    assert everything(connection, again) == everything(connection, graph.name)


def test_an_imported_graph_goes_on_living(connection: Connection, new_name: NewName, tmp_path: Path) -> None:
    graph = grown(connection, new_name())
    export_graph(graph, tmp_path / "g.jsonl")
    copy = ReferenceGraph(connection, new_name())
    import_graph(connection, tmp_path / "g.jsonl", copy.name)
    known = RolloutBatch((success("walk 0", "shortcut", [0, 2, 5]),))
    report = copy.evolve(known)
    assert (report.known, report.successes, report.version) == (1, 0, 2)  # joined before the export, and not again
    fresh = RolloutBatch((success("walk 0", "fresh", [0, 4, 5]),))
    assert copy.evolve(fresh).version == graph.evolve(fresh).version == 3
    assert copy.add([way("walk 0")]).skipped == 1
    labelled = [step.label for rollout in copy.label(fresh) for step in rollout.steps]
    assert labelled == [step.label for rollout in graph.label(fresh) for step in rollout.steps]


@pytest.mark.parametrize("ending", [".jsonl", ".parquet"])
def test_an_empty_graph_comes_back(connection: Connection, new_name: NewName, tmp_path: Path, ending: str) -> None:
    graph = ReferenceGraph.create(connection, new_name())
    export_graph(graph, tmp_path / f"g{ending}")
    copy = new_name()
    import_graph(connection, tmp_path / f"g{ending}", copy)
    assert everything(connection, copy) == everything(connection, graph.name)


@pytest.mark.parametrize("ending", [".jsonl", ".parquet"])
def test_a_layer_comes_back_over_its_base(
    connection: Connection, new_name: NewName, tmp_path: Path, ending: str
) -> None:
    base = grown(connection, new_name())
    layer = layered(connection, base, new_name())
    first = export_graph(layer, tmp_path / f"layer{ending}")
    assert (first.base, first.version) == (base.name, 1)
    before, labels = everything(connection, layer.name), layer.stats()
    layer.drop()
    import_graph(connection, first.path)
    assert everything(connection, layer.name) == before
    assert layer.stats() == labels
    assert layer.info().base == base.name
    assert base.info().layers == (layer.name,)
    assert content(export_graph(layer, tmp_path / f"again{ending}").path) == content(first.path)


def own_rows(graph: ReferenceGraph) -> list[Row]:
    return [row for row in rows_of(graph) if not (isinstance(row, StateRow) and row.inherited)]


def test_a_layer_and_its_base_move_together_under_other_names(
    connection: Connection, new_name: NewName, tmp_path: Path
) -> None:
    base = grown(connection, new_name())
    layer = layered(connection, base, new_name())
    export_graph(base, tmp_path / "base.jsonl")
    export_graph(layer, tmp_path / "layer.jsonl")
    other_base, other = new_name(), new_name()
    import_graph(connection, tmp_path / "base.jsonl", other_base)
    report = import_graph(connection, tmp_path / "layer.jsonl", other, base=other_base)
    assert report.base == other_base
    # The base has gone on since the layer was made. Reading measures its distances as of now, so that the layer cannot
    # tell which held then, and copies states of the base to hold its own.
    assert own_rows(ReferenceGraph(connection, other))[1:] == own_rows(layer)[1:]
    assert ReferenceGraph(connection, other).verify().ok
    assert ReferenceGraph(connection, other).read("walk 0") == layer.read("walk 0")


def test_a_flattened_layer_is_a_plain_graph_that_reads_the_same(
    connection: Connection, new_name: NewName, tmp_path: Path
) -> None:
    base = grown(connection, new_name())
    layer = layered(connection, base, new_name())
    report = export_graph(layer, tmp_path / "flat.parquet", flatten=True)
    assert (report.base, report.version) == ("", 3)
    copy = ReferenceGraph(connection, new_name())
    import_graph(connection, tmp_path / "flat.parquet", copy.name)
    assert copy.info().base == ""
    assert copy.verify().ok
    assert [task.key for task in copy.tasks()] == [task.key for task in layer.tasks()]
    for mine, theirs in zip(copy.iter_task_graphs(), layer.iter_task_graphs(), strict=True):
        assert (mine.task, mine.ladder, mine.states) == (theirs.task, theirs.ladder, theirs.states)
        assert {(t.key, t.source, t.support) for t in mine.transitions} == {
            (t.key, t.source, t.support) for t in theirs.transitions
        }
    ours, union = copy.stats(), layer.stats()
    for name in ("tasks", "subgoals", "states", "transitions", "successes", "transitions_by_source"):
        assert getattr(ours, name) == getattr(union, name)
    batch = RolloutBatch((success("walk 2", "x", [0, 4, 5]), success("only here", "y", range(6))))
    assert [s.label for r in copy.label(batch) for s in r.steps] == [
        s.label for r in layer.label(batch) for s in r.steps
    ]


def test_graphml_holds_the_union_for_other_tools(connection: Connection, new_name: NewName, tmp_path: Path) -> None:
    base = grown(connection, new_name())
    layer = layered(connection, base, new_name())
    export_graph(layer, tmp_path / "g.graphml")
    graph = nx.read_graphml(tmp_path / "g.graphml")
    stats = layer.stats()
    kinds = [data["kind"] for _, data in graph.nodes(data=True)]
    assert kinds.count("State") == stats.states
    assert kinds.count("Task") == stats.tasks
    edges = [data["kind"] for *_, data in graph.edges(data=True)]
    assert edges.count("TRANSITION") == stats.transitions


def test_what_is_newer_than_the_start_of_the_export_is_left_out(
    connection: Connection, new_name: NewName, tmp_path: Path
) -> None:
    graph = grown(connection, new_name())
    evolved = False

    def meanwhile(_: int) -> None:
        nonlocal evolved
        if not evolved:
            graph.evolve(RolloutBatch((success("walk 2", "meanwhile", [0, 3, 5]),)))
            evolved = True

    report = export_graph(graph, tmp_path / "g.jsonl", progress=meanwhile)
    assert (report.version, graph.info().version) == (2, 3)
    assert report.counts["State"] == sum(row.since <= 2 for row in graph.rows(StateRow))
    assert (
        report.counts["TRANSITION"]
        == sum(row.since <= 2 for row in graph.rows(TransitionRow))
        < len(list(graph.rows(TransitionRow)))
    )
    copy = ReferenceGraph(connection, new_name())
    import_graph(connection, tmp_path / "g.jsonl", copy.name)
    assert copy.info().version == 2
    assert copy.verify().ok


@pytest.mark.parametrize("when", [1, 2, 3, 4, 5, 6, 7])
def test_a_graph_dropped_during_its_export_leaves_no_file(
    connection: Connection, new_name: NewName, tmp_path: Path, when: int
) -> None:
    graph = grown(connection, new_name())
    batches = 0

    def drop(_: int) -> None:
        nonlocal batches
        batches += 1
        if batches == when:
            graph.drop()

    with pytest.raises((GraphConflict, GraphNotFound)):
        export_graph(graph, tmp_path / "g.jsonl", progress=drop)
    assert batches >= when
    assert list(tmp_path.iterdir()) == []


def test_foreign_properties_are_counted_not_lost_silently(
    connection: Connection, new_name: NewName, tmp_path: Path
) -> None:
    graph = grown(connection, new_name())
    driver_of(connection).execute_query(
        "MATCH (s:State {graph: $graph}) WITH s LIMIT 2 SET s.note = 'mine'",
        graph=graph.name,
        database_=connection.database,
    )
    assert export_graph(graph, tmp_path / "g.jsonl").left_out == {"State.note": 2}


def test_progress_counts_every_row(connection: Connection, new_name: NewName, tmp_path: Path) -> None:
    graph = grown(connection, new_name())
    out: list[int] = []
    back: list[int] = []
    report = export_graph(graph, tmp_path / "g.jsonl", progress=out.append)
    import_graph(connection, tmp_path / "g.jsonl", new_name(), progress=back.append)
    assert sum(out) == sum(report.counts.values())
    assert sum(back) == 2 * sum(out)


def test_the_header_tells_schema_and_constraints(connection: Connection, new_name: NewName, tmp_path: Path) -> None:
    path = export_graph(ReferenceGraph.create(connection, new_name()), tmp_path / "g.jsonl").path
    header = json.loads(path.read_text().splitlines()[0])
    names = {row["name"] for row in Client(connection).rows("constraint_names")}
    assert {line.split(":")[0] for line in header["constraints"]} <= names
    assert any("arg_state_key_unique" in line and "State(graph, key)" in line for line in header["constraints"])
    assert header["schema_version"] >= 2
