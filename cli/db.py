"""``proas db``: the local server, and the schema of whichever database is used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from proas.cli import db_browser, db_files
from proas.cli.console import Output, columns, facts_table, moment, plain
from proas.cli.local import ReleaseOption
from proas.cli.options import DatabaseOptions, Json, with_options

if TYPE_CHECKING:
    from proas.graph.migrations import MigrationInfo
    from proas.localdb import ServerInfo

__all__ = ["app"]

app = typer.Typer(help="Run a local Neo4j server, and look after the schema.", no_args_is_help=True)


@app.command("up")
def up(
    release: ReleaseOption = None,
    bolt_port: Annotated[
        int | None, typer.Option("--bolt-port", min=1, max=65535, help="Bolt port; 7687, or a free one.", metavar="N")
    ] = None,
    http_port: Annotated[
        int | None, typer.Option("--http-port", min=1, max=65535, help="HTTP port; 7474, or a free one.", metavar="N")
    ] = None,
    heap: Annotated[str, typer.Option("--heap", help="Largest Java heap.", metavar="SIZE")] = "1g",
    page_cache: Annotated[str, typer.Option("--page-cache", help="Cache of store pages.", metavar="SIZE")] = "512m",
    java: Annotated[
        str | None,
        typer.Option("--java", help="bundled, system or a path; PROAS_JAVA if not given.", metavar="WHICH"),
    ] = None,
    json: Json = False,
) -> None:
    """Start the local server, fetching it first where needed; one that runs is left as it is.

    It listens on this machine alone, with a random password in a file that only its owner can read.
    """
    import os

    from proas.cli.local import local_server
    from proas.localdb import DEFAULT_RELEASE, LocalServer, console_progress

    output = Output(json_wanted=json)
    if release is None and local_server().status().info is not None:
        server = local_server()
    else:
        server = LocalServer(
            release=release or DEFAULT_RELEASE,
            bolt_port=bolt_port,
            http_port=http_port,
            heap=heap,
            page_cache=page_cache,
            java=java,
        )
    ran = server.status().running
    with console_progress(output.err) as progress:
        info = server.up(progress)
    title = "The server runs already" if ran else "The server runs"
    output.result(
        {"state": "running", "started": not ran, **_server(info)},
        facts_table(_server(info) | {"pid": str(info.pid)}, title=title),
    )
    if os.environ.get("NEO4J_URI"):
        output.warn("NEO4J_URI is set, so the other commands use that server and not this one")


@app.command("down")
def down(release: ReleaseOption = None, json: Json = False) -> None:
    """End the local server; its data stays. A process that is not this server is never touched."""
    from proas.cli.local import local_server

    output = Output(json_wanted=json)
    server = local_server(release)
    with output.waiting("Ending the server"):
        ended = server.down()
    output.result({"ended": ended}, "The server has ended; its data stays." if ended else "No local server runs.")


@app.command("status")
@with_options
def status(database: DatabaseOptions, release: ReleaseOption = None, json: Json = False) -> None:
    """Say which database the commands use and how it is; ends with code 1 when it does not answer.

    Starts nothing.
    """
    from proas.cli.db_status import look

    output = Output(json_wanted=json)
    found = look(database, release)
    facts: dict[str, object] = {"state": Text(found.state, "green" if found.answers else "yellow"), **found.facts}
    if "pid" in facts:
        facts["pid"] = str(facts["pid"])  # a name, not an amount
    if found.detail:
        facts["detail"] = found.detail
    output.result(found.document, facts_table(facts, title=found.title))
    if not found.answers:
        raise typer.Exit(1)


@app.command("migrate")
@with_options
def migrate(database: DatabaseOptions, json: Json = False) -> None:
    """Bring the schema up to this release; running it again changes nothing."""
    from proas.cli.database import connect
    from proas.graph.migrations import migrate as apply
    from proas.graph.migrations import migration_info

    output = Output(json_wanted=json)
    connection = connect(database, output)
    before = {info.version for info in migration_info(connection) if info.state == "applied"}
    with output.waiting("Migrating"):
        after = apply(connection)
    new = [info for info in after if info.version not in before]
    output.result({"applied": [info.source for info in new], **_migrations(after)}, _migration_table(after))
    output.done(f"{len(new)} applied, {len(after) - len(new)} were there before")


@app.command("info")
@with_options
def info(database: DatabaseOptions, json: Json = False) -> None:
    """List the migrations that this release ships and those that the database has."""
    from proas.cli.database import connect
    from proas.graph.migrations import migration_info

    output = Output(json_wanted=json)
    found = migration_info(connect(database, output))
    output.result(_migrations(found), _migration_table(found))


@app.command("validate")
@with_options
def validate(database: DatabaseOptions, json: Json = False) -> None:
    """Check that the database has exactly this release's schema; ends with code 1 when it has not."""
    from proas.cli.database import connect
    from proas.graph.migrations import validate as check

    output = Output(json_wanted=json)
    found = check(connect(database, output))
    output.result({"valid": True, **_migrations(found)}, _migration_table(found))
    output.done("the schema is that of this release")


app.command("dump")(db_files.dump)
app.command("load")(db_files.load)
app.command("browser")(db_browser.browser)


def _server(info: ServerInfo) -> dict[str, Any]:
    return {
        "uri": info.uri,
        "browser": f"{info.http_url}/browser/",
        "username": info.username,
        "password_file": str(info.home / "password"),
        "database": info.database,
        "release": info.release,
        "pid": info.pid,
        "home": str(info.home),
    }


def _migrations(found: tuple[MigrationInfo, ...]) -> dict[str, Any]:
    from dataclasses import asdict

    return {"migrations": [asdict(info) for info in found]}


def _migration_table(found: tuple[MigrationInfo, ...]) -> Any:
    style = {"applied": "green", "pending": "yellow"}
    table = columns("version", "migration", "state", "applied at", "by", right=("version",))
    for info in found:
        state = Text(info.state, style.get(info.state, "bold red"))
        table.add_row(str(info.version), plain(info.description), state, moment(info.at), plain(info.by))
    return table
