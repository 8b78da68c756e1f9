"""Graphs as a whole: making, listing, and removing them and their layers."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from proas.errors import GraphCapacityError, GraphConflict, GraphNotFound, UsageError
from proas.graph.attached import drop_attached
from proas.graph.building import BUILD_RUN, Progress
from proas.graph.client import Client, Transaction
from proas.graph.reports import DropReport, GraphInfo
from proas.graph.writing import lock_graph

__all__ = ["all_graphs", "create_graph", "drop_graph", "graph_info", "mark_graph_whole"]

DROP_ROWS = 2000
"""Nodes removed in one transaction."""


def create_graph(client: Client, name: str, base: str | None) -> None:
    """See :meth:`proas.graph.store.ReferenceGraph.create`."""

    def work(tx: Transaction) -> None:
        row = tx.row("create_graph", graph=name, base=base, run=BUILD_RUN)
        if row is None:
            raise GraphNotFound(f"there is no graph {base!r} to put a layer on", hint="`proas graph list` shows them")
        if row["dropping"]:
            raise GraphConflict(f"graph {name!r} or its base is being dropped", hint="finish with `proas graph drop`")
        if base is not None and row["base_of_base"] is not None:
            raise UsageError(
                f"{base!r} is itself a layer of {row['base_of_base']!r}", hint="layers go over base graphs"
            )
        if base is not None and row["base"] != base:
            kind = f"a layer of {row['base']!r}" if row["base"] else "a base graph"
            raise GraphConflict(f"graph {name!r} exists and is {kind}", hint="choose another name, or drop it first")

    if name == base:
        raise UsageError(f"graph {name!r} cannot be a layer over itself")
    client.write(work)


def all_graphs(client: Client) -> tuple[GraphInfo, ...]:
    """All graphs by name."""
    return tuple(_info(row) for row in client.rows("list_graphs", graph=None))


def graph_info(client: Client, name: str) -> GraphInfo:
    """One graph. Raises :class:`GraphNotFound`."""
    for row in client.rows("list_graphs", graph=name):
        return _info(row)
    raise GraphNotFound(f"there is no graph {name!r}", hint="`proas graph list` shows them")


def _info(row: Any) -> GraphInfo:
    return GraphInfo(
        name=row["name"],
        version=row["version"],
        base=row["base"],
        base_version=row["base_version"],
        created=row["created"],
        layers=tuple(row["layers"]),
        dropping=row["dropping"],
        whole=row["whole"],
    )


def mark_graph_whole(client: Client, name: str) -> None:
    """See :meth:`proas.graph.store.ReferenceGraph.mark_whole`."""

    def work(tx: Transaction) -> None:
        lock_graph(tx, name)
        tx.rows("mark_whole", graph=name, whole=True)

    client.write(work)


def drop_graph(client: Client, name: str, *, force: bool, progress: Progress | None) -> DropReport:
    """See :meth:`proas.graph.store.ReferenceGraph.drop`."""
    began = time.monotonic()
    layers = graph_info(client, name).layers
    if layers and not force:
        raise GraphConflict(
            f"graph {name!r} has the layers {', '.join(layers)}",
            hint="drop them first, or add --force (force=True) to remove them too",
        )
    nodes = relationships = 0
    for graph in (*layers, name):
        client.write(lambda tx, g=graph: tx.rows("begin_drop", graph=g))  # type: ignore[misc]
        nodes += drop_attached(client, graph)
        for removed in _removals(client, graph):
            nodes += removed["nodes"]
            relationships += removed["relationships"]
            if progress is not None:
                progress(removed["nodes"])
    return DropReport((*layers, name), nodes, relationships, time.monotonic() - began)


def _removals(client: Client, graph: str) -> Iterator[Any]:
    """Remove a graph marked as being dropped, one transaction after the other; each gives what it removed."""
    limit = DROP_ROWS
    while True:
        try:
            row = client.write(lambda tx, n=limit: tx.row("drop_some", graph=graph, limit=n))  # type: ignore[misc]
        except GraphCapacityError:
            if limit == 1:
                raise
            limit //= 2
            continue
        if row is None:
            return  # another process finished it
        yield row
        if row["gone"]:
            return
