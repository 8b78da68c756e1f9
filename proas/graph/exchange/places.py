"""Files and folders that appear whole or not at all."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, BinaryIO

from proas.errors import DataError

__all__ = ["Placing"]


class Placing:
    """Work on a temporary neighbour of ``target`` that replaces it at the end.

    Args:
        target: The file or folder that is to appear.
    """

    def __init__(self, target: Path) -> None:
        # Through a link: what it points to is replaced, not the link.
        self._target = target.resolve()
        self._temporary: Path | None = None

    def open_file(self) -> BinaryIO:
        """A new temporary file, open for writing.

        Raises:
            DataError: It cannot be made.
        """
        with self.naming_faults():
            if self._target.exists() and not self._target.is_file():
                kind = "a folder" if self._target.is_dir() else "no regular file"
                raise DataError(f"cannot write {self._target}: it is {kind}", hint="give the path of a file")
            handle, name = tempfile.mkstemp(dir=self._target.parent, prefix=f".{self._target.name}.")
            self._temporary = Path(name)
            return os.fdopen(handle, "wb")

    def open_unnamed(self) -> IO[bytes]:
        """A new file on the same disk that vanishes when it is closed.

        Raises:
            DataError: It cannot be made.
        """
        with self.naming_faults():
            return tempfile.TemporaryFile(dir=self._target.parent)

    def make_folder(self, replaceable: str) -> Path:
        """A new temporary folder.

        Args:
            replaceable: Only files that match this pattern may be in the target, if it exists: an export replaces an
                export, and never a folder that holds anything else.

        Raises:
            DataError: It cannot be made, or the target holds something else.
        """
        with self.naming_faults():
            if self._target.is_file():
                raise DataError(f"cannot write {self._target}: it is a file", hint="Parquet needs a folder")
            if self._target.exists():
                others = [p.name for p in self._target.iterdir() if not p.match(replaceable)]
                if others:
                    message = f"{self._target} holds {others[0]!r}, which no export wrote"
                    raise DataError(message, hint="give a new folder, or one that holds an earlier export")
            self._temporary = Path(tempfile.mkdtemp(dir=self._target.parent, prefix=f".{self._target.name}."))
            return self._temporary

    @contextmanager
    def settling(self, *, failed: bool) -> Iterator[None]:
        """Let the caller close what it wrote, then move it into place; remove it when something failed."""
        assert self._temporary is not None
        try:
            with self.naming_faults():
                yield
                if not failed:
                    self._settle(self._temporary)
        finally:
            if self._temporary.is_dir():
                shutil.rmtree(self._temporary, ignore_errors=True)
            else:
                self._temporary.unlink(missing_ok=True)

    def _settle(self, temporary: Path) -> None:
        mask = os.umask(0)
        os.umask(mask)
        if temporary.is_dir():
            temporary.chmod(0o777 & ~mask)
            if self._target.exists():
                old = Path(tempfile.mkdtemp(dir=self._target.parent, prefix=f".{self._target.name}.old."))
                self._target.replace(old)  # a rename cannot replace a folder that is not empty
                temporary.replace(self._target)
                shutil.rmtree(old)
                return
        else:
            temporary.chmod(0o666 & ~mask)
        temporary.replace(self._target)

    @contextmanager
    def naming_faults(self) -> Iterator[None]:
        """Turn the system's faults into errors that name the target."""
        try:
            yield
        except OSError as error:
            reason = error.strerror or str(error)
            hint = "check that the folder exists, is writable and has room"
            raise DataError(f"cannot write {self._target}: {reason}", hint=hint) from error
