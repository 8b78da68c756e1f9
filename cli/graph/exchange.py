"""``proas graph export | import``: graphs as files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from proas.cli.console import Advance, Output, facts_table
from proas.cli.options import DatabaseOptions, GraphMeant, Json, with_options

if TYPE_CHECKING:
    from proas.graph.exchange import ExchangeFormat

__all__ = ["export_graph", "import_graph"]


class Format(StrEnum):
    """File formats that are written."""

    PARQUET = "parquet"
    JSONL = "jsonl"
    GRAPHML = "graphml"


class Readable(StrEnum):
    """File formats that are read."""

    PARQUET = "parquet"
    JSONL = "jsonl"


@with_options
def export_graph(
    out: Annotated[
        Path,
        typer.Option(
            "--out", "-o", help="File in .jsonl, .jsonl.gz or .graphml, or a folder for Parquet.", metavar="PATH"
        ),
    ],
    database: DatabaseOptions,
    graph: GraphMeant = None,
    file_format: Annotated[
        Format | None,
        typer.Option(
            "--format",
            help="The format, where the ending of the path does not say it.",
            metavar="parquet|jsonl|graphml",
        ),
    ] = None,
    flatten: Annotated[
        bool, typer.Option("--flatten", help="Write a layer and its base as one plain graph.", metavar="")
    ] = False,
    json: Json = False,
) -> None:
    """Write a graph into a file: Parquet and JSONL come back as the identical graph, GraphML is for other tools."""
    from proas.cli.database import connect, graph_meant
    from proas.graph.exchange import export_graph as write

    output = Output(json_wanted=json)
    store = graph_meant(connect(database, output), graph)
    with output.progress(f"Exporting {store.name}") as advance:
        chosen: ExchangeFormat | None = file_format.value if file_format else None
        report = write(store, out, chosen, flatten=flatten, progress=_adding(advance))
    facts = {"version": report.version, **_counts(report.counts), "written to": report.path, "bytes": report.bytes}
    document: dict[str, Any] = asdict(report)
    output.result(document, facts_table(facts, title=f"Exported {store.name} as {report.format}"))


@with_options
def import_graph(
    source: Annotated[Path, typer.Argument(help="File or folder that `proas graph export` wrote.", metavar="PATH")],
    database: DatabaseOptions,
    graph: Annotated[
        str | None,
        typer.Option("--graph", "-g", help="Name of the new graph; the one that it had if not given.", metavar="NAME"),
    ] = None,
    base: Annotated[
        str | None,
        typer.Option("--base", help="Base of a layer, where it is not called as it was.", metavar="NAME"),
    ] = None,
    file_format: Annotated[
        Readable | None,
        typer.Option("--format", help="The format, where the path does not say it.", metavar="parquet|jsonl"),
    ] = None,
    json: Json = False,
) -> None:
    """Make a new graph from a file; the whole file is checked before anything is written."""
    from proas.cli.database import prepare
    from proas.graph.exchange import import_graph as read

    output = Output(json_wanted=json)
    connection = prepare(database, output)
    with output.progress(f"Importing {source.name}") as advance:
        chosen: ExchangeFormat | None = file_format.value if file_format else None
        report = read(connection, source, graph, chosen, base=base, progress=_adding(advance))
    facts = {"version": report.version, "base": report.base or None, **_counts(report.counts)}
    document: dict[str, Any] = asdict(report)
    output.result(document, facts_table(facts, title=f"Imported {report.graph}"))


def _adding(advance: Advance) -> Callable[[int], None]:
    done = 0

    def add(rows: int) -> None:
        nonlocal done
        done += rows
        advance(done, None)

    return add


def _counts(counts: Any) -> dict[str, object]:
    return {f"{name.lower()} rows": count for name, count in counts.items()}
