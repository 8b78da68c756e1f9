"""The Neo4j releases that ProAS can run, each pinned by a lock file.

A lock file names every jar of one Neo4j Community release by its Maven coordinates, with size and SHA-256. It is the
only place that says what is downloaded; nothing that does not match it is ever put on a class path. The lock files lie
beside this module as ``neo4j-<release>.lock.json`` and are written by ``python -m proas.localdb.lock``.
"""

from __future__ import annotations

import re
from functools import cache
from importlib import resources
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from proas.errors import LocalServerError, UsageError

__all__ = ["DEFAULT_RELEASE", "Artifact", "Release", "load_release", "releases"]

DEFAULT_RELEASE = "5.26"

_LOCK_NAME = re.compile(r"neo4j-(?P<release>[0-9.]+)\.lock\.json")
# Segments become paths on this machine: no separators, no leading dot.
_Segment = Annotated[str, Field(pattern=r"\A[A-Za-z0-9_][A-Za-z0-9._-]*\z")]


class Artifact(BaseModel):
    """One jar.

    Attributes:
        group: Maven group id.
        artifact: Maven artifact id.
        version: Maven version.
        classifier: Maven classifier; empty for the main jar.
        size: Length in bytes.
        sha256: Lower-case hex digest of the content.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    group: _Segment
    artifact: _Segment
    version: _Segment
    classifier: Annotated[str, Field(pattern=r"\A[A-Za-z0-9._-]*\z")] = ""
    size: Annotated[int, Field(gt=0)]
    sha256: Annotated[str, Field(pattern=r"\A[0-9a-f]{64}\z")]

    @property
    def file(self) -> str:
        """Name of the jar, as Maven gives it."""
        suffix = f"-{self.classifier}" if self.classifier else ""
        return f"{self.artifact}-{self.version}{suffix}.jar"

    @property
    def path(self) -> str:
        """Path below the root of a Maven repository, in the default layout."""
        return f"{self.group.replace('.', '/')}/{self.artifact}/{self.version}/{self.file}"

    @property
    def coordinates(self) -> str:
        """Maven coordinates, ``group:artifact:version[:classifier]``."""
        return ":".join(part for part in (self.group, self.artifact, self.version, self.classifier) if part)


class Release(BaseModel):
    """One Neo4j release: what it consists of and how it is started.

    Attributes:
        format: Version of the lock file's format; 1.
        release: Name by which ProAS selects it, such as ``5.26``.
        version: Full version, such as ``5.26.30``.
        main_class: Java class that starts the server.
        java: Java feature versions that it runs on, preferred ones first.
        roots: Coordinates that were asked for; all others are their run-time dependencies.
        artifacts: Every jar, in the order of the class path.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: Annotated[int, Field(ge=1, le=1)]
    release: Annotated[str, Field(pattern=r"\A[0-9]+\.[0-9]+\z")]
    version: _Segment
    main_class: str
    java: Annotated[tuple[int, ...], Field(min_length=1)]
    roots: tuple[str, ...]
    artifacts: Annotated[tuple[Artifact, ...], Field(min_length=1)]

    @field_validator("artifacts")
    @classmethod
    def _names_are_unique(cls, artifacts: tuple[Artifact, ...]) -> tuple[Artifact, ...]:
        # The jars share one folder, so two with one name would overwrite each other.
        names = [artifact.file for artifact in artifacts]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"file names occur more than once: {', '.join(twice)}")
        return artifacts

    @property
    def size(self) -> int:
        """Bytes of all jars together."""
        return sum(artifact.size for artifact in self.artifacts)


def releases() -> tuple[str, ...]:
    """Names of the releases that have a lock file, sorted, oldest first."""
    names = (_LOCK_NAME.fullmatch(entry.name) for entry in resources.files(__package__).iterdir())
    found = [match["release"] for match in names if match]
    return tuple(sorted(found, key=lambda name: [int(part) for part in name.split(".")]))


@cache
def load_release(name: str) -> Release:
    """Read a lock file.

    Args:
        name: A member of ``releases()``.

    Raises:
        UsageError: There is no such release.
        LocalServerError: The lock file is damaged.
    """
    if name not in releases():
        raise UsageError(f"there is no Neo4j release {name!r}", hint=f"choose one of {', '.join(releases())}")
    text = resources.files(__package__).joinpath(f"neo4j-{name}.lock.json").read_text(encoding="utf-8")
    try:
        return Release.model_validate_json(text)
    except ValidationError as error:
        raise LocalServerError(
            f"the lock file of Neo4j {name} is damaged: {error.errors()[0]['msg']}", hint="install ProAS again"
        ) from error
