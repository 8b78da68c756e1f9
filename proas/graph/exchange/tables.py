"""The tables of an exchanged graph: one typed record for each label and each relationship type.

The name of the graph is in none of them, so the same content under another name is the same rows. Rows of a table are
sorted by its ``order`` columns, which makes two exports of one graph the same bytes.

A column is text, a whole number of 64 bits, a truth value or a list of texts; ``None`` is an absent property. Instants
are ISO 8601 text exactly as the database prints them: neither JSON nor an Arrow timestamp keeps nanoseconds and a
zone together.
"""

from __future__ import annotations

import json
import types
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from hashlib import blake2b
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

__all__ = [
    "TABLES",
    "TABLE_NAMED",
    "Column",
    "ColumnType",
    "HasSubgoalRow",
    "MemberOfRow",
    "Row",
    "Seal",
    "StateRow",
    "SubgoalRow",
    "SuccessRow",
    "Table",
    "TaskRow",
    "TransitionRow",
    "VersionRow",
]

MAX_TEXT = 1_000_000
"""Characters in one text; the bound that the texts of a rollout have too."""

MAX_TEXTS = 100_000
"""Members of one list of texts."""

ColumnType = Literal["text", "whole", "truth", "texts"]


@dataclass(frozen=True, slots=True)
class TaskRow:
    """A ``Task`` node; ``start`` is the key of its first state."""

    key: str
    env: str
    goal: str
    text: str
    start: str | None


@dataclass(frozen=True, slots=True)
class SubgoalRow:
    """A ``Subgoal`` node; ``condition`` is the JSON text that the store keeps."""

    key: str
    index: int
    description: str
    phrases: tuple[str, ...]
    condition: str


@dataclass(frozen=True, slots=True)
class StateRow:
    """A ``State`` node; ``facts`` are sorted."""

    key: str
    task: str
    facts: tuple[str, ...]
    since: int
    source: str
    initial: bool | None
    caption: str | None


@dataclass(frozen=True, slots=True)
class VersionRow:
    """A ``Version`` node; ``at`` is an instant."""

    k: int
    run: str | None
    added_states: int
    added_transitions: int
    at: str


@dataclass(frozen=True, slots=True)
class SuccessRow:
    """A ``Success`` node: a rollout that has been counted once and must not be counted again."""

    key: str
    rollout: str
    task: str
    since: int


@dataclass(frozen=True, slots=True)
class HasSubgoalRow:
    """A ``HAS_SUBGOAL`` relationship from a task to a subgoal, by their keys."""

    task: str
    subgoal: str


@dataclass(frozen=True, slots=True)
class MemberOfRow:
    """A ``MEMBER_OF`` relationship from a state to its subgoal, by their keys."""

    state: str
    subgoal: str


@dataclass(frozen=True, slots=True)
class TransitionRow:
    """A ``TRANSITION`` relationship; ``from_state`` and ``to_state`` are the keys of its ends."""

    key: str
    task: str
    from_state: str
    action: str
    to_state: str
    since: int
    source: str
    support: int


Row = TaskRow | SubgoalRow | StateRow | VersionRow | SuccessRow | HasSubgoalRow | MemberOfRow | TransitionRow


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its name, its type, and whether ``None`` is allowed."""

    name: str
    type: ColumnType
    optional: bool

    def fault(self, value: object) -> str:
        """Why the value does not fit the column; empty when it does."""
        if value is None:
            return "" if self.optional else "is missing"
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
        return next((f"[{n}] {why}" for n, why in enumerate(map(_text_fault, value)) if why), "")


@dataclass(frozen=True, slots=True)
class Table:
    """The rows of one label or relationship type.

    Attributes:
        name: The label or type, which also names the Parquet file and the ``kind`` of a JSONL line.
        element: What its rows become.
        row: Record of one row.
        order: Columns by which the rows are sorted; together they are unique.
        columns: The columns in order.
    """

    name: str
    element: Literal["node", "relationship"]
    row: type[Row]
    order: tuple[str, ...]
    columns: tuple[Column, ...]

    def rank(self, row: Row) -> tuple[str | int, ...]:
        """What the row is sorted by."""
        return tuple(getattr(row, name) for name in self.order)

    def values(self, row: Row) -> tuple[object, ...]:
        """Values of the row in the order of the columns."""
        return tuple(getattr(row, column.name) for column in self.columns)

    def make(self, values: Mapping[str, object]) -> Row:
        """Row from named values.

        Raises:
            FieldFault: A column is missing, unknown or of the wrong type.
        """
        for column in self.columns:
            if why := column.fault(values.get(column.name)):
                raise FieldFault(column.name, why)
        if len(values) > len(self.columns) or any(name not in self.row.__slots__ for name in values):
            extra = sorted(set(values) - set(self.row.__slots__))
            raise FieldFault(", ".join(extra), "is no column of this table")
        frozen: dict[str, Any] = {n: tuple(v) if isinstance(v, list) else v for n, v in values.items()}
        for column in self.columns:
            frozen.setdefault(column.name, None)
        return self.row(**frozen)


class FieldFault(ValueError):
    """A value does not fit its column; readers add the file and the line.

    Args:
        field: Name of the column.
        reason: What is wrong with the value.
    """

    def __init__(self, field: str, reason: str) -> None:
        super().__init__(f"{field}: {reason}")
        self.field = field
        self.reason = reason


def _table(name: str, element: Literal["node", "relationship"], row: type[Row], *order: str) -> Table:
    hints = get_type_hints(row)
    return Table(name, element, row, order, tuple(_column(f.name, hints[f.name]) for f in fields(row)))


def _column(name: str, hint: Any) -> Column:
    optional = get_origin(hint) in {Union, types.UnionType}
    bare = next(a for a in get_args(hint) if a is not type(None)) if optional else hint
    kinds: dict[Any, ColumnType] = {str: "text", int: "whole", bool: "truth"}
    return Column(name, kinds.get(bare, "texts"), optional)


TABLES: tuple[Table, ...] = (
    _table("Task", "node", TaskRow, "key"),
    _table("Subgoal", "node", SubgoalRow, "key"),
    _table("State", "node", StateRow, "key"),
    _table("Version", "node", VersionRow, "k"),
    _table("Success", "node", SuccessRow, "key"),
    _table("HAS_SUBGOAL", "relationship", HasSubgoalRow, "task", "subgoal"),
    _table("MEMBER_OF", "relationship", MemberOfRow, "state", "subgoal"),
    _table("TRANSITION", "relationship", TransitionRow, "key"),
)
"""All tables in the order in which they are written and read: nodes before the relationships between them."""

TABLE_NAMED: Mapping[str, Table] = {table.name: table for table in TABLES}
"""The tables by name."""

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


class Seal:
    """Counts rows and digests them, so that a lost, changed or repeated row shows.

    The digest of a table is BLAKE2b-128 over its canonical lines; it is the same for every format and every name.
    """

    def __init__(self) -> None:
        self._digests = {table.name: blake2b(digest_size=16) for table in TABLES}
        self._counts = dict.fromkeys(self._digests, 0)

    def add(self, table: Table, rows: Sequence[Row]) -> bytes:
        """Take rows in; returns their canonical lines, each with its line end."""
        lines = "".join(
            _encode({"kind": table.name} | {c.name: getattr(row, c.name) for c in table.columns}) + "\n" for row in rows
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
