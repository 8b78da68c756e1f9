"""The tables of an exchanged graph: one for each kind of stored row, with typed columns.

The rows are those of ``proas.graph.rows``. The name of the graph is in none of them, so the same content under
another name is the same rows. Rows of a table are sorted by its ``order`` column, which makes two exports of one graph
the same bytes.

A column is text, a whole number of 64 bits, a truth value or a list of texts. Instants are ISO 8601 text exactly as
the database prints them: neither JSON nor an Arrow timestamp keeps nanoseconds and a zone together.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from hashlib import blake2b
from operator import attrgetter
from typing import Any, Literal, get_type_hints

from proas.graph.rows import (
    ORDER,
    GraphRow,
    Row,
    StateRow,
    SubgoalRow,
    SuccessRow,
    TaskRow,
    TransitionRow,
    VersionRow,
)

__all__ = ["TABLES", "TABLE_NAMED", "TABLE_OF", "Column", "ColumnType", "FieldFault", "Seal", "Table"]

MAX_TEXT = 1_000_000
"""Characters in one text; the bound that the texts of a rollout have too."""

MAX_TEXTS = 100_000
"""Members of one list of texts."""

ColumnType = Literal["text", "whole", "truth", "texts"]


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its name and its type."""

    name: str
    type: ColumnType

    def fault(self, value: object) -> str:
        """Why the value does not fit the column; empty when it does."""
        if self.type == "text":
            return _text_fault(value)
        if self.type == "whole":
            if not isinstance(value, int) or isinstance(value, bool):
                return f"must be a whole number, not {_kind(value)}"
            return "" if -(2**63) <= value < 2**63 else "does not fit into 64 bits"
        if self.type == "truth":
            return "" if isinstance(value, bool) else f"must be true or false, not {_kind(value)}"
        if not isinstance(value, list | tuple):
            return f"must be a list of texts, not {_kind(value)}"
        if len(value) > MAX_TEXTS:
            return f"has more than {MAX_TEXTS} members"
        return next((f"member {n} {why}" for n, why in enumerate(map(_text_fault, value)) if why), "")


@dataclass(frozen=True, slots=True)
class Table:
    """All rows of one kind.

    Attributes:
        name: The label or relationship type of the rows, which is also the ``kind`` of their JSON lines.
        row: Record of one row.
        order: The column that the rows are sorted by; no two rows share its value.
        columns: The columns in order.
    """

    name: str
    row: type[Row]
    order: str
    columns: tuple[Column, ...]

    def rank(self, row: Row) -> str | int:
        """What the row is sorted by."""
        value: str | int = getattr(row, self.order) if self.order else 0
        return value

    def make(self, values: Mapping[str, object]) -> Row:
        """Row from named values.

        Raises:
            FieldFault: A column is missing, unknown or of the wrong type.
        """
        made: dict[str, Any] = {}
        for column in self.columns:
            if column.name not in values:
                raise FieldFault(column.name, "is missing")
            value = values[column.name]
            if why := column.fault(value):
                raise FieldFault(column.name, why)
            made[column.name] = tuple(value) if isinstance(value, list) else value
        if len(values) != len(made):
            raise FieldFault(min(set(values) - set(made)), f"is no column of {self.name}")
        return self.row(**made)


class FieldFault(ValueError):
    """A value does not fit its column; readers add the file and the line.

    Args:
        field: Name of the column.
        reason: What is wrong with the value.
    """

    def __init__(self, field: str, reason: str) -> None:
        super().__init__(f"{field} {reason}")
        self.field = field
        self.reason = reason


_TYPES: Mapping[Any, ColumnType] = {str: "text", int: "whole", bool: "truth", tuple[str, ...]: "texts"}
_NAMES: Mapping[type[Row], tuple[str, str]] = {
    GraphRow: ("ARG", ""),
    VersionRow: ("Version", "k"),
    TaskRow: ("Task", "key"),
    SubgoalRow: ("Subgoal", "key"),
    StateRow: ("State", "key"),
    TransitionRow: ("TRANSITION", "key"),
    SuccessRow: ("Success", "key"),
}


def _table(row: type[Row]) -> Table:
    name, order = _NAMES[row]
    hints = get_type_hints(row)
    return Table(name, row, order, tuple(Column(f.name, _TYPES[hints[f.name]]) for f in fields(row)))


TABLES: tuple[Table, ...] = tuple(_table(row) for row in ORDER)
"""All tables in the order in which they are written and read: what a row refers to comes before it."""

TABLE_NAMED: Mapping[str, Table] = {table.name: table for table in TABLES}
"""The tables by name."""

TABLE_OF: Mapping[type[Row], Table] = {table.row: table for table in TABLES}
"""The tables by the record of their rows."""

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_NAMES_OF = {table.name: tuple(column.name for column in table.columns) for table in TABLES}
_VALUES_OF = {name: attrgetter(*columns) for name, columns in _NAMES_OF.items()}


class Seal:
    """Counts rows and digests them, so that a lost, changed or repeated row shows.

    The digest of a table is BLAKE2b-128 over its canonical lines, so it is the same for every format and every name.
    """

    def __init__(self) -> None:
        self._digests = {table.name: blake2b(digest_size=16) for table in TABLES}
        self._counts = dict.fromkeys(self._digests, 0)

    def add(self, table: Table, rows: Sequence[Row]) -> bytes:
        """Take rows in; returns their canonical lines, each with its line end."""
        names, values = ("kind", *_NAMES_OF[table.name]), _VALUES_OF[table.name]
        lines = "".join(
            _encode(dict(zip(names, (table.name, *values(row)), strict=True))) + "\n" for row in rows
        ).encode()
        self._digests[table.name].update(lines)
        self._counts[table.name] += len(rows)
        return lines

    @property
    def counts(self) -> dict[str, int]:
        """Rows of each table so far."""
        return dict(self._counts)

    @property
    def digests(self) -> dict[str, str]:
        """Digest of each table so far, as 32 hex digits."""
        return {name: value.hexdigest() for name, value in self._digests.items()}


def _kind(value: object) -> str:
    if value is None:
        return "null"
    names = {str: "text", int: "a whole number", float: "a fraction", bool: "a truth value", dict: "an object"}
    return names.get(type(value), "a list" if isinstance(value, list | tuple) else type(value).__name__)


def _text_fault(value: object) -> str:
    if not isinstance(value, str):
        return f"must be text, not {_kind(value)}"
    if len(value) > MAX_TEXT:
        return f"is longer than {MAX_TEXT} characters"
    if not value.isascii() and any("\ud800" <= c <= "\udfff" for c in value):
        return "holds half of a surrogate pair, which is no character"
    return ""
