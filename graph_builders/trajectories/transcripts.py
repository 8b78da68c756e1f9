"""Transcripts out of a plain text, as programs print them: one after the other, parted by rules of dashes."""

from __future__ import annotations

import gzip
import json
import re
import zlib
from collections.abc import Callable, Iterator
from io import BufferedReader
from pathlib import Path

from proas.errors import DataError
from proas.graph_builders.trajectories.values import LONGEST_VALUE, Text

__all__ = ["PLAIN_ENDINGS", "is_plain", "transcript_texts"]

PLAIN_ENDINGS = (".txt", ".log", ".out", ".txt.gz", ".log.gz", ".out.gz")
"""Names of files that are plain text; they are read where they are named, not where a folder is."""

_RULE = re.compile(rb"[ \t]*-{5,}[ \t]*\r?\n?\Z")
_LONGEST_LINE = 1 << 20


def is_plain(path: Path) -> bool:
    """Whether a file is plain text by its name."""
    return path.name.lower().endswith(PLAIN_ENDINGS)


def transcript_texts(
    path: Path, *, limit: int = LONGEST_VALUE, progress: Callable[[int], None] | None = None
) -> Iterator[Text]:
    """The texts between rules of five dashes or more, each as a JSON string; the whole file where it has no rule.

    Args:
        path: A text file, possibly compressed by gzip.
        limit: Bytes that a text may have.
        progress: Called with the size of the file when it has been read.

    Yields:
        Texts that hold more than white space, and faults.

    Raises:
        DataError: The file cannot be opened or read.
    """
    try:
        with _opened(path) as file:
            yield from _between_rules(file, limit)
        if progress is not None:
            progress(path.stat().st_size)
    except (gzip.BadGzipFile, zlib.error, EOFError) as error:
        yield Text(0, fault=f"the gzip archive is damaged: {error}")
    except OSError as error:
        reason = error.strerror or str(error)
        raise DataError(f"cannot read {path}: {reason}", hint="give files of episodes") from error


def _opened(path: Path) -> gzip.GzipFile | BufferedReader:
    return gzip.open(path, "rb") if path.name.lower().endswith(".gz") else path.open("rb")


def _between_rules(file: gzip.GzipFile | BufferedReader, limit: int) -> Iterator[Text]:
    held: list[bytes] = []
    size, begun, number, found = 0, 1, 0, False
    while line := file.readline(_LONGEST_LINE):
        number += line.endswith(b"\n")
        if _RULE.match(line) is None:
            size += len(line)
            if size <= limit:
                held.append(line)
            continue
        for text in _text(begun, held, size, limit):
            found = True
            yield text
        held, size, begun = [], 0, number + 1
    for text in _text(begun, held, size, limit):
        found = True
        yield text
    if not found:
        yield Text(0, fault="the file is empty")


def _text(begun: int, held: list[bytes], size: int, limit: int) -> Iterator[Text]:
    if size > limit:
        yield Text(begun, fault=f"longer than {limit:,} bytes")
        return
    whole = b"".join(held)
    if b"\0" in whole:
        yield Text(begun, fault="not text: it holds zero bytes")
    elif whole.strip():
        yield Text(begun, json.dumps(whole.decode("utf-8", "replace")).encode())
