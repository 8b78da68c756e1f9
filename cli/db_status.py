"""A look at the database that the commands would use, without starting anything."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any

from proas.cli.options import DatabaseOptions
from proas.errors import GraphError, LocalServerError

__all__ = ["Found", "look"]


@dataclass(frozen=True)
class Found:
    """How the database is.

    Attributes:
        title: Which one it is, for people.
        state: ``running``, ``stopped``, ``starting``, ``unresponsive`` or ``unreachable``.
        facts: What is known about it, in the order to be shown.
        detail: Why it is not running, may be empty.
        extra: Further facts for programs.
    """

    title: str
    state: str
    facts: dict[str, object]
    detail: str = ""
    extra: dict[str, Any] = field(default_factory=dict)

    @property
    def answers(self) -> bool:
        """Whether it answers queries."""
        return self.state == "running"

    @property
    def document(self) -> dict[str, Any]:
        """All of it, for programs."""
        return {"state": self.state, **self.facts, **self.extra, "detail": self.detail}


def look(options: DatabaseOptions, release: str | None) -> Found:
    """Look at the database that the options and the environment name, else at the local server."""
    if release is None and (options.uri or os.environ.get("NEO4J_URI")):
        return _named(options)
    return _local(release)


def _named(options: DatabaseOptions) -> Found:
    from proas.cli.console import Output
    from proas.cli.database import connect

    connection = connect(options, Output())
    facts: dict[str, object] = {"uri": connection.uri, "username": connection.username}
    facts |= {"database": connection.database}
    title = "The server that NEO4J_URI names" if options.uri is None else "The server that --uri names"
    try:
        return Found(title, "running", facts | _inside(connection))
    except GraphError as error:
        return Found(title, "unreachable", facts, detail=str(error), extra={"error": type(error).__name__})


def _local(release: str | None) -> Found:
    from proas.cli.local import local_server
    from proas.graph.connect import Connection

    server = local_server(release)
    status = server.status()
    facts: dict[str, object] = {"release": status.release, "home": str(status.home), "installed": status.installed}
    if status.info is None:
        detail = status.detail or "start it with `proas db up`"
        return Found("The local server", status.state, facts, detail=detail)
    info = status.info
    facts = {
        "uri": info.uri,
        "browser": f"{info.http_url}/browser/",
        "username": info.username,
        "database": info.database,
        "pid": info.pid,
        "since": status.since.isoformat(timespec="seconds") if status.since else None,
        **facts,
    }
    if not status.running:
        return Found("The local server", status.state, facts, detail=status.detail)
    connection = Connection(uri=info.uri, username=info.username, password=info.password, database=info.database)
    try:
        return Found("The local server", status.state, facts | _inside(connection))
    except (GraphError, LocalServerError) as error:
        return Found("The local server", "unresponsive", facts, detail=str(error))


def _inside(connection: Any) -> dict[str, object]:
    """What the server says of itself: its release, the schema, the graphs."""
    from proas.graph.client import Client
    from proas.graph.migrations import migration_info
    from proas.graph.store import list_graphs

    version = Client(connection).server_version()
    states = [info.state for info in migration_info(connection)]
    schema = "not made yet" if set(states) == {"pending"} else ", ".join(sorted(set(states)))
    graphs = [] if set(states) == {"pending"} else [graph.name for graph in list_graphs(connection)]
    return {"server": f"Neo4j {version}", "schema": schema, "graphs": ", ".join(graphs) or "none"}
