"""Finds the files of a source and reads their episodes one by one."""

from __future__ import annotations

import glob
import json
import os
import stat
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from proas.errors import DataError
from proas.graph_builders.trajectories.episodes import Aside, Episode, Record, Unreadable
from proas.graph_builders.trajectories.formats import AUTO, Format, chosen_formats, episodes_in
from proas.graph_builders.trajectories.harbor import is_paper, outcome_beside, with_outcome
from proas.graph_builders.trajectories.transcripts import is_plain, transcript_texts
from proas.graph_builders.trajectories.values import LONGEST_VALUE, Text, json_texts

__all__ = ["ENDINGS", "find_files", "read_episodes"]

ENDINGS = (".json", ".jsonl", ".ndjson", ".json.gz", ".jsonl.gz", ".ndjson.gz")
"""Names of files that are looked into where a folder is given."""

_EXCERPT = 120


def find_files(paths: Sequence[Path]) -> tuple[Path, ...]:
    """The files that paths name, each once: files, folders searched in depth, and patterns such as ``logs/*.jsonl``.

    Raises:
        DataError: A path names nothing.
    """
    if not paths:
        raise DataError("no episodes named", hint="give --data a file, a folder or a pattern")
    found: dict[tuple[int, int], Path] = {}
    for path in paths:
        files = list(_named(path))
        if not files:
            raise DataError(
                f"{path}: no episodes there", hint="files that end in " + ", ".join(ENDINGS[:3]) + ", or .gz"
            )
        for file in files:
            status = file.stat()
            found.setdefault((status.st_dev, status.st_ino), file)
    return tuple(found.values())


def _named(path: Path) -> Iterator[Path]:
    try:
        exists = path.exists()
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: {error}") from error
    if exists:
        yield from _in_folder(path) if path.is_dir() else (path,)
        return
    if not glob.has_magic(str(path)):
        raise DataError(f"{path}: no such file or folder", hint="give a file, a folder or a pattern of episodes")
    for name in sorted(glob.glob(str(path), recursive=True)):  # noqa: PTH207  # the pattern may be absolute
        file = Path(name)
        if file.is_dir():
            yield from _in_folder(file)
        elif file.exists():
            yield file


def _in_folder(folder: Path) -> Iterator[Path]:
    for place, children, names in os.walk(folder):
        children.sort()
        for name in sorted(names):
            file = Path(place) / name
            if not name.lower().endswith(ENDINGS) or is_paper(file):
                continue
            if file.exists() and stat.S_ISREG(file.stat().st_mode):
                yield file


def read_episodes(
    path: Path,
    format_name: str = AUTO,
    *,
    source: str = "",
    limit: int = LONGEST_VALUE,
    progress: Callable[[int], None] | None = None,
) -> Iterator[Episode | Aside]:
    """The episodes of a file in order, read as a stream.

    Args:
        path: A JSON or JSONL file, or by its name plain text, possibly compressed by gzip.
        format_name: Name of a format, or ``auto``: each record by what it shows.
        source: What to call the file in messages; its name if not given.
        limit: Bytes that a record may have.
        progress: Called with the number of bytes read since the last call.

    Yields:
        Episodes, and what had to be kept aside, with its line and reason. A record never ends the reading.

    Raises:
        UsageError: There is no such format.
        DataError: The file cannot be read.
    """
    formats = chosen_formats(format_name)
    name = source or path.name
    beside = outcome_beside(path)
    texts = transcript_texts if is_plain(path) else json_texts
    for text in texts(path, limit=limit, progress=progress):
        for answer in _episodes(text, name, formats):
            yield answer if beside is None or isinstance(answer, Aside) else with_outcome(answer, beside)


def _episodes(text: Text, source: str, formats: tuple[Format, ...]) -> Iterator[Episode | Aside]:
    excerpt = text.json[:_EXCERPT].decode("utf-8", "replace")
    if text.fault:
        yield Aside("bad_json", text.fault, source, text.line)
        return
    try:
        value = json.loads(text.json.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        yield Aside("bad_json", _fault(error), source, text.line, excerpt=excerpt)
        return
    for record, answer in episodes_in(Record(value, source, text.line), formats):
        if isinstance(answer, Unreadable):
            yield Aside(answer.problem, answer.reason, source, text.line, id=record.name[:200], excerpt=excerpt)
        else:
            yield answer


def _fault(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"not JSON: {error.msg} at character {error.pos + 1}"
    if isinstance(error, UnicodeDecodeError):
        return f"not UTF-8: byte 0x{error.object[error.start]:02x} at position {error.start}"
    return f"not JSON: {'nested too deeply' if isinstance(error, RecursionError) else error}"
