"""Which format a path means."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal

from proas.errors import DataError, UsageError
from proas.graph.exchange.envelope import GraphReader, GraphWriter, Header
from proas.graph.exchange.graphml import GraphMLWriter
from proas.graph.exchange.jsonl import JsonlReader, JsonlWriter
from proas.graph.exchange.parquet import ParquetReader, ParquetWriter

__all__ = ["ExchangeFormat", "format_of", "reader_of", "writer_of"]

ExchangeFormat = Literal["parquet", "jsonl", "graphml"]

_WRITERS: Mapping[ExchangeFormat, Callable[[Path, Header], GraphWriter]] = {
    "parquet": ParquetWriter,
    "jsonl": JsonlWriter,
    "graphml": GraphMLWriter,
}
_READERS: Mapping[ExchangeFormat, Callable[[Path], GraphReader]] = {"parquet": ParquetReader, "jsonl": JsonlReader}
_CHOICES = "end the path in .jsonl, .jsonl.gz, .graphml or .parquet (a folder), or name the format"


def format_of(path: Path) -> ExchangeFormat:
    """Format that a path means by its ending; a folder, or a name without an ending, means Parquet.

    Raises:
        UsageError: The ending says nothing.
    """
    name = path.name.lower()
    if name.endswith((".jsonl", ".jsonl.gz")):
        return "jsonl"
    if name.endswith(".graphml"):
        return "graphml"
    if name.endswith(".parquet") or not path.suffix or path.is_dir():
        return "parquet"
    raise UsageError(f"{path} does not say in which format it is", hint=_CHOICES)


def writer_of(path: Path, header: Header, format: ExchangeFormat | None) -> GraphWriter:  # noqa: A002
    """Writer for a path.

    Raises:
        UsageError: The format is unknown.
    """
    chosen = format or format_of(path)
    if chosen not in _WRITERS:
        raise UsageError(f"unknown format {chosen!r}", hint=f"use one of {', '.join(_WRITERS)}")
    return _WRITERS[chosen](path, header)


def reader_of(path: Path, format: ExchangeFormat | None) -> GraphReader:  # noqa: A002
    """Reader for a path; its header has been checked.

    Raises:
        UsageError: The format is unknown, or cannot be read back.
        DataError: There is nothing at the path, or nothing that is an exported graph.
    """
    if not path.exists():
        raise DataError(f"there is no file or folder {path}", hint="give what `proas graph export` wrote")
    if not (path.is_file() or path.is_dir()):
        raise DataError(f"{path} is neither a file nor a folder", hint="it is read twice, which a pipe cannot be")
    chosen = format or format_of(path)
    if chosen == "graphml":
        raise UsageError(
            f"{path}: GraphML is for other tools and does not hold everything", hint="import Parquet or JSONL"
        )
    if chosen not in _READERS:
        raise UsageError(f"unknown format {chosen!r}", hint=f"use one of {', '.join(_READERS)}")
    return _READERS[chosen](path)
