"""Dump and load the database files of a stopped server; what was there before survives a load that fails."""

from __future__ import annotations

import os
import shutil
import uuid
from pathlib import Path
from typing import BinaryIO

from proas.errors import DataError, LocalServerError, UsageError
from proas.localdb.admin import DATABASE, AdminTool
from proas.localdb.home import Home

__all__ = ["dump_file", "dump_target", "has_database", "load_file", "recover"]

_STORES = (Path("databases") / DATABASE, Path("transactions") / DATABASE)
_ALL_MOVED = "all-moved"
# What the admin tool says of a file that has not even the head of a dump.
_NO_DUMP = "Not a valid Neo4j archive"


def has_database(home: Home) -> bool:
    """Whether the instance has database files."""
    return (home.data / _STORES[0]).exists()


def dump_target(path: Path, *, overwrite: bool) -> Path:
    """Say which file a dump goes to: ``path``, or ``neo4j.dump`` in it when it is a folder.

    Raises:
        UsageError: The file is there and must not be replaced, or its folder is not there.
    """
    path = path.expanduser().absolute()
    target = path / f"{DATABASE}.dump" if path.is_dir() else path
    if target.exists() and not overwrite:
        raise UsageError(f"{target} exists already", hint="choose another name, or ask for it to be overwritten")
    if not target.parent.is_dir():
        raise UsageError(f"there is no folder {target.parent}", hint="make it first")
    return target


def dump_file(tool: AdminTool, target: Path) -> None:
    """Dump into a file, which appears whole or not at all.

    Raises:
        LocalServerError: The dump failed.
    """
    part = target.with_name(f".{target.name}.{uuid.uuid4().hex[:8]}")
    try:
        with part.open("xb") as out:
            tool.dump(out)
            out.flush()
            os.fsync(out.fileno())
        part.replace(target)
    except OSError as error:
        reason = error.strerror or str(error)
        hint = "check that the folder is writable and has room"
        raise LocalServerError(f"cannot write {target}: {reason}", hint=hint) from error
    finally:
        part.unlink(missing_ok=True)


def load_file(tool: AdminTool, home: Home, source: Path) -> None:
    """Replace the database by a dump.

    Raises:
        DataError: The file is no dump.
        LocalServerError: The load failed; the database is the one from before.
    """
    try:
        file = source.open("rb")
    except OSError as error:
        raise DataError(f"cannot read {source}: {error}") from error
    with file:
        _replace(tool, home, source, file)


def _replace(tool: AdminTool, home: Home, source: Path, file: BinaryIO) -> None:
    recover(home)
    aside, done = _aside(home), _done(home)
    aside.mkdir(parents=True)
    for store in _STORES:
        if (home.data / store).exists():
            (aside / store).parent.mkdir(parents=True, exist_ok=True)
            (home.data / store).rename(aside / store)
    (aside / _ALL_MOVED).touch()
    try:
        tool.load(file)
    except LocalServerError as error:
        recover(home)
        if _NO_DUMP in error.message:
            raise DataError(f"{source} is no Neo4j dump") from error
        raise LocalServerError(
            f"{source} could not be loaded, and the database from before is kept: {error.message}",
            hint="the file may be cut short, or the disk full",
        ) from error
    except BaseException:
        recover(home)
        raise
    # Renamed at once, removed at leisure: from here on the new database counts.
    aside.rename(done)
    shutil.rmtree(done, ignore_errors=True)


def recover(home: Home) -> None:
    """Undo a load that did not come to its end, its process killed for instance."""
    shutil.rmtree(_done(home), ignore_errors=True)
    aside = _aside(home)
    if not aside.exists():
        return
    # Every step can be broken off and done again. With the marker, what stands in the stores' places is of the new
    # database; without it, it is of the old one.
    if (aside / _ALL_MOVED).exists():
        for store in _STORES:
            shutil.rmtree(home.data / store, ignore_errors=True)
        (aside / _ALL_MOVED).unlink()
    for store in _STORES:
        if (aside / store).exists():
            (home.data / store).parent.mkdir(parents=True, exist_ok=True)
            (aside / store).rename(home.data / store)
    shutil.rmtree(aside)


def _aside(home: Home) -> Path:
    return home.data / "before-load"


def _done(home: Home) -> Path:
    return home.data / "replaced-by-load"
