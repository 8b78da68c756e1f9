"""A graph of 20,000 transitions, in memory that does not hold it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from proas.graph.connect import Connection
from proas.graph.exchange import export_graph, import_graph
from proas.graph.store import ReferenceGraph

from .conftest import way

MEGABYTE = 1_000_000


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_20_000_transitions_go_out_and_come_back_in_bounded_memory(
    connection: Connection, new_name: Callable[[], str], tmp_path: Path
) -> None:
    graph, copy = (ReferenceGraph(connection, new_name()) for _ in range(2))
    ReferenceGraph.create(connection, graph.name)
    graph.add(way(f"task {n:04d}", length=51) for n in range(400))
    process, before, most = psutil.Process(), 0, 0

    def look(_: int) -> None:
        nonlocal most
        most = max(most, process.memory_info().rss - before)

    before = process.memory_info().rss
    out = export_graph(graph, tmp_path / "first.jsonl", progress=look)
    import_graph(connection, out.path, copy.name, progress=look)
    assert out.counts["TRANSITION"] == 20_000
    assert most < 60 * MEGABYTE  # the 42,000 rows as a whole take more than 100
    again = export_graph(copy, tmp_path / "second.jsonl")
    first, second = (path.read_bytes().splitlines() for path in (out.path, again.path))
    assert first[1:] == second[1:]
