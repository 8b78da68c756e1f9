"""An import is whole or nothing: into a new name, checked before the first write, and cleared away when it fails."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from proas.errors import (
    DataError,
    GraphConflict,
    GraphNotFound,
    GraphVersionError,
    ProASError,
    RecordError,
    UsageError,
)
from proas.graph.client import Client
from proas.graph.connect import Connection
from proas.graph.drivers import driver_of
from proas.graph.exchange import export_graph, import_graph
from proas.graph.exchange.importing import _Below, _Import
from proas.graph.rows import StateRow, SubgoalRow, TaskRow
from proas.graph.store import ReferenceGraph, list_graphs
from proas.rollouts import RolloutBatch

from .conftest import grown, layered, success, way

NewName = Callable[[], str]


@pytest.fixture
def exported(connection: Connection, new_name: NewName, tmp_path: Path) -> Path:
    """A file with a graph of some 300 rows."""
    graph = grown(connection, new_name(), tasks=20)
    return export_graph(graph, tmp_path / "graph.jsonl").path


def leftovers(connection: Connection, name: str) -> int:
    """Nodes that bear the name of a graph in any way."""
    text = "MATCH (n) WHERE n.graph = $graph OR n.name = $graph RETURN count(n) AS n"
    return int(driver_of(connection).execute_query(text, graph=name, database_=connection.database).records[0]["n"])


def edit(path: Path, kind: str, change: Callable[[dict[str, object]], dict[str, object]]) -> int:
    """Change the first line of a kind; returns its number."""
    lines = path.read_text(encoding="utf-8").splitlines()
    number = next(n for n, line in enumerate(lines) if json.loads(line)["kind"] == kind)
    lines[number] = json.dumps(change(json.loads(lines[number])), ensure_ascii=False)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return number + 1


def test_a_name_that_is_taken_is_refused(connection: Connection, new_name: NewName, exported: Path) -> None:
    taken = ReferenceGraph.create(connection, new_name())
    with pytest.raises(GraphConflict, match=rf"there is a graph '{taken.name}' already.*proas graph drop"):
        import_graph(connection, exported, taken.name)
    assert taken.stats().tasks == 0


@pytest.mark.parametrize("name", ["", "a b", "x\n", "../x", "`", "a" * 101, "é"])
def test_a_malformed_name_is_refused(connection: Connection, exported: Path, name: str) -> None:
    with pytest.raises(UsageError, match="is not a graph name"):
        import_graph(connection, exported, name)


@pytest.mark.parametrize(
    ("kind", "field", "value", "reason"),
    [
        ("State", "facts", ["at the moon"], "is not the digest of the facts"),
        ("State", "subgoal", "0" * 32, "is no subgoal of the task"),
        ("TRANSITION", "target_state", "0" * 32, "is not the digest of its two states"),
        ("TRANSITION", "support", "many", "must be a whole number"),
        ("Subgoal", "condition", "[[", "is not JSON"),
        ("Version", "k", 9, "is 9, and the graph has version 2"),
        ("Success", "since", 7, "is 7, and the graph has version 2"),
    ],
)
def test_a_bad_row_is_named_and_nothing_is_written(
    connection: Connection, new_name: NewName, exported: Path, kind: str, field: str, value: object, reason: str
) -> None:
    line = edit(exported, kind, lambda row: row | {field: value})
    name = new_name()
    with pytest.raises(RecordError, match=reason) as caught:
        import_graph(connection, exported, name)
    assert caught.value.line == line
    assert leftovers(connection, name) == 0


def test_an_edited_value_that_no_rule_forbids_is_noticed(
    connection: Connection, new_name: NewName, exported: Path
) -> None:
    edit(exported, "TRANSITION", lambda row: row | {"support": 99})
    name = new_name()
    with pytest.raises(DataError, match="damaged or edited"):
        import_graph(connection, exported, name)
    assert leftovers(connection, name) == 0


def test_a_truncated_file_is_noticed_before_anything_is_written(
    connection: Connection, new_name: NewName, exported: Path
) -> None:
    data = exported.read_bytes()
    name = new_name()
    for part in (0, 100, len(data) // 2, len(data) - 10):
        exported.write_bytes(data[:part])
        with pytest.raises(DataError):
            import_graph(connection, exported, name)
    assert leftovers(connection, name) == 0


def test_bytes_that_are_not_utf8_are_named(connection: Connection, new_name: NewName, exported: Path) -> None:
    lines = exported.read_bytes().splitlines(keepends=True)
    number = next(n for n, line in enumerate(lines) if b"walk" in line)
    lines[number] = lines[number].replace(b"walk", b"w\xe9lk", 1)
    exported.write_bytes(b"".join(lines))
    with pytest.raises(RecordError, match=rf"graph\.jsonl:{number + 1}: not UTF-8: byte 0xe9"):
        import_graph(connection, exported, new_name())


def test_a_file_of_a_later_release_is_refused(connection: Connection, new_name: NewName, exported: Path) -> None:
    edit(exported, "header", lambda row: row | {"schema_version": 999})
    with pytest.raises(GraphVersionError, match="has schema version 999"):
        import_graph(connection, exported, new_name())


def test_a_parquet_column_of_another_type_is_refused(
    connection: Connection, new_name: NewName, exported: Path, tmp_path: Path
) -> None:
    copy = new_name()
    import_graph(connection, exported, copy)
    folder = export_graph(ReferenceGraph(connection, copy), tmp_path / "folder").path
    table, metadata = pq.read_table(folder / "Success.parquet"), pq.read_metadata(folder / "Success.parquet").metadata
    changed = table.set_column(5, "since", table["since"].cast(pa.float64()))
    pq.write_table(
        changed.replace_schema_metadata({k: metadata[k] for k in metadata if b"proas" in k}), folder / "Success.parquet"
    )
    with pytest.raises(DataError, match="column since has type double, not int64"):
        import_graph(connection, folder, new_name())


# Failures in the middle


def in_second_pass(rows: int, act: Callable[[], None]) -> Callable[[int], None]:
    """Progress callback that acts once, when the file has been checked and some of it is stored."""
    seen = 0

    def progress(count: int) -> None:
        nonlocal seen
        seen += count
        if seen > rows + 50 and seen - count <= rows + 50:
            act()

    return progress


def rows_in(path: Path) -> int:
    return len(path.read_bytes().splitlines()) - 2


def test_an_interrupted_import_leaves_nothing(connection: Connection, new_name: NewName, exported: Path) -> None:
    name = new_name()

    def interrupt() -> None:
        assert leftovers(connection, name) > 20
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        import_graph(connection, exported, name, progress=in_second_pass(rows_in(exported), interrupt))
    assert leftovers(connection, name) == 0
    import_graph(connection, exported, name)
    assert ReferenceGraph(connection, name).verify().ok


def test_a_file_that_changes_while_it_is_read_leaves_nothing(
    connection: Connection, new_name: NewName, exported: Path
) -> None:
    name, rows, seen = new_name(), rows_in(exported), 0

    def spoil(count: int) -> None:
        nonlocal seen
        seen += count
        if seen == rows:  # between the check and the first write
            edit(exported, "TRANSITION", lambda row: row | {"support": 99})

    with pytest.raises(DataError, match="damaged or edited"):
        import_graph(connection, exported, name, progress=spoil)
    assert leftovers(connection, name) == 0


def test_nobody_uses_a_graph_before_it_is_whole(connection: Connection, new_name: NewName, exported: Path) -> None:
    name = new_name()
    graph = ReferenceGraph(connection, name)
    batch = RolloutBatch((success("walk 0", "x", [0, 1, 5]),))
    refusals: list[ProASError] = []

    def try_everything() -> None:
        for use in (
            lambda: graph.label(batch),
            lambda: graph.evolve(batch),
            lambda: graph.add([way("walk 0")]),
            lambda: ReferenceGraph.create(connection, name),
            lambda: ReferenceGraph.create(connection, name + "-layer", base=name),
            lambda: export_graph(graph, exported.parent / "other.jsonl"),
            lambda: import_graph(connection, exported, name),
        ):
            with pytest.raises((GraphConflict, GraphNotFound)) as caught:
                use()
            refusals.append(caught.value)

    import_graph(connection, exported, name, progress=in_second_pass(rows_in(exported), try_everything))
    assert len(refusals) == 7
    assert graph.verify().ok
    assert graph.label(batch).rollouts[0].covered


def test_a_graph_dropped_during_its_import_stays_dropped(
    connection: Connection, new_name: NewName, exported: Path
) -> None:
    name = new_name()
    drop = in_second_pass(rows_in(exported), lambda: (ReferenceGraph(connection, name).drop(), None)[1])
    with pytest.raises(GraphConflict, match="was dropped while it was being imported"):
        import_graph(connection, exported, name, progress=drop)
    assert leftovers(connection, name) == 0


def test_what_a_killed_import_left_is_cleared_away_by_a_drop(
    connection: Connection, new_name: NewName, exported: Path
) -> None:
    name, rows = new_name(), rows_in(exported)
    program = f"""
        import os
        from pathlib import Path
        from proas.graph.connect import Connection
        from proas.graph.exchange import import_graph
        seen = 0
        def die(count):
            global seen
            seen += count
            if seen > {rows} + 50:
                os._exit(9)
        import_graph(Connection.resolve(), Path({str(exported)!r}), {name!r}, progress=die)
    """
    environment = {
        "NEO4J_URI": connection.uri,
        "NEO4J_USERNAME": connection.username,
        "NEO4J_PASSWORD": connection.password.get_secret_value(),
        "NEO4J_DATABASE": connection.database,
        "PYTHONPATH": str(Path(__file__).resolve().parents[3]),
    }
    killed = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], env=environment, check=False)
    assert killed.returncode == 9
    assert leftovers(connection, name) > 20
    assert [info.dropping for info in list_graphs(connection) if info.name == name] == [True]
    with pytest.raises(GraphConflict, match=rf"cut off.*proas graph drop {name}"):
        import_graph(connection, exported, name)
    ReferenceGraph(connection, name).drop()
    assert leftovers(connection, name) == 0
    import_graph(connection, exported, name)
    assert ReferenceGraph(connection, name).verify().ok


def test_of_two_imports_of_one_name_one_wins(connection: Connection, new_name: NewName, exported: Path) -> None:
    name = new_name()

    def attempt(_: int) -> str:
        try:
            import_graph(connection, exported, name)
        except GraphConflict:
            return "refused"
        return "done"

    with ThreadPoolExecutor(4) as pool:
        outcomes = sorted(pool.map(attempt, range(4)))
    assert outcomes == ["done", "refused", "refused", "refused"]
    assert ReferenceGraph(connection, name).verify().ok


def test_a_batch_whose_answer_was_lost_is_stored_once(connection: Connection, new_name: NewName) -> None:
    graph = grown(connection, new_name())
    name = new_name()
    work = _Import(Client(connection), name, _Below("", -1))
    work._claim()
    work._claim()  # its answer was lost too
    for kind in (TaskRow, SubgoalRow, StateRow):
        rows = list(graph.rows(kind))
        work._store(list(rows))
        work._batches -= 1  # as the client sees it when the answer to the commit does not come
        work._store(list(rows))
    counts = Client(connection).rows("exchange_counts", graph=name)[0]
    assert counts["states"] == len(list(graph.rows(StateRow)))
    assert counts["tasks"] == len(list(graph.rows(TaskRow)))


# Layers


def test_a_layer_needs_its_base(connection: Connection, new_name: NewName, tmp_path: Path) -> None:
    base = grown(connection, new_name())
    layer = layered(connection, base, new_name())
    path = export_graph(layer, tmp_path / "layer.jsonl").path
    base.drop(force=True)
    with pytest.raises(GraphNotFound, match=f"a layer over '{base.name}', and there is no such graph.*flattened"):
        import_graph(connection, path)
    with pytest.raises(GraphNotFound, match="a layer over 'elsewhere'"):
        import_graph(connection, path, base="elsewhere")
    assert leftovers(connection, layer.name) == 0


def test_a_base_must_be_as_new_as_the_layer_saw_it(connection: Connection, new_name: NewName, tmp_path: Path) -> None:
    base = grown(connection, new_name())
    layer = layered(connection, base, new_name())
    path = export_graph(layer, tmp_path / "layer.jsonl").path
    young = ReferenceGraph.create(connection, new_name())
    with pytest.raises(GraphConflict, match=r"sees version 2 of .*, which has only version 0"):
        import_graph(connection, path, new_name(), base=young.name)
    young.evolve(RolloutBatch(()), version=5)
    name = new_name()
    with pytest.raises(GraphConflict, match=r"layer\.jsonl:\d+: 'walk 0' is marked as inherited"):
        import_graph(connection, path, name, base=young.name)
    assert leftovers(connection, name) == 0


def test_a_plain_graph_takes_no_base(connection: Connection, new_name: NewName, tmp_path: Path) -> None:
    plain = grown(connection, new_name())
    path = export_graph(plain, tmp_path / "plain.jsonl").path
    with pytest.raises(UsageError, match="holds a plain graph, not a layer"):
        import_graph(connection, path, new_name(), base=plain.name)


def test_a_layer_is_no_base(connection: Connection, new_name: NewName, tmp_path: Path) -> None:
    base = grown(connection, new_name())
    layer = layered(connection, base, new_name())
    path = export_graph(layer, tmp_path / "layer.jsonl").path
    with pytest.raises(GraphConflict, match="is itself a layer"):
        import_graph(connection, path, new_name(), base=layer.name)


def test_an_unsound_graph_is_not_exported(connection: Connection, new_name: NewName, tmp_path: Path) -> None:
    graph = grown(connection, new_name())
    driver_of(connection).execute_query(
        "MATCH (s:State {graph: $graph}) WITH s LIMIT 1 SET s.facts = ['at the moon']",
        graph=graph.name,
        database_=connection.database,
    )
    with pytest.raises(GraphConflict, match=r"State .*key: is not the digest of the facts.*proas graph verify"):
        export_graph(graph, tmp_path / "g.jsonl")
    assert list(tmp_path.iterdir()) == []


def test_a_graph_that_is_not_there_is_not_exported(connection: Connection, tmp_path: Path) -> None:
    with pytest.raises(GraphNotFound):
        export_graph(ReferenceGraph(connection, "no-such-graph"), tmp_path / "g.jsonl")
    assert list(tmp_path.iterdir()) == []


def test_settings_of_a_dead_server_are_an_error_before_reading_twice(connection: Connection, exported: Path) -> None:
    dead = replace(connection, uri="bolt://127.0.0.1:9", connect_deadline=0.5)
    with pytest.raises(ProASError, match=r"127\.0\.0\.1:9"):
        import_graph(dead, exported, "x")
