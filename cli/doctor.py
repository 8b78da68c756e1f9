"""``proas doctor``: is everything there that a training run needs?"""

from __future__ import annotations

import os
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from proas.cli.console import Output, columns, plain
from proas.cli.options import DatabaseOptions, EnvName, EnvOptions, GraphMeant, Json, env_spec, with_options

if TYPE_CHECKING:
    from proas.graph.connect import Connection

__all__ = ["doctor"]


class PartName(StrEnum):
    """What can be left out."""

    VERL = "verl"
    GRAPH = "graph"
    DATA = "data"
    DEVICES = "devices"


@with_options
def doctor(
    database: DatabaseOptions,
    graph: GraphMeant = None,
    env: EnvName = "alfworld",
    data: Annotated[
        Path | None,
        typer.Option("--data", help="The environment's data; its default if not given.", metavar="PATH"),
    ] = None,
    option: EnvOptions = None,
    without: Annotated[
        list[PartName] | None,
        typer.Option("--without", help="Do not look at this; may be repeated.", metavar="verl|graph|data|devices"),
    ] = None,
    json: Json = False,
) -> None:
    """Look at verl and its plug-in, the database, the graph, the data and the devices; name what is broken."""
    from proas.integrations.health import PARTS, Wanted, examine

    output = Output(json_wanted=json)
    left_out = {part.value for part in without or ()}
    wanted = Wanted(
        parts=tuple(part for part in PARTS if part not in left_out),
        connect=lambda: _connection(database),
        graph=graph if graph is not None else os.environ.get("PROAS_GRAPH"),
        env=env_spec(env, data, option),
    )
    with output.waiting("Looking"):
        findings = list(examine(wanted))
    broken = [finding for finding in findings if finding.ok is False]
    table = columns("", "what", "found", "what to do")
    for finding in findings:
        mark = {True: Text("ok", "green"), False: Text("broken", "red"), None: Text("-", "dim")}[finding.ok]
        table.add_row(mark, plain(finding.name), plain(finding.found), plain(finding.advice))
    summary = f"{len(broken)} of {len(findings)} things are broken" if broken else "everything is there"
    checks = [{"name": f.name, "ok": f.ok, "found": f.found, "advice": f.advice} for f in findings]
    output.result({"ok": not broken, "checks": checks}, table, plain(summary))
    if broken:
        raise typer.Exit(1)


def _connection(options: DatabaseOptions) -> Connection:
    """The database that a run would use; unlike other commands, this one starts nothing."""
    from proas.graph.connect import Connection

    environ = dict(os.environ)
    if options.password_file is not None:
        environ.pop("NEO4J_PASSWORD", None)
        environ["NEO4J_PASSWORD_FILE"] = str(options.password_file)
    return Connection.resolve(
        uri=options.uri,
        username=options.username,
        database=options.database,
        environ=environ,
        start_local=False,
    )
