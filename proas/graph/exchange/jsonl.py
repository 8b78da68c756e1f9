"""A graph as JSON lines: a header, one object a row, a footer; UTF-8, optionally gzipped.

Every line carries a ``kind``: ``header``, the name of a table, or ``footer``. A file that was cut off has no footer,
so truncation cannot pass unseen. A digest over all rows stands in the footer.
"""

from __future__ import annotations

import gzip
import json
import shutil
import zlib
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import groupby
from pathlib import Path
from types import TracebackType
from typing import IO, BinaryIO, Self

from pydantic import ValidationError

from proas.errors import DataError, RecordError
from proas.graph.exchange.envelope import Footer, GraphReader, GraphWriter, Header, Placed, check_footer, parse_header
from proas.graph.exchange.places import Placing
from proas.graph.exchange.tables import TABLE_NAMED, TABLE_OF, TABLES, FieldFault, Seal
from proas.graph.rows import Row

__all__ = ["MAX_LINE_BYTES", "JsonlReader", "JsonlWriter"]

MAX_LINE_BYTES = 16 * 1024 * 1024
"""A state takes about a kilobyte; far beyond this bound the line is not a row."""

_CHUNK = 256 * 1024
_RANKS = {table.name: rank for rank, table in enumerate(TABLES)}


class JsonlWriter(GraphWriter):
    """Writes ``path``, gzipped when its name ends in ``.gz``.

    The header counts the rows that follow it, so the rows wait in an unnamed file until all have been seen.

    Args:
        path: The file to write; replaced if it is there.
        header: What is to come; its counts are filled in.
    """

    def __init__(self, path: Path, header: Header) -> None:
        self._header = header
        self._placing = Placing(path)
        self._zipped = path.suffix == ".gz"
        self._seal = Seal()
        self._stack = ExitStack()
        self._target: BinaryIO | None = None
        self._body: IO[bytes] | None = None
        self._file: IO[bytes] | gzip.GzipFile | None = None

    def __enter__(self) -> Self:
        """Open temporary files beside the target."""
        self._target = self._stack.enter_context(self._placing.open_file())
        self._body = self._stack.enter_context(self._placing.open_unnamed())
        self._file = self._stack.enter_context(_zipper(self._body)) if self._zipped else self._body
        return self

    def write(self, rows: Sequence[Row]) -> None:
        """Append rows as lines."""
        for kind, group in groupby(rows, type):
            self._put(self._seal.add(TABLE_OF[kind], tuple(group)))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Put header, rows and footer together and move the file into place, or remove it."""
        with self._placing.settling(failed=kind is not None), self._stack:
            if kind is None:
                self._finish()

    def _finish(self) -> None:
        assert self._target is not None
        assert self._body is not None
        self._put(_line(Footer(counts=self._seal.counts, digests=self._seal.digests)))
        header = _line(self._header.model_copy(update={"counts": self._seal.counts}))
        if self._zipped:
            assert isinstance(self._file, gzip.GzipFile)
            self._file.close()
            with _zipper(self._target) as file:  # a gzip file may be several, one after the other
                file.write(header)
        else:
            self._target.write(header)
        self._body.seek(0)
        shutil.copyfileobj(self._body, self._target, _CHUNK)

    def _put(self, data: bytes) -> None:
        assert self._file is not None
        with self._placing.naming_faults():
            self._file.write(data)


class JsonlReader(GraphReader):
    """Reads a file that :class:`JsonlWriter` wrote.

    Args:
        path: The file.

    Raises:
        DataError: It cannot be read or has no usable header.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        with self._lines() as lines:
            _, line = next(lines, (1, b""))
            if not line:
                raise RecordError("the file is empty", source=path.name, line=1, hint="give an exported graph")
            self._header = parse_header(_text(line, path.name, 1).removeprefix("\ufeff"), path.name)

    @property
    def header(self) -> Header:
        """The checked header."""
        return self._header

    def records(self) -> Iterator[Placed]:
        """All rows in file order, then the check of the footer."""
        seal = Seal()
        footer: Footer | None = None
        rank = 0
        with self._lines() as lines:
            next(lines, None)
            for number, line in lines:
                if footer is not None:
                    raise RecordError("there is more after the footer", source=self._path.name, line=number)
                parsed = self._parse(line, number)
                if isinstance(parsed, Footer):
                    footer = parsed
                    continue
                if _RANKS[parsed.table.name] < rank:
                    raise parsed.fault(f"a {parsed.table.name} after a {TABLES[rank].name}", field="kind")
                rank = _RANKS[parsed.table.name]
                seal.add(parsed.table, (parsed.row,))
                yield parsed
        if footer is None:
            total, expected = sum(seal.counts.values()), sum(self._header.counts.values())
            message = f"{self._path.name} is cut off: {total} of {expected} rows and no footer"
            raise DataError(message, hint="copy or export it again")
        check_footer(seal, self._header, footer, self._path.name)

    def _parse(self, line: bytes, number: int) -> Placed | Footer:
        name = self._path.name
        text = _text(line, name, number)
        try:
            values = json.loads(text)
        except (ValueError, RecursionError) as error:
            reason = (
                f"not JSON: {error.msg.removesuffix(' at')} at column {error.colno}"
                if isinstance(error, json.JSONDecodeError)
                else ""
            )
            cut = not line.endswith(b"\n")
            hint = "the file is cut off here; copy or export it again" if cut else "every line is one JSON object"
            raise RecordError(reason or "not JSON", source=name, line=number, hint=hint) from None
        if not isinstance(values, dict):
            raise RecordError("must be a JSON object", source=name, line=number)
        kind = values.pop("kind", None)
        if kind == "footer":
            return _footer(text, name, number)
        table = TABLE_NAMED.get(kind) if isinstance(kind, str) else None
        if table is None:
            raise RecordError(f"must be one of {[*TABLE_NAMED, 'footer']}", source=name, line=number, field="kind")
        try:
            return Placed(table, table.make(values), name, number)
        except FieldFault as fault:
            raise RecordError(fault.reason, source=name, line=number, field=fault.field) from None

    @contextmanager
    def _lines(self) -> Iterator[Iterator[tuple[int, bytes]]]:
        try:
            with self._path.open("rb") as raw:
                zipped = raw.peek(2)[:2] == b"\x1f\x8b"
                with gzip.GzipFile(fileobj=raw) if zipped else raw as file:
                    yield self._numbered(file)
        except EOFError:
            raise DataError(f"{self._path.name} is cut off in the middle", hint="copy or export it again") from None
        except (OSError, zlib.error) as error:  # gzip.BadGzipFile is an OSError without an errno
            reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
            raise DataError(f"cannot read {self._path}: {reason}", hint="give an exported graph") from error

    def _numbered(self, file: IO[bytes] | gzip.GzipFile) -> Iterator[tuple[int, bytes]]:
        number = 0
        while line := file.readline(MAX_LINE_BYTES + 1):
            number += 1
            if len(line) > MAX_LINE_BYTES:
                raise RecordError(f"line is longer than {MAX_LINE_BYTES} bytes", source=self._path.name, line=number)
            yield number, line


def _zipper(file: IO[bytes]) -> gzip.GzipFile:
    # Neither name nor time in the gzip header: the same graph is the same bytes.
    return gzip.GzipFile("", "wb", 6, file, mtime=0)


def _line(envelope: Header | Footer) -> bytes:
    return envelope.model_dump_json().encode() + b"\n"


def _footer(text: str, source: str, number: int) -> Footer:
    try:
        return Footer.model_validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise RecordError(f"bad footer: {first['msg']}", source=source, line=number, field=where) from None


def _text(line: bytes, source: str, number: int) -> str:
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        reason = f"not UTF-8: byte 0x{line[error.start]:02x} at position {error.start}"
        raise RecordError(reason, source=source, line=number, hint="export it again or convert the file") from None
