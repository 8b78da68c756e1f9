"""A graph of 20,000 transitions, in memory that does not hold it."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from proas.graph.connect import Connection
from proas.graph.exchange import export_graph, import_graph
from proas.graph.store import ReferenceGraph

from .conftest import way


@pytest.mark.slow
def test_20_000_transitions_go_out_and_come_back_in_bounded_memory(
    connection: Connection, new_name: Callable[[], str], tmp_path: Path
) -> None:
    graph = ReferenceGraph.create(connection, new_name())
    graph.add(way(f"task {n:04d}", length=51) for n in range(400))
    copy = ReferenceGraph(connection, new_name())
    tracemalloc.start()
    try:
        out = export_graph(graph, tmp_path / "first.jsonl")
        exporting = tracemalloc.get_traced_memory()[1]
        tracemalloc.reset_peak()
        import_graph(connection, out.path, copy.name)
        importing = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert out.counts["TRANSITION"] == 20_000
    # A page of the store is 5,000 rows. Held as a whole, the graph takes more than five times the size of the file.
    assert max(exporting, importing) < 2 * out.bytes
    again = export_graph(copy, tmp_path / "second.jsonl")
    first, second = (path.read_bytes().splitlines() for path in (out.path, again.path))
    assert first[1:] == second[1:]
