"""The saved queries of Neo4j Browser, asked by a program: what Browser shows as a picture or as a table, as values."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from neo4j.graph import Node, Relationship

from proas.cypher import browser_files
from proas.graph.client import Client
from proas.graph.store import ReferenceGraph

__all__ = ["Answer", "Saved", "ask", "saved_queries"]


@dataclass(frozen=True, slots=True)
class Saved:
    """A saved query.

    Attributes:
        name: Its name, which is that of its file.
        meaning: What it shows, from its first comment.
        takes: Names of its parameters.
    """

    name: str
    meaning: str
    takes: frozenset[str]


@dataclass(frozen=True, slots=True)
class Answer:
    """What a saved query returned.

    Attributes:
        columns: Heads of the table; empty where all of it is a picture.
        rows: Its rows.
        nodes: Nodes by the database's id.
        relationships: Relationships by the database's id.
    """

    columns: tuple[str, ...] = ()
    rows: tuple[tuple[object, ...], ...] = ()
    nodes: Mapping[str, Node] = field(default_factory=dict)
    relationships: Mapping[str, Relationship] = field(default_factory=dict)


def saved_queries() -> tuple[Saved, ...]:
    """All saved queries by name."""
    found = []
    for file, text in browser_files().items():
        if file.endswith(".cypher"):
            head, _, rest = text.partition("\n")
            meaning = head.removeprefix("//").strip()
            takes = frozenset(re.findall(r"\$(\w+)", re.sub(r"^\s*//.*$", "", rest, flags=re.MULTILINE)))
            found.append(Saved(file.removesuffix(".cypher"), meaning, takes))
    return tuple(found)


def ask(graph: ReferenceGraph, name: str, parameters: Mapping[str, Any]) -> Answer:
    """Run a saved query.

    Args:
        graph: Names the database.
        name: Name of the query.
        parameters: A value for each that it takes.

    Raises:
        GraphError: The database could not be asked.
    """
    records = Client(graph.connection).read(lambda tx: tx.saved(name, **parameters))
    nodes: dict[str, Node] = {}
    relationships: dict[str, Relationship] = {}
    rows = []
    for record in records:
        for value in record.values():
            if isinstance(value, Node):
                nodes[value.element_id] = value
            elif isinstance(value, Relationship):
                relationships[value.element_id] = value
        rows.append(tuple(record.values()))
    if nodes or relationships or not records:
        return Answer(nodes=nodes, relationships=relationships)
    return Answer(tuple(records[0].keys()), tuple(rows))
