"""``proas graph export | import``: graphs as files."""

from __future__ import annotations

from enum import StrEnum

from proas.cli.options import DatabaseOptions, GraphName, Json, with_database

__all__ = ["export_graph", "import_graph"]


class Format(StrEnum):
    """File formats."""

    PARQUET = "parquet"
    JSONL = "jsonl"
    GRAPHML = "graphml"


@with_database
def export_graph(graph: GraphName, database: DatabaseOptions, json: Json = False) -> None:
    """Write a graph to a file."""


@with_database
def import_graph(graph: GraphName, database: DatabaseOptions, json: Json = False) -> None:
    """Read a graph from a file."""
