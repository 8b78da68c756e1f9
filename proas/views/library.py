"""The library that draws graphs in a page: Cytoscape.js (MIT), fetched once, verified, and put into each page whole.

Its lock file pins the archive and the script in it by SHA-256, as those of the server's jars do; the archive comes from
the same repository and lies in the same cache (``proas.localdb.download``). Once it is there no network is touched.
"""

from __future__ import annotations

import hashlib
import zipfile
from functools import cache
from importlib import resources
from pathlib import Path

from filelock import FileLock
from pydantic import BaseModel, ConfigDict

from proas.errors import DownloadError
from proas.localdb.download import CACHE_VARIABLE, cache_dir, fetch
from proas.localdb.release import Artifact
from proas.localdb.repository import find_repository

__all__ = ["Library", "graph_library", "pinned"]


class Library(BaseModel):
    """What the lock file says.

    Attributes:
        artifact: The archive.
        licence: SPDX name of the licence; its text heads the script.
        folder: Folder in the archive.
        script: The script, below that folder.
        script_sha256: Lower-case hex digest of the script.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    artifact: Artifact
    licence: str
    folder: str
    script: str
    script_sha256: str


@cache
def pinned() -> Library:
    """Read the lock file."""
    text = (resources.files(__package__) / "cytoscape.lock.json").read_text(encoding="utf-8")
    return Library.model_validate_json(text)


def graph_library(root: Path | None = None) -> str:
    """Source of the library, ready to be put into a page.

    Args:
        root: Cache folder; that of ``proas.localdb`` if not given.

    Raises:
        DownloadError: It is not in the cache and cannot be fetched.
    """
    library = pinned()
    folder = (cache_dir() if root is None else root) / "views"
    archive = folder / library.artifact.file
    script = _script(archive, library)
    if script is None:
        _fetch(folder, library)
        script = _script(archive, library)
    if script is None:
        raise DownloadError(f"{archive} does not hold the pinned {library.script}", hint="remove it and try again")
    return script


def _script(archive: Path, library: Library) -> str | None:
    """The script, if the archive is there and holds the pinned one."""
    try:
        with zipfile.ZipFile(archive) as opened:
            content = opened.read(f"{library.folder}/{library.script}")
    except (OSError, KeyError, zipfile.BadZipFile):
        return None
    return content.decode("utf-8") if hashlib.sha256(content).hexdigest() == library.script_sha256 else None


def _fetch(folder: Path, library: Library) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with FileLock(folder / ".lock"):
            if _script(folder / library.artifact.file, library) is None:  # another process may just have fetched it
                fetch([library.artifact], folder, find_repository(), stage="Fetching Cytoscape.js")
    except OSError as error:
        raise DownloadError(
            f"cannot write the cache in {folder}: {error}",
            hint=f"free some space, mend its permissions, or set {CACHE_VARIABLE} to another folder",
        ) from error
