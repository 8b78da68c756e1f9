"""What stands around the rows: a header that says what is to come and a footer that proves that all of it came."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Annotated, Literal, Protocol, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from proas.errors import DataError, RecordError
from proas.graph.exchange.tables import TABLES, Seal, Table
from proas.graph.rows import Row
from proas.keys import KEY_VERSION

__all__ = [
    "FORMAT_VERSION",
    "Footer",
    "GraphReader",
    "GraphWriter",
    "Header",
    "Placed",
    "batches",
    "check_footer",
    "parse_header",
]

FORMAT_VERSION = 1
"""Raised whenever a file of the new form could not be read by older code."""

Whole = Annotated[int, Field(ge=0, lt=2**63)]
Text = Annotated[str, Field(max_length=10_000)]
Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{32}$")]


class _Envelope(BaseModel):
    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")


class Header(_Envelope):
    """The graph as a whole.

    Attributes:
        kind: Marks the first line of a JSONL file.
        format: Says what the file is, to people and to ``file``-like tools.
        format_version: Form of the file.
        schema_version: Number of the last migration of the database that it came from.
        key_version: Form of the keys (``proas.keys.KEY_VERSION``).
        name: Name of the graph where it was exported.
        version: Its version; nothing in the file is newer.
        base: Name of the graph that this one is a layer over; empty for a plain graph.
        base_version: Version of the base that the layer sees; -1 for a plain graph.
        counts: Rows of each table.
        constraints: The uniqueness constraints of the database that it came from, as ``label(properties)``.
    """

    kind: Literal["header"] = "header"
    format: Literal["proas-graph"] = "proas-graph"
    format_version: int = FORMAT_VERSION
    schema_version: int
    key_version: int = KEY_VERSION
    name: Annotated[Text, Field(min_length=1)]
    version: Whole
    base: Text = ""
    base_version: Annotated[int, Field(ge=-1, lt=2**63)] = -1
    counts: dict[str, Whole] = Field(default_factory=dict)
    constraints: tuple[Text, ...] = ()


class Footer(_Envelope):
    """Counts and digests of what was written (``proas.graph.exchange.tables.Seal``)."""

    kind: Literal["footer"] = "footer"
    counts: dict[str, Whole]
    digests: dict[str, Digest]


@dataclass(frozen=True, slots=True)
class Placed:
    """One row with its place in a file.

    Attributes:
        table: The table that it belongs to.
        row: The row itself.
        source: Name of the file.
        line: 1-based line, or row of a Parquet file.
    """

    table: Table
    row: Row
    source: str
    line: int

    def fault(self, reason: str, *, field: str = "", hint: str = "") -> RecordError:
        """The error that names this row."""
        return RecordError(reason, source=self.source, line=self.line, field=field, hint=hint)


class GraphReader(Protocol):
    """A graph in a file. Every call of ``records`` reads it from the start again, row by row."""

    @property
    def header(self) -> Header:
        """The checked header."""

    def records(self) -> Iterator[Placed]:
        """All rows, table by table in the order of ``TABLES``.

        Raises:
            RecordError: A row is not what its table demands.
            DataError: Rows are missing, were added or were changed after the export.
        """


class GraphWriter(Protocol):
    """A graph going into a file, which appears whole when the block ends well and not at all otherwise."""

    def __enter__(self) -> Self:
        """Begin."""

    def write(self, rows: Sequence[Row]) -> None:
        """Append rows, in the order of ``TABLES`` and within it of their keys."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Finish, or leave nothing behind when the block failed."""


def batches(records: Iterator[Placed], size: int = 1_000) -> Iterator[list[Placed]]:
    """Runs of at most ``size`` rows of one table.

    When reading fails, the rows before the fault come first: what is wrong with one of them says more.
    """
    batch: list[Placed] = []
    fault: DataError | None = None
    while True:
        try:
            placed = next(records, None)
        except DataError as error:
            placed, fault = None, error
        if batch and (placed is None or len(batch) >= size or batch[0].table is not placed.table):
            yield batch
            batch = []
        if fault is not None:
            raise fault
        if placed is None:
            return
        batch.append(placed)


_EXPORT_AGAIN = "export the graph again"


def parse_header(text: str | bytes, source: str) -> Header:
    """Read and check a header.

    Raises:
        DataError: It is no header, or one of another format or key version.
    """
    try:
        header = Header.model_validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        where = ".".join(map(str, first["loc"]))
        reason = f"not the header of an exported graph: {where + ': ' if where else ''}{first['msg']}"
        raise RecordError(reason, source=source, line=1, hint="give a file that `proas graph export` wrote") from None
    if header.format_version != FORMAT_VERSION:
        message = f"{source} has format version {header.format_version}; this ProAS reads version {FORMAT_VERSION}"
        raise DataError(message, hint="export the graph with this version of ProAS")
    if header.key_version != KEY_VERSION:
        message = f"{source} has keys of version {header.key_version}; this ProAS makes version {KEY_VERSION}"
        raise DataError(message, hint="build the graph again: keys of two versions never meet")
    if set(header.counts) != {table.name for table in TABLES}:
        message = f"{source}: the header counts {sorted(header.counts)}, not {[t.name for t in TABLES]}"
        raise DataError(message, hint=_EXPORT_AGAIN)
    if (header.base == "") != (header.base_version == -1):
        raise DataError(f"{source}: base and base_version go together", hint=_EXPORT_AGAIN)
    return header


def check_footer(seal: Seal, header: Header, footer: Footer, source: str) -> None:
    """Compare what was read with what was promised.

    Raises:
        DataError: A count or a digest differs.
    """
    for table in TABLES:
        name, found = table.name, seal.counts[table.name]
        for promised in (header.counts[name], footer.counts.get(name, 0)):
            if found != promised:
                raise DataError(f"{source} holds {found} rows of {name}, not {promised}", hint=_EXPORT_AGAIN)
        if seal.digests[name] != footer.digests.get(name):
            message = f"{source}: the rows of {name} do not have the digest that was written with them"
            raise DataError(message, hint="the file was damaged or edited; " + _EXPORT_AGAIN)
