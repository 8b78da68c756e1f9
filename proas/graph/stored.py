"""Stored elements of one graph, kind by kind, in key order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

from proas.errors import GraphNotFound
from proas.graph.client import Client
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

__all__ = ["stored_rows"]

PAGE = 5000
"""Rows read in one transaction."""


@dataclass(frozen=True, slots=True)
class _Pages:
    """How a kind is paged: the statement, and the key after which the next page begins."""

    statement: str
    first: str | int
    key: Callable[[Any], str | int]


def _key(row: Any) -> str:
    return str(row["key"])


_PAGES: Mapping[type[Row], _Pages] = {
    TaskRow: _Pages("page_task_rows", "", _key),
    SubgoalRow: _Pages("page_subgoal_rows", "", _key),
    StateRow: _Pages("page_state_rows", "", _key),
    TransitionRow: _Pages("page_transition_rows", "", _key),
    SuccessRow: _Pages("page_success_rows", "", _key),
    VersionRow: _Pages("page_version_rows", -1, lambda row: int(row["k"])),
}


def _row(kind: type[RowKind], values: Mapping[str, Any]) -> RowKind:
    make: Callable[..., RowKind] = kind
    return make(**values)


def stored_rows(client: Client, name: str, kind: type[RowKind]) -> Iterator[RowKind]:
    """See :meth:`proas.graph.store.ReferenceGraph.rows`."""
    found = client.rows("list_graphs", graph=name)
    if not found:
        raise GraphNotFound(f"there is no graph {name!r}", hint="`proas graph list` shows them")
    if kind is GraphRow:
        row = found[0]
        below = -1 if row["base_version"] is None else row["base_version"]
        yield GraphRow(row["version"], row["base"], below, row["created"])
        return
    pages = _PAGES[kind]
    columns = [field.name for field in fields(kind)]
    after = pages.first
    while True:
        page = client.rows(pages.statement, graph=name, after=after, limit=PAGE)
        for row in page:
            values: dict[str, Any] = {column: row[column] for column in columns}
            yield _row(kind, {c: tuple(v) if isinstance(v, list) else v for c, v in values.items()})
        if len(page) < PAGE:
            return
        after = pages.key(page[-1])
