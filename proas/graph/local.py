"""The local server of ``proas.localdb`` as the last place to look for a database."""

from __future__ import annotations

from pydantic import SecretStr

__all__ = ["local_settings"]


def local_settings(*, start: bool) -> tuple[str, str, SecretStr, str]:
    """Address, login name, password and database of the local server.

    Args:
        start: Start it if it is not running.

    Raises:
        GraphUnavailable: It is not running, and starting it is not allowed.
        LocalServerError: It could not be started.
    """
    from proas.errors import GraphUnavailable
    from proas.localdb import LocalServer

    server = LocalServer()
    found = server.up() if start else server.status().info
    if found is None:
        raise GraphUnavailable(
            "no Neo4j server is named and the local one does not run", hint="run `proas db up`, or set NEO4J_URI"
        )
    return found.uri, found.username, found.password, found.database
