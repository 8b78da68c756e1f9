"""Rollouts on disk: one JSON object a line, UTF-8.

A line that cannot be used is a :class:`~proas.rollouts.Reject` with its line number and reason; the rest goes on.
Reading is streamed and bounded: no line is ever held beyond ``max_line_bytes``.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Literal, TextIO, TypedDict

from pydantic import BaseModel, ValidationError
from pydantic_core import to_json

from proas.errors import DataError
from proas.rollouts import Reject, Rollout, RolloutBatch

__all__ = ["MAX_LINE_BYTES", "load_rollouts", "read_rollouts", "write_rejects", "write_rollouts"]

MAX_LINE_BYTES = 64 * 1024 * 1024
"""A rollout of 50 steps takes about 50 kB; far beyond that the line is not a rollout."""

_EXCERPT = 120


def read_rollouts(path: Path, *, max_line_bytes: int = MAX_LINE_BYTES) -> Iterator[Rollout | Reject]:
    """Read rollouts one by one, in file order.

    Args:
        path: A JSONL file.
        max_line_bytes: Longer lines are rejected unread.

    Yields:
        A rollout, or a reject with line number and reason. The second and later rollouts of one id are rejects.

    Raises:
        DataError: The file cannot be opened or read.
    """
    seen: dict[str, int] = {}
    try:
        with path.open("rb") as file:
            for number, line in _lines(file, max_line_bytes):
                if line is None:
                    reason = f"line is longer than {max_line_bytes} bytes"
                    yield Reject(reason, source=path.name, line=number)
                    continue
                if not line.strip():
                    continue
                parsed = _parse(line, path.name, number)
                if isinstance(parsed, Rollout):
                    first = seen.setdefault(parsed.id, number)
                    if first != number:
                        reason = f"rollout id {parsed.id!r} was already used in line {first}"
                        yield Reject(reason, source=path.name, line=number, id=parsed.id, field="id")
                        continue
                yield parsed
    except OSError as error:
        reason = error.strerror or str(error)
        raise DataError(f"cannot read {path}: {reason}", hint="give a JSONL file of rollouts") from error


def load_rollouts(path: Path, *, max_line_bytes: int = MAX_LINE_BYTES) -> RolloutBatch:
    """Read a whole file into one batch; see :func:`read_rollouts`."""
    rollouts: list[Rollout] = []
    rejects: list[Reject] = []
    for record in read_rollouts(path, max_line_bytes=max_line_bytes):
        if isinstance(record, Rollout):
            rollouts.append(record)
        else:
            rejects.append(record)
    return RolloutBatch(tuple(rollouts), tuple(rejects))


def write_rollouts(path: Path, rollouts: Iterable[Rollout]) -> int:
    """Write rollouts as JSONL; the file appears whole or not at all.

    Returns:
        Number of rollouts written.

    Raises:
        DataError: The file cannot be written.
    """
    return _write_lines(path, map(_line, rollouts))


def write_rejects(path: Path, rejects: Iterable[Reject]) -> int:
    """Write rejects as JSONL, one object a line with the fields of :class:`~proas.rollouts.Reject`."""
    rows = ({name: getattr(r, name) for name in r.__slots__} for r in rejects)
    return _write_lines(path, (json.dumps(row, ensure_ascii=False) for row in rows))


def _line(rollout: Rollout) -> str:
    """One rollout as JSON: our own fields without those that are not known, foreign ones as they came."""
    foreign = list(_foreign(rollout))
    if not foreign:
        return rollout.model_dump_json(exclude_none=True)
    row = rollout.model_dump(mode="json", exclude_none=True)
    for place, fields in foreign:
        target: Any = row
        for part in place:
            target = target[part]
        target.update(fields)
    return to_json(row).decode()


def _foreign(record: BaseModel, place: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """Fields that are not ours, with the place of the record that has them."""
    if record.model_extra:
        yield place, record.model_extra
    for name in _NESTED.intersection(record.__dict__):
        value = record.__dict__[name]
        if isinstance(value, BaseModel):
            yield from _foreign(value, (*place, name))
        elif isinstance(value, tuple):
            for number, item in enumerate(value):
                yield from _foreign(item, (*place, name, number))


_NESTED = frozenset({"start", "steps", "state", "label"})
"""Fields of a rollout and its parts that are records themselves."""


def _write_lines(path: Path, lines: Iterable[str]) -> int:
    count = 0
    try:
        with _appearing(path) as file:
            for line in lines:
                file.write(line + "\n")
                count += 1
    except OSError as error:
        reason = error.strerror or str(error)
        raise DataError(
            f"cannot write {path}: {reason}", hint="check that the folder exists and is writable"
        ) from error
    return count


@contextmanager
def _appearing(path: Path) -> Iterator[TextIO]:
    """A file to write, which replaces the one at ``path`` when the block ends well. A stream is written to directly."""
    # Surrogates come from agents that emit half an emoji; JSON escapes keep them readable by every parser.
    how: _Opening = {"mode": "w", "encoding": "utf-8", "errors": "backslashreplace"}
    standard = _standard_stream(path)
    if standard is not None:
        with os.fdopen(os.dup(standard), **how) as file:
            yield file
        return
    if path.exists() and not path.is_file():  # a pipe or a device: nothing to replace
        with path.open(**how) as file:
            yield file
        return
    target = path.resolve()  # of a link, what it names is replaced, not the link
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    temporary = Path(name)
    try:
        with os.fdopen(handle, **how) as file:
            yield file
        temporary.chmod(0o666 & ~_umask())
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


class _Opening(TypedDict):
    mode: Literal["w"]
    encoding: str
    errors: str


def _standard_stream(path: Path) -> int | None:
    """The descriptor of standard output or error, if ``path`` is another name for it (``/dev/stdout > file``)."""
    for descriptor in (1, 2):
        try:
            if os.path.samestat(os.fstat(descriptor), path.stat()) and path.is_file():
                return descriptor
        except OSError:  # no such file yet, or a closed descriptor
            continue
    return None


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _lines(file: BinaryIO, limit: int) -> Iterator[tuple[int, bytes | None]]:
    """Numbered lines; ``None`` in place of one that is longer than ``limit`` bytes."""
    number = 0
    while line := file.readline(limit + 1):
        number += 1
        if len(line) <= limit or line.endswith(b"\n"):
            yield number, line
            continue
        while (rest := file.readline(limit + 1)) and not rest.endswith(b"\n"):
            pass
        yield number, None


def _parse(line: bytes, source: str, number: int) -> Rollout | Reject:
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError as error:
        excerpt = line[:_EXCERPT].decode("utf-8", "replace").strip()
        reason = f"not UTF-8: byte 0x{line[error.start]:02x} at position {error.start}"
        return Reject(reason, source=source, line=number, excerpt=excerpt)
    excerpt = text[:_EXCERPT].strip()
    if number == 1:
        text = text.removeprefix("\ufeff")
    try:
        return Rollout.model_validate_json(text.rstrip("\r\n"))
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        reason = _reason(first["msg"], error.error_count() - 1)
        return Reject(reason, source=source, line=number, id=_id_of(text), field=where, excerpt=excerpt)


def _reason(message: str, others: int) -> str:
    """What the validator says, without the words that mean something else here: a record is one line of the file."""
    message = message.removeprefix("Value error, ").replace(" at line 1 column ", " at column ")
    return message + (f" (and {others} more fault{'s' if others > 1 else ''})" if others else "")


def _id_of(text: str) -> str:
    try:
        record = json.loads(text)
    except (ValueError, RecursionError):
        return ""
    value = record.get("id") if isinstance(record, dict) else None
    return value[:512] if isinstance(value, str) else ""
