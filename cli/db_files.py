"""``proas db dump | load | browser``: the local server's data as a file, and the way to look at a graph."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from urllib.parse import quote, urlsplit

import typer
from rich.text import Text

from proas.cli.console import Output, facts_table
from proas.cli.local import ReleaseOption
from proas.cli.options import Json
from proas.errors import DataError, UsageError

if TYPE_CHECKING:
    from proas.localdb import LocalServer

__all__ = ["LOOK", "browser", "browser_page", "dump", "load"]

LOOK = (
    "MATCH (t:Task) WITH t LIMIT 1 MATCH (t)-[h:HAS_SUBGOAL]->(g:Subgoal) "
    "OPTIONAL MATCH (s:State)-[m:MEMBER_OF]->(g) OPTIONAL MATCH (s)-[e:TRANSITION]->(n:State) "
    "RETURN t, h, g, m, s, e, n"
)
"""One task with its subgoals, states and transitions, to paste into Browser."""


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


def browser(
    show: Annotated[
        bool, typer.Option("--open/--no-open", help="Open the page; off where there is no screen.", metavar="")
    ] = True,
    json: Json = False,
) -> None:
    """Open Neo4j Browser on the database, and say how to log in and what to look at first.

    Prints the address, the user name and where the password is, a query to paste, and the files with the style sheet
    and saved queries.
    """
    from importlib.resources import files

    output = Output(json_wanted=json)
    url, login = browser_page()
    assets = files("proas.cypher") / "browser"
    queries = sorted(entry.name for entry in assets.iterdir() if entry.name.endswith((".cypher", ".grass")))
    document = {"url": url, **login, "query": LOOK, "assets": str(assets), "files": queries}
    facts = facts_table(
        {
            "page": url,
            **{name.replace("_", " "): value for name, value in login.items()},
            "style and queries": str(assets),
        },
        title="Neo4j Browser",
    )
    query = Text(LOOK, no_wrap=True, overflow="ignore")
    output.result(document, facts, "", "Paste this to see a graph:", "", query)
    if show and not json and _has_screen():
        import webbrowser

        webbrowser.open(url)


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


def browser_page() -> tuple[str, dict[str, str]]:
    """Address of the page and how to log in there."""
    from proas.cli.local import local_server

    uri = os.environ.get("NEO4J_URI", "")
    if not uri:
        info = local_server().status().info
        if info is None:
            raise UsageError("no local server runs", hint="start it with `proas db up`, or set NEO4J_URI")
        login = {"username": info.username, "password_file": str(info.home / "password"), "database": info.database}
        return f"{info.http_url}/browser/", {"connect_to": info.uri, **login}
    parts = urlsplit(uri)
    database = os.environ.get("NEO4J_DATABASE", "neo4j")
    login = {"connect_to": uri, "username": os.environ.get("NEO4J_USERNAME", "neo4j"), "database": database}
    host = parts.hostname or "localhost"
    if host.endswith(".databases.neo4j.io"):
        return f"https://browser.neo4j.io/?connectURL={quote(uri, safe='')}", login
    secure = parts.scheme.endswith(("+s", "+ssc"))
    return (f"https://{host}:7473/browser/" if secure else f"http://{host}:7474/browser/"), login


def _has_screen() -> bool:
    import sys

    if sys.platform in {"darwin", "win32"}:
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
