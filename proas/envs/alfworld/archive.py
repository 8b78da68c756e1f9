"""Unpacks an archive of trials into the user's cache: streaming, size-limited, safe members only."""

from __future__ import annotations

import lzma
import os
import shutil
import tarfile
import tempfile
import zlib
from hashlib import blake2b
from pathlib import Path, PurePosixPath

from filelock import FileLock
from platformdirs import user_cache_path

from proas.errors import DataError

__all__ = ["ARCHIVE_SUFFIXES", "TRIAL_FILES", "cache_root", "is_archive", "unpacked"]

ARCHIVE_SUFFIXES = (".tar.xz", ".tar.gz", ".tgz", ".tar.bz2", ".tar")
TRIAL_FILES = frozenset({"traj_data.json", "initial_state.pddl", "game.tw-pddl"})
"""Names of the files that make up a trial; nothing else is ever unpacked."""

MAX_MEMBER_BYTES = 32 * 2**20
"""A trial's file is tens of kilobytes; one this large is not a trial's file."""
MAX_TOTAL_BYTES = 16 * 2**30
"""The whole release unpacks to about 2 GB."""
MAX_MEMBERS = 500_000

_CHUNK = 2**20


def cache_root() -> Path:
    """Folder of everything that this package caches for the user; ``PROAS_CACHE_DIR`` moves it."""
    named = os.environ.get("PROAS_CACHE_DIR")
    return (Path(named) if named else user_cache_path("proas")) / "alfworld"


def is_archive(path: Path) -> bool:
    """Whether a path names an archive by its suffix."""
    return path.name.lower().endswith(ARCHIVE_SUFFIXES)


def unpacked(archive: Path) -> Path:
    """Folder with the trials of an archive, unpacked on first use and found again by content.

    Raises:
        DataError: The archive is damaged, too large, or holds no trial.
    """
    target = cache_root() / "archives" / _content_hash(archive)
    if target.is_dir():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{target}.lock"):
        if not target.is_dir():
            # A half-written folder never carries the final name, so a killed run leaves nothing to trip over.
            scratch = Path(tempfile.mkdtemp(prefix=".partial-", dir=target.parent))
            try:
                if _extract(archive, scratch) == 0:
                    raise DataError(f"{archive}: no ALFWorld trial inside", hint="expected " + _EXPECTED)
                scratch.rename(target)
            finally:
                shutil.rmtree(scratch, ignore_errors=True)
    return target


_EXPECTED = "<split>/<task>/<trial>/{traj_data.json, initial_state.pddl, game.tw-pddl}"


def _content_hash(archive: Path) -> str:
    digest = blake2b(digest_size=12)
    try:
        with archive.open("rb") as stream:
            while chunk := stream.read(_CHUNK):
                digest.update(chunk)
    except OSError as error:
        raise DataError(f"{archive}: cannot be read ({error.strerror})") from error
    return digest.hexdigest()


def _extract(archive: Path, target: Path) -> int:
    """Write the trial files of an archive under ``target``; the number written."""
    written = total = seen = 0
    try:
        with tarfile.open(archive, "r|*") as stream:
            for member in stream:
                seen += 1
                relative = _safe_path(member)
                if seen > MAX_MEMBERS or total > MAX_TOTAL_BYTES:
                    raise DataError(f"{archive}: larger than any release of ALFWorld", hint="unpack it yourself")
                if relative is None:
                    continue
                if member.size > MAX_MEMBER_BYTES:
                    raise DataError(f"{archive}: {member.name} has {member.size:,} bytes, more than a trial file can")
                source = stream.extractfile(member)
                if source is None:
                    continue
                place = target / relative
                place.parent.mkdir(parents=True, exist_ok=True)
                with place.open("wb") as sink:
                    shutil.copyfileobj(source, sink, _CHUNK)
                total += member.size
                written += 1
    except (tarfile.TarError, lzma.LZMAError, zlib.error, EOFError) as error:
        raise DataError(f"{archive}: damaged archive ({error})", hint="fetch it again") from error
    except OSError as error:
        raise DataError(f"{archive}: cannot be unpacked ({error})") from error
    return written


def _safe_path(member: tarfile.TarInfo) -> PurePosixPath | None:
    """Where a member goes, or ``None`` when it is no plain trial file at a plain relative path."""
    path = PurePosixPath(member.name)
    if not member.isreg() or path.name not in TRIAL_FILES or path.is_absolute() or ".." in path.parts:
        return None
    return path
