"""Which database a command talks to, found in the same order by all of them, and its schema at first use.

Order: ``--uri`` or ``NEO4J_URI``; else the local server that runs; else the local server is started.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from proas.cli.console import Output
from proas.cli.options import DatabaseOptions
from proas.errors import GraphNotFound, GraphVersionError, UsageError

if TYPE_CHECKING:
    from proas.graph.connect import Connection
    from proas.graph.store import ReferenceGraph

__all__ = ["connect", "existing_graph", "graph_meant", "prepare"]

_LISTED = 5


def connect(options: DatabaseOptions, output: Output) -> Connection:
    """Settings of the database that the user means; the local server is started where nothing else is named.

    Raises:
        UsageError: Options that make no sense, or no password.
        LocalServerError: The local server could not be started.
    """
    from proas.graph.connect import Connection

    environ = dict(os.environ)
    if options.password_file is not None:
        environ.pop("NEO4J_PASSWORD", None)
        environ["NEO4J_PASSWORD_FILE"] = str(options.password_file)
    if options.uri or environ.get("NEO4J_URI"):
        return Connection.resolve(
            uri=options.uri, username=options.username, database=options.database, environ=environ
        )
    if options.username or options.password_file:
        raise UsageError(
            "a user name or password file was given, but no server to use it with",
            hint="add --uri, or set NEO4J_URI; the local server keeps its own password",
        )
    return _local(options, output)


def prepare(options: DatabaseOptions, output: Output) -> Connection:
    """Like :func:`connect`, for commands that make a graph: a database without any schema of ours gets it.

    A database that holds an older schema is left to ``proas db migrate``, so that no upgrade happens unasked.

    Raises:
        GraphVersionError: The schema is older or newer than this release's.
    """
    from proas.graph.migrations import migrate, migration_info

    connection = connect(options, output)
    states = {info.state for info in migration_info(connection)}
    if states == {"pending"}:
        with output.waiting("Making the schema"):
            migrate(connection)
        output.done(f"made the schema in database {connection.database!r}")
    elif "pending" in states:
        raise GraphVersionError(
            f"the schema of database {connection.database!r} is older than this release",
            hint="run `proas db info`, then `proas db migrate`",
        )
    return connection


def existing_graph(connection: Connection, name: str) -> ReferenceGraph:
    """A graph that is there.

    Raises:
        GraphNotFound: There is none of that name; the hint names those that may be meant, else the first of all.
    """
    from proas.graph.store import ReferenceGraph, list_graphs

    graph = ReferenceGraph(connection, name)
    if graph.exists():
        return graph
    names = [info.name for info in list_graphs(connection)]
    near = _near(name, names)
    if near:
        hint = f"did you mean {_some(near)}?"
    elif names:
        hint = f"there are: {_some(names)}; `proas graph list` lists all"
    else:
        hint = "there is none yet; make one with `proas graph build`"
    raise GraphNotFound(f"no graph is called {name!r} in database {connection.database!r}", hint=hint)


def _near(typed: str, names: list[str]) -> list[str]:
    """Names that are spelt much like what was typed, and those that hold it."""
    import difflib

    alike = difflib.get_close_matches(typed, names, n=_LISTED)
    return [*alike, *(name for name in names if typed.lower() in name.lower() and name not in alike)] if typed else []


def _some(names: list[str]) -> str:
    more = f" and {len(names) - _LISTED:,} more" if len(names) > _LISTED else ""
    return ", ".join(names[:_LISTED]) + more


def graph_meant(connection: Connection, name: str | None) -> ReferenceGraph:
    """The graph of that name; without one, that of ``PROAS_GRAPH``, else the only one (layers aside) that is there.

    Raises:
        GraphNotFound: There is none of that name, or none at all.
        UsageError: Several graphs could be meant.
    """
    from proas.graph.store import list_graphs

    named = name if name is not None else os.environ.get("PROAS_GRAPH")
    if named:
        return existing_graph(connection, named)
    infos = list_graphs(connection)
    if not infos:
        raise GraphNotFound(
            f"there is no graph in database {connection.database!r} yet", hint="make one with `proas graph build`"
        )
    bases = [info.name for info in infos if not info.base]
    if len(bases) != 1:
        raise UsageError(f"which graph? there are {_some(bases)}", hint="add --graph NAME or set PROAS_GRAPH")
    return existing_graph(connection, bases[0])


def _local(options: DatabaseOptions, output: Output) -> Connection:
    from proas.cli.local import local_server
    from proas.graph.connect import Connection
    from proas.localdb import console_progress

    server = local_server()
    if not server.status().running:
        output.warn("no NEO4J_URI, and no local server runs: starting one (`proas db down` ends it)")
    with console_progress(output.err) as progress:
        info = server.up(progress)
    database = options.database or os.environ.get("NEO4J_DATABASE") or info.database
    return Connection(uri=info.uri, username=info.username, password=info.password, database=database)
