"""A layer and its base as one plain graph: history in a line, everything once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import pytest

from proas.errors import GraphConflict
from proas.graph.exchange.envelope import Placed, batches
from proas.graph.exchange.soundness import Soundness
from proas.graph.exchange.tables import TABLE_OF
from proas.graph.exchange.union import plain_rows, union_rows
from proas.graph.rows import (
    GraphRow,
    Row,
    RowKind,
    StateRow,
    SubgoalRow,
    SuccessRow,
    TaskRow,
    TransitionRow,
    VersionRow,
)

from .sample import HEADER, VERSION, graph_rows

SEEN = 2
"""The version of the base that the layer sees; the base has gone on to version 3."""


@dataclass(frozen=True)
class Held:
    """Rows in memory, read as a store is read."""

    all_rows: Sequence[Row]

    def rows(self, kind: type[RowKind]) -> Iterator[RowKind]:
        return (row for row in self.all_rows if isinstance(row, kind))


def base_and_layer() -> tuple[Held, Held, GraphRow]:
    """A base of three tasks, and a layer that repeats the first and adds a fourth."""
    base = graph_rows(tasks=3)
    root = GraphRow(1, "base", SEEN, "2026-04-01T00:00:00Z")
    rows: list[Row] = [
        root,
        VersionRow(0, "build", 1, 1, "2026-04-01T00:00:00Z"),
        VersionRow(1, "run", 8, 7, "2026-04-02T00:00:00Z"),
    ]
    repeated = {"since": 0, "inherited": True}
    for row in graph_rows(tasks=4):
        match row:
            case TaskRow(key="task 0"):
                rows.append(replace(row, built=("more",), **repeated))
            case TaskRow(key="task 3"):
                rows.append(replace(row, since=1))
            case SubgoalRow(task="task 0" | "task 3"):
                rows.append(row)
            case StateRow(task="task 0") if row.since <= SEEN:
                rows.append(replace(row, **repeated))
            case TransitionRow(task="task 0") if row.since <= SEEN:
                rows.append(replace(row, support=1, source="rollout", **repeated))
            case StateRow(task="task 0" | "task 3") | TransitionRow(task="task 0" | "task 3"):
                rows.append(replace(row, since=1))
            case SuccessRow(task="task 3"):
                rows.append(replace(row, since=1))
            case _:
                pass
    return Held(base), Held(rows), root


def union() -> list[Row]:
    base, layer, root = base_and_layer()
    return list(union_rows(base, layer, root))


def named(rows: Sequence[Row], kind: type[RowKind]) -> Mapping[str | int, RowKind]:
    return {getattr(row, "key", getattr(row, "k", 0)): row for row in rows if isinstance(row, kind)}


def test_the_union_is_a_sound_plain_graph() -> None:
    rows = union()
    header = HEADER.model_copy(update={"version": SEEN + 1})
    soundness = Soundness(header)
    for batch in batches(Placed(TABLE_OF[type(row)], row, "union", 0) for row in rows):
        soundness.take_all(batch)
    soundness.finish()
    assert not any(getattr(row, "inherited", False) for row in rows)


def test_versions_go_on_from_those_of_the_base() -> None:
    rows = union()
    assert rows[0] == GraphRow(SEEN + 1, "", -1, "2026-04-01T00:00:00Z")
    versions = named(rows, VersionRow)
    assert [(k, row.run) for k, row in versions.items()] == [(0, "run 0"), (1, "run 1"), (2, "run 2"), (3, "run")]
    assert (versions[2].added_states, versions[2].added_transitions) == (2 + 1, 4 + 1)


def test_what_the_base_gained_later_is_left_out() -> None:
    base = named(graph_rows(tasks=3), StateRow)
    found = named(union(), StateRow)
    for key, row in base.items():
        if row.since <= SEEN:
            assert found[key] == row
        else:  # in the union only where the layer found it for itself
            assert (key in found) == (row.task == "task 0")
    assert VERSION > SEEN


def test_support_of_layer_and_base_add_up() -> None:
    base, found = named(graph_rows(tasks=3), TransitionRow), named(union(), TransitionRow)
    repeated = [key for key, row in base.items() if row.task == "task 0" and row.since <= SEEN]
    assert repeated
    for key in repeated:
        assert found[key] == replace(base[key], support=base[key].support + 1)


def test_tasks_and_their_digests_are_joined() -> None:
    found = named(union(), TaskRow)
    assert sorted(found) == ["task 0", "task 1", "task 2", "task 3"]
    assert found["task 0"].built == (*named(graph_rows(tasks=3), TaskRow)["task 0"].built, "more")
    assert found["task 3"].since == SEEN + 1


def test_a_layer_that_contradicts_its_base_is_refused() -> None:
    base, layer, root = base_and_layer()
    changed = [replace(row, start="0" * 32) if isinstance(row, TaskRow) else row for row in layer.all_rows]
    with pytest.raises(GraphConflict, match="task 'task 0' of the layer is not that of its base"):
        list(union_rows(base, Held(changed), root))


def test_a_plain_graph_is_written_as_of_its_version() -> None:
    rows = list(plain_rows(Held(graph_rows()), 1))
    assert rows[0] == replace(graph_rows()[0], version=1)  # type: ignore[type-var]
    assert {row.k for row in rows if isinstance(row, VersionRow)} == {0, 1}
    assert all(getattr(row, "since", 0) <= 1 for row in rows)
