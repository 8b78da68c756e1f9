"""A graph as a folder of Parquet files, one for each label and relationship type.

``Subgoal.parquet`` and ``HAS_SUBGOAL.parquet`` hold the same subgoals in the same order, and so do ``State.parquet``
and ``MEMBER_OF.parquet``: together a line of each makes a row of the store.

Each file carries the header of the graph, with the constraints and the schema version, as JSON under the metadata
key ``proas.graph``, and counts and digests under ``proas.footer``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import ValidationError

from proas.errors import DataError, RecordError
from proas.graph.exchange.envelope import (
    Footer,
    GraphReader,
    GraphWriter,
    Header,
    Placed,
    check_footer,
    parse_header,
)
from proas.graph.exchange.places import Placing
from proas.graph.exchange.tables import TABLE_OF, TABLES, ColumnType, FieldFault, Seal, Table
from proas.graph.rows import Row

__all__ = ["PARTS", "ParquetReader", "ParquetWriter", "Part"]

HEADER_KEY, FOOTER_KEY = b"proas.graph", b"proas.footer"

MAX_GROUP_BYTES = 1024 * 1024 * 1024
"""Uncompressed size of one row group; ours have a few megabytes, and a group is what a reader may have to hold."""

_BATCH_ROWS = 1_000
_GROUP_ROWS = 20_000
_GIVE_EXPORT = "give a folder that `proas graph export` wrote"
_TYPES: Mapping[ColumnType, Any] = {
    "text": pa.string(),
    "whole": pa.int64(),
    "truth": pa.bool_(),
    "texts": pa.list_(pa.field("element", pa.string(), nullable=False)),
}


@dataclass(frozen=True, slots=True)
class Part:
    """One file: a part of the columns of a table.

    Attributes:
        name: Label or relationship type, which names the file.
        table: The table that it belongs to.
        fields: Field of the row behind each column, by the column's name.
    """

    name: str
    table: Table
    fields: Mapping[str, str]

    @property
    def file(self) -> str:
        """Name of the file."""
        return f"{self.name}.parquet"

    def schema(self) -> pa.Schema:
        """Arrow schema, without metadata. No column may be null."""
        types = {c.name: _TYPES[c.type] for c in self.table.columns}
        return pa.schema([pa.field(column, types[field], nullable=False) for column, field in self.fields.items()])


_EDGES: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "Subgoal": ("HAS_SUBGOAL", {"task": "task", "subgoal": "key"}),
    "State": ("MEMBER_OF", {"state": "key", "subgoal": "subgoal"}),
}


def _parts(table: Table) -> tuple[Part, ...]:
    edge, columns = _EDGES.get(table.name, ("", {}))
    only_there = set(columns.values()) - {table.order} - ({"task"} if table.name == "State" else set())
    own = Part(table.name, table, {c.name: c.name for c in table.columns if c.name not in only_there})
    return (own, Part(edge, table, columns)) if edge else (own,)


PARTS: Mapping[str, tuple[Part, ...]] = {table.name: _parts(table) for table in TABLES}
"""The files of each table."""


class ParquetWriter(GraphWriter):
    """Writes the folder ``path``.

    Args:
        path: The folder; an earlier export in it is replaced, and nothing else ever is.
        header: What is to come; its counts are filled in.
    """

    def __init__(self, path: Path, header: Header) -> None:
        self._header = header
        self._placing = Placing(path)
        self._seal = Seal()
        self._files: dict[str, pq.ParquetWriter] = {}
        self._held: list[Row] = []
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        """Open all files in a temporary folder beside the target."""
        folder = self._placing.make_folder("*.parquet")
        with self._placing.naming_faults():
            for part in _all_parts():
                file = pq.ParquetWriter(folder / part.file, part.schema(), compression="zstd")
                self._files[part.name] = self._stack.enter_context(file)
        return self

    def write(self, rows: Sequence[Row]) -> None:
        """Append rows; they reach the disk in groups."""
        for row in rows:
            if self._held and (len(self._held) >= _GROUP_ROWS or type(self._held[0]) is not type(row)):
                self._flush()
            self._held.append(row)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Add header and footer and move the folder into place, or remove it."""
        with self._placing.settling(failed=kind is not None), self._stack:
            if kind is None:
                self._flush()
                header = self._header.model_copy(update={"counts": self._seal.counts})
                footer = Footer(counts=self._seal.counts, digests=self._seal.digests)
                envelope = {HEADER_KEY: header.model_dump_json(), FOOTER_KEY: footer.model_dump_json()}
                for file in self._files.values():
                    file.add_key_value_metadata(envelope)

    def _flush(self) -> None:
        rows = self._held
        if not rows:
            return
        table = TABLE_OF[type(rows[0])]
        self._seal.add(table, rows)
        for part in PARTS[table.name]:
            schema = part.schema()
            columns = [
                pa.array([getattr(row, field) for row in rows], type=schema.field(column).type)
                for column, field in part.fields.items()
            ]
            with self._placing.naming_faults():
                self._files[part.name].write_table(pa.Table.from_arrays(columns, schema=schema))
        self._held = []


class ParquetReader(GraphReader):
    """Reads a folder that :class:`ParquetWriter` wrote.

    Args:
        path: The folder.

    Raises:
        DataError: A file is missing, is not Parquet, has other columns, or belongs to another export.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        if not path.is_dir():
            raise DataError(f"{path} is not a folder", hint="give the folder that holds the Parquet files")
        envelopes: dict[str, tuple[Header, Footer]] = {}
        for part in _all_parts():
            with self._open(part) as file:
                envelopes[part.file] = _envelope(file, part)
        (first, envelope), *others = envelopes.items()
        for name, other in others:
            if other != envelope:
                message = f"{path}: {first} and {name} come from two exports"
                raise DataError(message, hint="export the graph again into an empty folder")
        self._header, self._footer = envelope

    @property
    def header(self) -> Header:
        """The checked header."""
        return self._header

    def records(self) -> Iterator[Placed]:
        """All rows, table by table, then the check of the footer."""
        seal = Seal()
        for table in TABLES:
            for placed in self._rows(table):
                seal.add(table, (placed.row,))
                yield placed
        check_footer(seal, self._header, self._footer, str(self._path))

    def _rows(self, table: Table) -> Iterator[Placed]:
        own, *edges = PARTS[table.name]
        with ExitStack() as stack:
            streams = [_values(stack.enter_context(self._open(part)), part) for part in PARTS[table.name]]
            for line, lines in enumerate(_in_step(streams), start=1):
                values: dict[str, object] = {}
                for part, found in zip((own, *edges), lines, strict=True):
                    if found is None:
                        raise DataError(f"{part.file} ends after {line - 1} rows, before the file it belongs to")
                    for column, field in part.fields.items():
                        if values.setdefault(field, found[column]) != found[column]:
                            reason = f"is {found[column]!r} where {own.file} has {values[field]!r}"
                            raise RecordError(reason, source=part.file, line=line, field=column)
                try:
                    yield Placed(table, table.make(values), own.file, line)
                except FieldFault as fault:
                    raise RecordError(fault.reason, source=own.file, line=line, field=fault.field) from None

    @contextmanager
    def _open(self, part: Part) -> Iterator[pq.ParquetFile]:
        path = self._path / part.file
        try:
            with pq.ParquetFile(path, memory_map=False) as file:
                yield file
        except (OSError, pa.ArrowException) as error:
            reason = "it is missing" if isinstance(error, FileNotFoundError) else str(error).splitlines()[0]
            hint = "the folder is incomplete or damaged; export the graph again"
            raise DataError(f"cannot read {path}: {reason}", hint=hint) from error


def _all_parts() -> tuple[Part, ...]:
    return tuple(part for table in TABLES for part in PARTS[table.name])


def _in_step(streams: Sequence[Iterator[Mapping[str, object]]]) -> Iterator[tuple[Mapping[str, object] | None, ...]]:
    """Rows of all streams side by side; ``None`` where one has ended before another."""
    while any(found := tuple(next(stream, None) for stream in streams)):
        yield found


def _values(file: pq.ParquetFile, part: Part) -> Iterator[Mapping[str, object]]:
    """Rows of one file as plain values by column."""
    line = 0
    for batch in file.iter_batches(batch_size=_BATCH_ROWS, use_threads=False):
        try:
            batch.validate(full=True)  # the files may come from anywhere, and Arrow trusts their text
            columns = [column.to_pylist() for column in batch.columns]
        except (pa.ArrowException, UnicodeDecodeError) as error:
            reason = f"a value in this row or the {len(batch) - 1} after it cannot be read: {error}"
            raise RecordError(reason, source=part.file, line=line + 1) from None
        line += len(batch)
        for values in zip(*columns, strict=True):
            yield dict(zip(batch.schema.names, values, strict=True))


def _envelope(file: pq.ParquetFile, part: Part) -> tuple[Header, Footer]:
    _check_columns(file.schema_arrow, part)
    for number in range(file.metadata.num_row_groups):
        if (size := file.metadata.row_group(number).total_byte_size) > MAX_GROUP_BYTES:
            message = f"{part.file}: row group {number} unpacks to {size} bytes, more than {MAX_GROUP_BYTES}"
            raise DataError(message, hint=_GIVE_EXPORT)
    metadata = file.metadata.metadata or {}
    if HEADER_KEY not in metadata or FOOTER_KEY not in metadata:
        raise DataError(f"{part.file} does not say which graph it is part of", hint=_GIVE_EXPORT)
    try:
        return parse_header(metadata[HEADER_KEY], part.file), Footer.model_validate_json(metadata[FOOTER_KEY])
    except ValidationError:
        raise DataError(f"{part.file} has no usable footer in its metadata", hint=_GIVE_EXPORT) from None


def _check_columns(found: pa.Schema, part: Part) -> None:
    wanted = part.schema()
    if found.names != wanted.names:
        message = f"{part.file} has the columns {', '.join(found.names)}, not {', '.join(wanted.names)}"
        raise DataError(message, hint=_GIVE_EXPORT)
    for field in wanted:
        kind = found.field(field.name).type
        if not _same_type(kind, field.type):
            raise DataError(f"{part.file}: column {field.name} has type {kind}, not {field.type}", hint=_GIVE_EXPORT)


def _same_type(found: pa.DataType, wanted: pa.DataType) -> bool:
    """Equal but for the names and null flags of list members, which other writers choose as they like."""
    if pa.types.is_list(wanted):
        return bool(pa.types.is_list(found) and found.value_type.equals(wanted.value_type))
    return bool(found.equals(wanted))
