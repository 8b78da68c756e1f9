"""The local server that a command means: one that runs, else the default release's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from proas.localdb import LocalServer

__all__ = ["ReleaseOption", "local_server"]

ReleaseOption = Annotated[
    str | None,
    typer.Option("--release", help="Neo4j release, 5.26 or 2026.08; the one that runs, else 5.26.", metavar="NAME"),
]


def local_server(release: str | None = None) -> LocalServer:
    """The local server of a release; without one, the server that runs, else the default release's.

    Raises:
        UsageError: There is no such release.
    """
    from proas.localdb import DEFAULT_RELEASE, LocalServer, releases

    if release is not None:
        return LocalServer(release=release)
    first = LocalServer(release=DEFAULT_RELEASE)
    if first.status().info is not None:
        return first
    others = (LocalServer(release=name) for name in releases() if name != DEFAULT_RELEASE)
    return next((server for server in others if server.status().info is not None), first)
