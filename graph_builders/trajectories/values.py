"""JSON values out of a file of any size, one after the other: lines, one array, one object, several documents.

Only one value is held at a time, and none beyond a bound. A value that is malformed costs itself alone: the reader
finds its end by its brackets or its line and goes on behind it.
"""

from __future__ import annotations

import gzip
import io
import json
import re
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from proas.errors import DataError

__all__ = ["LONGEST_VALUE", "Text", "json_texts"]

LONGEST_VALUE = 64 * 1024 * 1024
"""An episode of 50 steps takes about 50 kB; far beyond this bound, in bytes, a value is no episode."""

_CHUNK = 1 << 20
_HEAD = 4096
_PEEKED_LINES = 20
_GZIP = b"\x1f\x8b"
_BOM = b"\xef\xbb\xbf"
_TOKEN = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+("?)|[\[\]{}]', re.DOTALL)
_REST_OF_STRING = re.compile(rb'[^"\\]*+(?:\\.[^"\\]*+)*+("?)', re.DOTALL)
_END_OF_SCALAR = re.compile(rb"[,\]}\s]")
_SPACE = b" \t\r\n"


@dataclass(frozen=True, slots=True)
class Text:
    """The text of one value, or why there is none.

    Attributes:
        line: 1-based line on which it begins.
        json: The bytes of the value; empty where there is a fault.
        fault: What is wrong, in words; empty where nothing is.
    """

    line: int
    json: bytes = b""
    fault: str = ""


def json_texts(
    path: Path, *, limit: int = LONGEST_VALUE, progress: Callable[[int], None] | None = None
) -> Iterator[Text]:
    """The values of a file in order.

    A file of lines gives a value a line; an array its elements; an object that is larger than ``limit`` its members
    (the elements of those that are arrays, and ``{name: value}`` of the others); a smaller object is one value.

    Args:
        path: A JSON or JSONL file, possibly compressed by gzip; what it is shows in its content.
        limit: Bytes that a value may have.
        progress: Called with the number of bytes read of the file since the last call.

    Yields:
        Texts of values, which still have to be parsed, and faults.

    Raises:
        DataError: The file cannot be opened or read.
    """
    try:
        with path.open("rb") as file:
            counted = _Counted(file, progress or (lambda _: None))
            magic = counted.peek(2)
            if magic[:2] == _GZIP:
                with gzip.GzipFile(fileobj=counted) as unpacked:
                    yield from _safely(_Scanner(unpacked.read1, limit))  # ``read`` would lose what precedes a damage
            else:
                yield from _Scanner(counted.read, limit).values()
    except OSError as error:
        reason = error.strerror or str(error)
        raise DataError(f"cannot read {path}: {reason}", hint="give JSON or JSONL files of episodes") from error


class _Counted(io.BufferedReader):
    """A file that tells how much of it was read."""

    def __init__(self, file: BinaryIO, told: Callable[[int], None]) -> None:
        super().__init__(file)  # type: ignore[arg-type]  # a buffered file reads like a raw one
        self._told = told

    def read(self, size: int | None = -1, /) -> bytes:
        data = super().read(size)
        self._told(len(data))
        return data


def _safely(scanner: _Scanner) -> Iterator[Text]:
    """All values; a damaged archive is a fault behind the last whole one."""
    try:
        yield from scanner.values()
    except (gzip.BadGzipFile, zlib.error, EOFError) as error:
        yield Text(scanner.line, fault=f"the gzip archive is damaged here: {error}")


class _EndOfFile(Exception):
    """The file ended inside a value that began on that line."""

    def __init__(self, line: int) -> None:
        super().__init__(line)
        self.line = line


class _Scanner:
    """A window over a stream that moves forward only.

    Args:
        read: Gives up to so many further bytes, none at the end.
        limit: Bytes that a value may have.
    """

    def __init__(self, read: Callable[[int], bytes], limit: int) -> None:
        self.line = 1
        self._read = read
        self._limit = limit
        self._window = b""
        self._at = 0
        self._ended = False

    def values(self) -> Iterator[Text]:
        """See :func:`json_texts`."""
        while len(self._window) < _HEAD and self._more():
            pass
        if self._window.startswith(_BOM):
            self._at = len(_BOM)
        if not self._skip(_SPACE):
            yield Text(0, fault="the file is empty")
        elif fault := _not_text(self._window[self._at :][:_HEAD]):
            yield Text(0, fault=fault)
        elif self._is_lines():
            yield from self._lines()
        else:
            try:
                yield from self._documents()
            except _EndOfFile as end:
                yield Text(end.line, fault="the file ends inside this value")

    def _more(self) -> bool:
        """Widen the window; false at the end of the file."""
        data = b"" if self._ended else self._read(max(_CHUNK, (len(self._window) - self._at) // 2))
        self._ended = self._ended or not data
        if data:
            self._window = self._window[self._at :] + data
            self._at = 0
        return bool(data)

    def _move(self, to: int) -> None:
        self.line += self._window.count(b"\n", self._at, to)
        self._at = to

    def _skip(self, characters: bytes) -> bool:
        """Move to the next byte that is none of these; false at the end of the file."""
        while True:
            rest = len(self._window[self._at : self._at + 256].lstrip(characters))
            step = min(256, len(self._window) - self._at) - rest
            self._move(self._at + step)
            if rest:
                return True
            if self._at == len(self._window) and not self._more():
                return False

    def _is_lines(self) -> bool:
        """Whether the file is one of lines, as its first lines tell."""
        first = self._line_at(0)
        if first is None:
            return False
        opening = first[:1]
        if opening not in (b"{", b"["):
            return True
        if _is_json(first):
            return opening == b"{" or any(self._line_at(n) for n in range(1, _PEEKED_LINES))
        if opening == b"[" or len(first) == 1:
            return False
        # The first line is damaged, or the document is laid out over several lines, which are then indented.
        later = (self._line_at(n) for n in range(1, _PEEKED_LINES))
        return any(line is not None and line[:1] == b"{" and _is_json(line) for line in later)

    def _line_at(self, number: int) -> bytes | None:
        """One of the first lines from here, without white space at its end; ``None`` behind the end or the limit."""
        begin = 0
        while True:
            end = self._window.find(b"\n", self._at + begin)
            if end < 0:
                if len(self._window) - self._at - begin > self._limit:
                    return None
                if self._more():
                    continue
                end = len(self._window)
            if number == 0:
                return self._window[self._at + begin : end].rstrip(_SPACE)
            begin = end + 1 - self._at
            if self._at + begin >= len(self._window) and not self._more():
                return None
            number -= 1

    def _lines(self) -> Iterator[Text]:
        while self._skip(_SPACE):
            begun, too_long = self.line, False
            while (end := self._window.find(b"\n", self._at)) < 0:
                too_long = too_long or len(self._window) - self._at > self._limit
                if too_long:  # let go of what will not be used
                    self._move(len(self._window))
                if not self._more():
                    end = len(self._window)
                    break
            if too_long or end - self._at > self._limit:
                yield Text(begun, fault=f"longer than {self._limit:,} bytes")
            else:
                yield Text(begun, self._window[self._at : end].rstrip(_SPACE))
            self._move(end)

    def _documents(self) -> Iterator[Text]:
        while self._skip(_SPACE):
            if self._here() == b"[":
                self._move(self._at + 1)
                yield from self._elements()
            elif self._here() == b"{":
                yield from self._object()
            else:
                yield Text(self.line, fault=f"not JSON: a value cannot begin with {self._excerpt()}")
                return

    def _here(self) -> bytes:
        return self._window[self._at : self._at + 1]

    def _excerpt(self) -> str:
        return repr(self._window[self._at : self._at + 20].decode("utf-8", "replace"))

    def _elements(self) -> Iterator[Text]:
        while True:
            if not self._skip(_SPACE + b","):
                raise _EndOfFile(self.line)
            if self._here() == b"]":
                self._move(self._at + 1)
                return
            if self._here() in b"}:":
                yield Text(self.line, fault=f"not JSON: expected a value, found {self._excerpt()}")
                self._move(self._at + 1)
                continue
            yield self._value()

    def _object(self) -> Iterator[Text]:
        """A whole object, or the members of one that is too large to be an episode."""
        if self._fits():
            yield self._value()
            return
        self._move(self._at + 1)
        while True:
            if not self._skip(_SPACE + b","):
                raise _EndOfFile(self.line)
            if self._here() == b"}":
                self._move(self._at + 1)
                return
            name = self._value()
            if not self._skip(_SPACE + b":"):
                raise _EndOfFile(name.line)
            if self._here() == b"[":
                self._move(self._at + 1)
                yield from self._elements()
            else:
                value = self._value()
                json = b"" if value.fault else b"{" + name.json + b":" + value.json + b"}"
                yield Text(name.line, json, value.fault)

    def _fits(self) -> bool:
        """Whether the value here ends within the limit."""
        depth, offset, inside = 0, 0, False
        while True:
            if inside:
                rest = _REST_OF_STRING.match(self._window, self._at + offset)
                assert rest is not None
                offset, inside = rest.end() - self._at, not rest.group(1)
            else:
                depth, offset, inside, done = self._scan(depth, offset)
                if done:
                    return offset <= self._limit
            if offset > self._limit:
                return False
            if not self._more() and (inside or self._at + offset >= len(self._window)):
                return True  # the file ends here: reading the value says so

    def _scan(self, depth: int, offset: int) -> tuple[int, int, bool, bool]:
        """Follow brackets to the end of the window: depth, offset, inside a string, at the end of the value."""
        window, at = self._window, self._at
        for token in _TOKEN.finditer(window, at + offset):
            first = window[token.start()]
            if first == 0x22:  # a string
                if not token.group(1):
                    return depth, token.end() - at, True, False
            elif first in b"[{":
                depth += 1
            else:
                depth -= 1
                if depth == 0:
                    return depth, token.end() - at, False, True
        return depth, len(window) - at, False, False

    def _value(self) -> Text:
        """The value here; the window moves behind it. Raises ``_EndOfFile`` where the file ends before it does."""
        begun = self.line
        if self._here() not in (b"{", b"[", b'"'):
            return self._scalar(begun)
        depth, offset, inside, done, dropped = 0, 0, False, False, 0
        if self._here() == b'"':
            offset, inside = 1, True
        while not done:
            if inside:
                rest = _REST_OF_STRING.match(self._window, self._at + offset)
                assert rest is not None
                offset, inside = rest.end() - self._at, not rest.group(1)
                done = not inside and depth == 0
            else:
                depth, offset, inside, done = self._scan(depth, offset)
            if dropped + offset > self._limit:
                dropped += offset
                self._move(self._at + offset)
                offset = 0
            if not done and (inside or self._at + offset >= len(self._window)) and not self._more():
                raise _EndOfFile(begun)
        json = self._window[self._at : self._at + offset]
        self._move(self._at + offset)
        return Text(begun, fault=f"longer than {self._limit:,} bytes") if dropped else Text(begun, json)

    def _scalar(self, begun: int) -> Text:
        too_long = False
        while (end := _END_OF_SCALAR.search(self._window, self._at)) is None:
            if len(self._window) - self._at > self._limit:
                too_long = True
                self._move(len(self._window))
            if not self._more():
                break
        stop = len(self._window) if end is None else max(end.start(), self._at + (not too_long))
        json = self._window[self._at : stop]
        self._move(stop)
        too_long = too_long or len(json) > self._limit
        return Text(begun, fault=f"longer than {self._limit:,} bytes") if too_long else Text(begun, json)


def _is_json(text: bytes) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _not_text(head: bytes) -> str:
    """Why these first bytes are those of no text in UTF-8; empty where they may be."""
    if head.startswith(b"PAR1"):
        return "a Parquet file: write its rows as JSON lines first"
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "not UTF-8: the file begins with the mark of UTF-16"
    if b"\0" in head:
        return "not text: the file holds zero bytes"
    return ""
