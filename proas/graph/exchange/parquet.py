"""A graph as a folder of Parquet files, one for each label and relationship type.

Each file carries the header of the graph, with the constraints and the schema version, as JSON under the metadata
key ``proas.graph``, and the footer under ``proas.footer``. Column types are exactly those of ``arrow_schema``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import ValidationError

from proas.errors import DataError, RecordError
from proas.graph.exchange.envelope import Footer, GraphReader, GraphWriter, Header, Record, check_footer, parse_header
from proas.graph.exchange.places import Placing
from proas.graph.exchange.tables import TABLES, ColumnType, FieldFault, Row, Seal, Table

__all__ = ["ParquetReader", "ParquetWriter", "arrow_schema"]

HEADER_KEY, FOOTER_KEY = b"proas.graph", b"proas.footer"

MAX_GROUP_BYTES = 1024 * 1024 * 1024
"""Uncompressed size of one row group; ours have a few megabytes, and a group is what a reader may have to hold."""

_ROWS = 1_000
_GROUP_ROWS = 50_000
_TYPES: dict[ColumnType, Any] = {
    "text": pa.string(),
    "whole": pa.int64(),
    "truth": pa.bool_(),
    "texts": pa.list_(pa.field("element", pa.string(), nullable=False)),
}


def arrow_schema(table: Table) -> pa.Schema:
    """Arrow schema of a table, without metadata."""
    return pa.schema([pa.field(c.name, _TYPES[c.type], nullable=c.optional) for c in table.columns])


class ParquetWriter(GraphWriter):
    """Writes the folder ``path`` with one ``<table>.parquet`` each.

    Args:
        path: The folder to write; an earlier export in it is replaced.
        header: What is to come.
    """

    def __init__(self, path: Path, header: Header) -> None:
        self._header = header
        self._placing = Placing(path)
        self._seal = Seal()
        self._files: dict[str, pq.ParquetWriter] = {}
        self._held: dict[str, list[Row]] = {table.name: [] for table in TABLES}
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        """Open all files in a temporary folder beside the target."""
        folder = self._placing.make_folder("*.parquet")
        with self._placing.naming_faults():
            for table in TABLES:
                schema = arrow_schema(table).with_metadata({HEADER_KEY: self._header.model_dump_json().encode()})
                file = pq.ParquetWriter(folder / f"{table.name}.parquet", schema, compression="zstd", version="2.6")
                self._files[table.name] = self._stack.enter_context(file)
        return self

    def write(self, table: Table, rows: Sequence[Row]) -> None:
        """Append rows; they reach the disk in groups."""
        self._seal.add(table, rows)
        held = self._held[table.name]
        held.extend(rows)
        while len(held) >= _GROUP_ROWS:
            self._flush(table, held[:_GROUP_ROWS])
            del held[:_GROUP_ROWS]

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Add the footers and move the folder into place, or remove it."""
        with self._placing.settling(failed=kind is not None), self._stack:
            if kind is None:
                footer = Footer(counts=self._seal.counts, digests=self._seal.digests).model_dump_json().encode()
                for table in TABLES:
                    self._flush(table, self._held[table.name])
                    self._files[table.name].add_key_value_metadata({FOOTER_KEY: footer})

    def _flush(self, table: Table, rows: Sequence[Row]) -> None:
        if not rows:
            return
        schema = arrow_schema(table)
        columns = [pa.array([getattr(r, f.name) for r in rows], type=f.type) for f in schema]
        with self._placing.naming_faults():
            self._files[table.name].write_table(pa.Table.from_arrays(columns, schema=schema))


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
        envelopes = {}
        for table in TABLES:
            with self._open(table) as file:
                envelopes[table.name] = _envelope(file, table)
        first_table = TABLES[0].name
        self._header, self._footer = envelopes[first_table]
        for name, envelope in envelopes.items():
            if envelope != envelopes[first_table]:
                message = f"{path}: {name}.parquet and {first_table}.parquet come from two exports"
                raise DataError(message, hint="export the graph again into an empty folder")

    @property
    def header(self) -> Header:
        """The checked header."""
        return self._header

    def records(self) -> Iterator[Record]:
        """All rows, table by table, then the check of the footer."""
        seal = Seal()
        for table in TABLES:
            with self._open(table) as file:
                yield from self._rows(file, table, seal)
        check_footer(seal, self._header, self._footer, str(self._path))

    def _rows(self, file: pq.ParquetFile, table: Table, seal: Seal) -> Iterator[Record]:
        source, line = f"{table.name}.parquet", 0
        for batch in file.iter_batches(batch_size=_ROWS, use_threads=False):
            try:
                batch.validate(full=True)  # the files may come from anywhere, and Arrow trusts their text
                columns = [column.to_pylist() for column in batch.columns]
            except (pa.ArrowException, UnicodeDecodeError) as error:
                reason = f"unreadable value in one of the {len(batch)} rows from here: {error}"
                raise RecordError(reason, source=source, line=line + 1) from None
            for values in zip(*columns, strict=True):
                line += 1
                try:
                    row = table.make(dict(zip(batch.schema.names, values, strict=True)))
                except FieldFault as fault:
                    raise RecordError(fault.reason, source=source, line=line, field=fault.field) from None
                seal.add(table, (row,))
                yield Record(table, row, source, line)

    @contextmanager
    def _open(self, table: Table) -> Iterator[pq.ParquetFile]:
        path = self._path / f"{table.name}.parquet"
        try:
            with pq.ParquetFile(path, memory_map=False) as file:
                yield file
        except (OSError, pa.ArrowException) as error:
            reason = "it is missing" if isinstance(error, FileNotFoundError) else str(error).splitlines()[0]
            hint = "the folder is incomplete or damaged; export the graph again"
            raise DataError(f"cannot read {path}: {reason}", hint=hint) from error


def _envelope(file: pq.ParquetFile, table: Table) -> tuple[Header, Footer]:
    name = f"{table.name}.parquet"
    _check_columns(file.schema_arrow, table, name)
    for number in range(file.metadata.num_row_groups):
        if (size := file.metadata.row_group(number).total_byte_size) > MAX_GROUP_BYTES:
            raise DataError(f"{name}: row group {number} unpacks to {size} bytes, more than {MAX_GROUP_BYTES}")
    metadata = file.metadata.metadata or {}
    header = parse_header(metadata.get(HEADER_KEY, b""), name)
    try:
        return header, Footer.model_validate_json(metadata.get(FOOTER_KEY, b""))
    except ValidationError:
        message = f"{name} has no usable footer in its metadata"
        raise DataError(message, hint="give a folder that `proas graph export` wrote") from None


def _check_columns(found: pa.Schema, table: Table, source: str) -> None:
    wanted = arrow_schema(table)
    if found.names != wanted.names:
        message = f"{source} has the columns {', '.join(found.names)}, not {', '.join(wanted.names)}"
        raise DataError(message, hint="give a folder that `proas graph export` wrote")
    for field in wanted:
        if not _same_type(found.field(field.name).type, field.type):
            message = f"{source}: column {field.name} has type {found.field(field.name).type}, not {field.type}"
            raise DataError(message, hint="give a folder that `proas graph export` wrote")


def _same_type(found: pa.DataType, wanted: pa.DataType) -> bool:
    """Equal but for the names and null flags of list members, which other writers choose as they like."""
    if pa.types.is_list(wanted):
        return pa.types.is_list(found) and bool(found.value_type.equals(wanted.value_type))
    return bool(found.equals(wanted))
