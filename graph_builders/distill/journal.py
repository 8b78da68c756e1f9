"""The journal of a teacher: every attempt on a line of its own, as soon as it is over.

The first line says how the attempts are made; each line after it is a rollout as ``proas.rollout_files`` writes them.
Lines are appended in one write each and flushed to the disk. A process that is killed can leave one torn line at the
end, which the next one cuts off. Attempts are kept on disk and read again when a task's graph is made, so that memory
does not grow with them.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from filelock import FileLock, Timeout
from pydantic import ValidationError

from proas.agents.play import UNFINISHED
from proas.errors import DataError, UsageError
from proas.rollouts import Reject, Rollout

__all__ = ["Attempt", "Journal"]

_KIND = "proas.distill"
_SCHEMA = 1
_LONGEST_LINE = 256 * 1024 * 1024
"""Bytes; an attempt of 50 steps takes about a tenth of a megabyte."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """What is remembered of an attempt; the rest is in the file.

    Attributes:
        task: Key of its task.
        number: Its number at the task, from 0.
        success: Whether the environment said that it won.
        cause: Why it ended (``proas.agents.play.Cause``).
        steps: Number of its steps.
        prompt_tokens: Tokens that the model read.
        completion_tokens: Tokens that it wrote.
        wasted_tokens: Tokens of failed tries, by estimate.
        estimated: Whether the counts are estimates.
        calls: Calls made, failed tries included.
        invalid_formats: Replies that broke the form.
        offset: Where its line begins in the file, in bytes.
        length: Length of the line in bytes.
        fresh: Whether it was made by this process.
    """

    task: str
    number: int
    success: bool
    cause: str
    steps: int
    prompt_tokens: int
    completion_tokens: int
    wasted_tokens: int
    estimated: bool
    calls: int
    invalid_formats: int
    offset: int
    length: int
    fresh: bool

    @property
    def finished(self) -> bool:
        """Whether it was played to its end. One that the model or the budget broke off may be made again."""
        return self.cause not in UNFINISHED

    @property
    def tokens(self) -> int:
        """All that it cost."""
        return self.prompt_tokens + self.completion_tokens + self.wasted_tokens


class Journal:
    """A journal that is open for reading and appending; only one process has it open at a time.

    Args:
        path: The file; made with its folder if it is new.
        settings: How attempts are made. An existing journal must have been begun with the same.

    Raises:
        DataError: The file cannot be read or written, or is no journal.
        UsageError: It was begun with other settings, or another process has it open.
    """

    def __init__(self, path: Path, settings: Mapping[str, object]) -> None:
        self.path = path
        self.attempts: list[Attempt] = []
        self.rejects: list[Reject] = []
        self.cut_off = 0
        if path.exists() and not path.is_file():
            raise DataError(f"cannot open the journal {path}: it is not a file")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._lock = FileLock(f"{path}.lock")
            self._lock.acquire(timeout=0)
            self._file = path.open("a+b")
        except Timeout:
            raise UsageError(
                f"another process writes to {path}", hint="wait for it, or name another --journal"
            ) from None
        except OSError as error:
            raise DataError(f"cannot open the journal {path}: {error.strerror or error}") from error
        try:
            self._begin(settings)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file and let others open it."""
        self._file.close()
        self._lock.release()

    def append(self, rollout: Rollout) -> Attempt:
        """Write an attempt down; it is on the disk when this returns.

        Raises:
            DataError: It cannot be written. What was written before stays.
        """
        offset = self._file.seek(0, os.SEEK_END)
        line = self._write(rollout.model_dump_json(exclude_none=True), offset)
        attempt = _attempt(rollout, offset, line, fresh=True)
        self.attempts.append(attempt)
        return attempt

    def read(self, attempt: Attempt) -> Rollout:
        """The rollout of an attempt.

        Raises:
            DataError: The file has changed meanwhile.
        """
        self._file.seek(attempt.offset)
        try:
            return Rollout.model_validate_json(self._file.read(attempt.length))
        except ValidationError:
            message = f"attempt {attempt.number} of {attempt.task} is no longer where it was in {self.path}"
            raise DataError(message, hint="the journal was changed while it was read") from None

    def _write(self, document: str, offset: int) -> int:
        """Append a line in one piece; returns its length. A line that does not fit on the disk is taken back."""
        line = document.encode("utf-8", "backslashreplace") + b"\n"
        descriptor = self._file.fileno()
        try:
            written = os.write(descriptor, line)
            if written != len(line):
                os.truncate(descriptor, offset)
                raise DataError(f"cannot write to the journal {self.path}: no space is left")
            os.fsync(descriptor)
        except OSError as error:
            raise DataError(f"cannot write to the journal {self.path}: {error.strerror or error}") from error
        return len(line)

    def _begin(self, settings: Mapping[str, object]) -> None:
        """Write or check the first line, and read the others."""
        known = json.loads(json.dumps(settings))
        lines = self._lines()
        first = next(lines, None)
        if first is None:
            self._write(json.dumps({"journal": _KIND, "schema": _SCHEMA, "settings": known}), 0)
            return
        self._check(first[2], known)
        for number, (offset, length, line) in enumerate(lines, start=2):
            self._take(line, number, offset, length)

    def _lines(self) -> Iterator[tuple[int, int, bytes]]:
        """Whole lines with their place; a torn one at the end is cut off."""
        offset = 0
        self._file.seek(0)
        while line := self._file.readline(_LONGEST_LINE):
            if len(line) == _LONGEST_LINE:
                raise DataError(f"{self.path} is not the journal of a teacher", hint="name another file by --journal")
            if not line.endswith(b"\n"):
                self.cut_off = len(line)
                os.truncate(self._file.fileno(), offset)
                return
            here, offset = offset, offset + len(line)
            yield here, len(line), line
            self._file.seek(offset)

    def _check(self, line: bytes, settings: Mapping[str, Any]) -> None:
        try:
            header = json.loads(line)
            begun: Mapping[str, Any] = header["settings"] if header["journal"] == _KIND else {}
            schema = header["schema"]
        except (ValueError, KeyError, TypeError, RecursionError):
            begun, schema = {}, 0
        if not isinstance(begun, dict) or not begun:
            raise DataError(f"{self.path} is not the journal of a teacher", hint="name another file by --journal")
        if schema != _SCHEMA:
            raise DataError(f"{self.path} is a journal of form {schema}, and this ProAS reads form {_SCHEMA}")
        other = [name for name in sorted({*begun, *settings}) if begun.get(name) != settings.get(name)]
        if other:
            name = other[0]
            raise UsageError(
                f"the journal {self.path} was begun with {name} {_shown(begun.get(name))}, not "
                f"{_shown(settings.get(name))}",
                hint="attempts made in another way do not mix: use the same settings, or name another --journal",
            )

    def _take(self, line: bytes, number: int, offset: int, length: int) -> None:
        try:
            attempt = _attempt(Rollout.model_validate_json(line), offset, length, fresh=False)
        except ValidationError as error:
            reason = str(error.errors(include_url=False)[0]["msg"])
            self.rejects.append(Reject(reason, source=self.path.name, line=number))
        except (KeyError, TypeError, ValueError) as error:
            reason = f"not an attempt of a teacher: {error}"
            self.rejects.append(Reject(reason, source=self.path.name, line=number))
        else:
            self.attempts.append(attempt)


def _attempt(rollout: Rollout, offset: int, length: int, *, fresh: bool) -> Attempt:
    extra = rollout.model_extra or {}

    def count(name: str) -> int:
        value = extra[name]
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            message = f"{name} is {value!r}"
            raise ValueError(message)
        return value

    return Attempt(
        task=rollout.task,
        number=count("attempt"),
        success=rollout.success and rollout.has_states,
        cause=str(extra["cause"]),
        steps=len(rollout.steps),
        prompt_tokens=count("prompt_tokens"),
        completion_tokens=count("completion_tokens"),
        wasted_tokens=count("wasted_tokens"),
        estimated=bool(extra["tokens_estimated"]),
        calls=count("calls"),
        invalid_formats=count("invalid_formats"),
        offset=offset,
        length=length,
        fresh=fresh,
    )


def _shown(value: object) -> str:
    return "nothing" if value is None else json.dumps(value)
