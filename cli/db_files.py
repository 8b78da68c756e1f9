"""``proas db dump | load``: the local server's data as a file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from proas.cli.console import Output, facts_table
from proas.cli.local import ReleaseOption
from proas.cli.options import Json
from proas.errors import DataError, UsageError

if TYPE_CHECKING:
    from proas.localdb import LocalServer

__all__ = ["dump", "load"]


def dump(
    file: Annotated[Path, typer.Argument(help="File to write, or a folder for neo4j.dump.", metavar="FILE")],
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a file that is there.", metavar="")] = False,
    restart: Annotated[
        bool,
        typer.Option(
            "--restart", help="Stop a running server for the time of the dump, then start it again.", metavar=""
        ),
    ] = False,
    release: ReleaseOption = None,
    json: Json = False,
) -> None:
    """Write the local server's database to a file that `neo4j-admin database load` reads too."""
    from proas.localdb import console_progress

    output = Output(json_wanted=json)
    server = _own(release, "dumped")
    _stopped(server, restart, "dumped")
    if file.is_file() and not overwrite:
        raise UsageError(f"{file} exists already", hint="choose another name, or add --overwrite")
    with console_progress(output.err) as progress:
        written = server.dump(file, overwrite=overwrite, restart=restart, progress=progress)
    size = written.stat().st_size
    output.result({"file": str(written), "bytes": size}, facts_table({"written": written, "bytes": size}))


def load(
    file: Annotated[Path, typer.Argument(help="A file that `dump` wrote.", metavar="FILE")],
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace the database that is there.", metavar="")
    ] = False,
    restart: Annotated[
        bool,
        typer.Option(
            "--restart", help="Stop a running server for the time of the load, then start it again.", metavar=""
        ),
    ] = False,
    release: ReleaseOption = None,
    json: Json = False,
) -> None:
    """Replace the local server's database by a dump; when that fails, the present one is kept."""
    from proas.localdb import console_progress

    output = Output(json_wanted=json)
    server = _own(release, "loaded")
    _stopped(server, restart, "loaded")
    if not file.is_file():
        raise DataError(f"there is no file {file}", hint="give one that `proas db dump` wrote")
    if not overwrite and (server.home / "data" / "databases" / "neo4j").exists():
        raise UsageError(f"there is a database in {server.home} already", hint="add --overwrite to replace it")
    with console_progress(output.err) as progress:
        server.load(file, overwrite=overwrite, restart=restart, progress=progress)
    running = server.status().running
    document = {"file": str(file), "running": running}
    output.result(document, facts_table({"loaded": file, "server": "runs" if running else "start it with proas db up"}))


def _own(release: str | None, purpose: str) -> LocalServer:
    """The local server, unless the user works with another one."""
    from proas.cli.local import local_server

    if release is None and os.environ.get("NEO4J_URI"):
        raise UsageError(
            f"NEO4J_URI is set, and only the local server's database can be {purpose} here",
            hint="use `proas graph export` and `import`, or neo4j-admin on that server; or unset NEO4J_URI",
        )
    return local_server(release)


def _stopped(server: LocalServer, restart: bool, purpose: str) -> None:
    if not restart and server.status().info is not None:
        raise UsageError(
            f"the local server runs, and its database can be {purpose} only while it does not",
            hint="add --restart, or end it with `proas db down`",
        )
