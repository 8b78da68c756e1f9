"""``proas db browser``: Neo4j Browser on the database, with colours, saved queries and a guide."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import quote, urlsplit

import typer
from rich.text import Text

from proas.cli.console import Output, facts_table
from proas.cli.options import LARGEST, DatabaseOptions, Json, with_options

if TYPE_CHECKING:
    from proas.graph.connect import Connection
    from proas.graph.painting import PaintReport, TaskSize
    from proas.graph.store import ReferenceGraph

__all__ = ["LOOK", "browser", "browser_page"]

LOOK = (
    "MATCH (t:Task) WITH t LIMIT 1 MATCH (t)-[h:HAS_SUBGOAL]->(g:Subgoal) "
    "OPTIONAL MATCH (s:State)-[m:MEMBER_OF]->(g) OPTIONAL MATCH (s)-[e:TRANSITION]->(n:State) "
    "RETURN t, h, g, m, s, e, n"
)
"""One task with its subgoals, states and transitions, to paste into Browser."""

_MOST = 2000

_CLICKS = (
    "Log in there; the guide opens by itself in the side bar. Two clicks there make Browser ready: the first sets the "
    "colours, the second the parameters of the queries. If it does not open, type into the line at the top:"
)
_BY_HAND = "Or drag the style sheet, proas.grass, onto Browser and the .cypher files onto its favourites; they are in"


@dataclass(frozen=True)
class _Shown:
    """What Browser is to show.

    Attributes:
        store: The graph; ``None`` where the database holds none.
        tasks: Its tasks, those first that are to be looked at first.
        paint: What was painted; ``None`` where nothing was.
        other: Graph to compare with; empty for one that is sought.
    """

    store: ReferenceGraph | None
    tasks: tuple[TaskSize, ...] = ()
    paint: PaintReport | None = None
    other: str = ""


@with_options
def browser(
    database: DatabaseOptions,
    graph: Annotated[
        str | None,
        typer.Option(
            "--graph",
            "-g",
            help="The graph that the guide speaks of; if not given, PROAS_GRAPH, else the one that changed last.",
            metavar="NAME",
        ),
    ] = None,
    task: Annotated[
        str | None,
        typer.Option(
            "--task",
            help="Key of the task to begin with, or its unique beginning; if not given, that of which most was learnt.",
            metavar="TASK",
        ),
    ] = None,
    other: Annotated[
        str | None, typer.Option("--other", help="A graph to compare it with, such as another run's.", metavar="NAME")
    ] = None,
    limit: Annotated[
        int,
        typer.Option(
            "--limit",
            min=1,
            max=LARGEST,
            help="Colour the tasks of which most was learnt, up to this many states.",
            metavar="N",
        ),
    ] = _MOST,
    clear: Annotated[
        bool, typer.Option("--clear", help="Take the colours' labels and marks off the graph, and end.", metavar="")
    ] = False,
    show: Annotated[
        bool, typer.Option("--open/--no-open", help="Open the page; off where there is no screen.", metavar="")
    ] = True,
    serve: Annotated[
        bool | None,
        typer.Option(
            "--serve/--no-serve",
            help="Stay and serve the guide and the style sheet to Browser until Ctrl-C; with --json only if asked for.",
            metavar="",
        ),
    ] = None,
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, help="Port for guide and style; 0 takes a free one.", metavar="N")
    ] = 0,
    json: Json = False,
) -> None:
    """Look at a graph in Neo4j Browser: colours, saved queries and a guide through what was learnt.

    Starts the local server where no other is named, gives the tasks of which most was learnt the labels and marks that
    colours hang on, opens the page, and serves guide and style sheet on this machine until Ctrl-C.
    """
    from proas.cli.database import connect

    output = Output(json_wanted=json)
    connection = connect(database, output)
    if clear:
        _clear(output, _graph(connection, graph))
        return
    shown = _shown(output, connection, graph, task, other, limit)
    if serve is False or (serve is None and json):
        document, facts = _address(connection, shown, guide="", style="")
        output.result(document, *facts, *_look())
        _open(document["url"], wanted=show and not json)
        return
    _serve(output, connection, shown, port=port, show=show and not json)


def _serve(output: Output, connection: Connection, shown: _Shown, *, port: int, show: bool) -> None:
    import threading

    from proas.browser import AssetServer

    with AssetServer(_files(shown), port=port) as server:
        guide, style = server.address("guide.html"), server.address("proas.grass")
        document, facts = _address(connection, shown, guide=guide, style=style)
        lines = [f":guide {guide}", f":style {style}"]
        output.result(
            document,
            *facts,
            "",
            _CLICKS,
            "",
            *(Text(line, "bold", no_wrap=True, overflow="ignore") for line in lines),
            "",
            Text(f"{_BY_HAND} {document['assets']}"),
            "",
            Text("Serving guide and style on this machine; Ctrl-C ends it.", "dim"),
        )
        _open(document["url"], wanted=show)
        with suppress(KeyboardInterrupt):  # the way to end it
            threading.Event().wait()
    output.done("guide and style are served no more; the database runs on")


def _files(shown: _Shown) -> dict[str, Callable[[str], str]]:
    """What the server hands out; the guide is made anew each time, of what the database holds then."""
    from proas.browser import GuideFacts, guide_page
    from proas.browser.facts import facts_of
    from proas.cypher import browser_files

    texts = browser_files()
    grass = texts["proas.grass"]
    queries = {name: text for name, text in texts.items() if name.endswith(".cypher")}

    def guide(address: str) -> str:
        style = f"{address}/proas.grass"
        if shown.store is None:
            return guide_page(GuideFacts(), style=style, grass=grass, queries=queries)
        painted = len(shown.paint.tasks) if shown.paint else 0
        facts = facts_of(shown.store, shown.tasks, painted_tasks=painted, other=shown.other)
        return guide_page(facts, style=style, grass=grass, queries=queries)

    def file(text: str) -> Callable[[str], str]:
        return lambda _address: text

    return {"guide.html": guide} | {name: file(text) for name, text in texts.items()}


def _graph(connection: Connection, named: str | None) -> ReferenceGraph | None:
    """The graph that is meant, else the one that changed last; ``None`` where there is none."""
    from proas.browser.facts import graph_to_look_at
    from proas.cli.database import existing_graph

    name = named or os.environ.get("PROAS_GRAPH") or graph_to_look_at(connection)
    return existing_graph(connection, name) if name else None


def _shown(
    output: Output, connection: Connection, graph: str | None, task: str | None, other: str | None, limit: int
) -> _Shown:
    from proas.browser.facts import painted, tasks_of
    from proas.cli.database import existing_graph
    from proas.cli.graph.task_names import find_task
    from proas.errors import GraphError, UsageError

    store = _graph(connection, graph)
    if store is None:
        return _Shown(None)
    if other is not None:
        existing_graph(connection, other)
    wanted = find_task(store, task) if task is not None else None
    tasks = tasks_of(store, wanted)
    if wanted is not None and wanted not in {one.key for one in tasks[:1]}:
        base = store.info().base
        raise UsageError(
            f"{store.name!r} holds nothing of its own of {wanted}",
            hint=f"its base does: add --graph {base}" if base else "choose another task",
        )
    paint = None
    try:
        with output.waiting(f"Colouring {store.name}"):
            paint = painted(store, tasks, most=limit)
    except GraphError as error:  # an account that may only read, for example
        output.warn(f"{store.name!r} is shown without colours by source, order, age and support: {error.message}")
    return _Shown(store, tasks, paint, other or "")


def _clear(output: Output, store: ReferenceGraph | None) -> None:
    from proas.errors import GraphNotFound
    from proas.graph.client import Client
    from proas.graph.painting import unpaint

    if store is None:
        raise GraphNotFound("there is no graph", hint="make one with `proas graph build`")
    with output.waiting(f"Clearing {store.name}"):
        tasks = unpaint(Client(store.connection), store.name)
    output.result({"graph": store.name, "cleared": tasks}, f"{store.name}: no colours on its {tasks:,} tasks any more.")


def _address(
    connection: Connection, shown: _Shown, *, guide: str, style: str
) -> tuple[dict[str, Any], tuple[Any, ...]]:
    from importlib.resources import files

    from proas.browser import browser_address
    from proas.cypher import browser_files

    page, login = browser_page(connection.uri, connection.username, connection.database)
    url = page
    if guide:
        names = {"username": connection.username, "database": connection.database}
        url = browser_address(page, connect_to=connection.uri, guide=guide, **names)
    document: dict[str, Any] = {
        "url": url,
        **login,
        "query": LOOK,
        "assets": str(files("proas.cypher") / "browser"),
        "files": sorted(browser_files()),
        "guide": guide or None,
        "style": style or None,
        "graph": shown.store.name if shown.store else None,
        "task": shown.tasks[0].key if shown.tasks else None,
        "coloured_tasks": len(shown.paint.tasks) if shown.paint else 0,
        "coloured_states": shown.paint.states if shown.paint else 0,
    }
    facts: dict[str, object] = {**{name.replace("_", " "): value for name, value in login.items()}}
    if shown.store is not None:
        facts["graph"] = shown.store.name
    if shown.paint is not None:
        facts["coloured"] = f"{len(shown.paint.tasks):,} of {len(shown.tasks):,} tasks, {shown.paint.states:,} states"
    if not guide:
        facts["style and queries"] = document["assets"]
    title = Text("Neo4j Browser", "bold")
    return document, (title, Text(url, no_wrap=True, overflow="ignore"), facts_table(facts))


def _look() -> tuple[Any, ...]:
    return "", "Paste this to see a graph:", "", Text(LOOK, no_wrap=True, overflow="ignore")


def browser_page(uri: str = "", username: str = "", database: str = "") -> tuple[str, dict[str, str]]:
    """Address of the page and how to log in there.

    Args:
        uri: Address of the database; if empty, ``NEO4J_URI``, else the local server.
        username: To log in with; if empty, ``NEO4J_USERNAME``.
        database: Its name; if empty, ``NEO4J_DATABASE``.

    Raises:
        UsageError: Nothing is named, and no local server runs.
    """
    from proas.cli.local import local_server
    from proas.errors import UsageError

    info = local_server().status().info
    uri = uri or os.environ.get("NEO4J_URI", "")
    if info is not None and uri in {"", info.uri}:
        login = {"username": info.username, "password_file": str(info.home / "password"), "database": info.database}
        return f"{info.http_url}/browser/", {"connect_to": info.uri, **login, "database": database or info.database}
    if not uri:
        raise UsageError("no local server runs", hint="start it with `proas db up`, or set NEO4J_URI")
    parts = urlsplit(uri)
    login = {
        "connect_to": uri,
        "username": username or os.environ.get("NEO4J_USERNAME", "neo4j"),
        "database": database or os.environ.get("NEO4J_DATABASE", "neo4j"),
    }
    host = parts.hostname or "localhost"
    if host.endswith(".databases.neo4j.io"):
        return f"https://browser.neo4j.io/?connectURL={quote(uri, safe='')}", login
    secure = parts.scheme.endswith(("+s", "+ssc"))
    return (f"https://{host}:7473/browser/" if secure else f"http://{host}:7474/browser/"), login


def _open(url: str, *, wanted: bool) -> None:
    if wanted and _has_screen():
        import webbrowser

        webbrowser.open(url)


def _has_screen() -> bool:
    import sys

    if sys.platform in {"darwin", "win32"}:
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
