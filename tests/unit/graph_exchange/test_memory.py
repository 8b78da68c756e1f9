"""Writing and reading hold a batch and a few bytes a key, not the graph."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from proas.graph.exchange import parquet
from proas.graph.exchange.envelope import Placed, batches
from proas.graph.exchange.formats import reader_of
from proas.graph.exchange.soundness import Soundness

from .sample import graph_rows, write


def peak(work: Callable[[], object]) -> int:
    """Most bytes that Python held at once beyond what it held before."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def hold(path: Path) -> list[Placed]:
    return list(reader_of(path, None).records())


def check(path: Path) -> None:
    reader = reader_of(path, None)
    soundness = Soundness(reader.header)
    for batch in batches(reader.records()):
        soundness.take_all(batch)
    soundness.finish()


@pytest.mark.slow
@pytest.mark.parametrize("ending", [".jsonl", ".jsonl.gz", ".parquet"])
def test_four_times_the_rows_do_not_need_more_memory(
    tmp_path: Path, ending: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet, "_GROUP_ROWS", 500)  # both graphs fill a group
    small, large = graph_rows(tasks=6, states=250), graph_rows(tasks=24, states=250)
    check(write(tmp_path / f"warm{ending}", small[:1] + graph_rows(tasks=1)[1:]))  # imports and caches
    written = [
        peak(lambda rows=rows, n=n: write(tmp_path / f"{n}{ending}", rows)) for n, rows in enumerate((small, large))
    ]
    assert written[1] < 1.3 * written[0] + 200_000  # Parquet keeps some figures for each row group
    grown = {}
    for way in (check, hold):
        read = [peak(lambda way=way, n=n: way(tmp_path / f"{n}{ending}")) for n in (0, 1)]
        grown[way] = (read[1] - read[0]) / (len(large) - len(small))
    # About 90 bytes a row, as tables of keys grow by copying; a row that is held takes about 700.
    assert grown[check] < grown[hold] / 4
