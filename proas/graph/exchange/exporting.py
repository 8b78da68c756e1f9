"""From the database into a file."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from proas.errors import GraphConflict, RecordError
from proas.graph.client import Client
from proas.graph.exchange.envelope import Header, Placed, batches
from proas.graph.exchange.formats import ExchangeFormat, format_of, writer_of
from proas.graph.exchange.soundness import Soundness
from proas.graph.exchange.tables import TABLE_OF, TABLES
from proas.graph.exchange.union import plain_rows, union_rows
from proas.graph.migrations import migration_info
from proas.graph.rows import GraphRow, Row
from proas.graph.store import ReferenceGraph, list_graphs

__all__ = ["ExportReport", "export_graph"]


@dataclass(frozen=True, slots=True)
class ExportReport:
    """What an export wrote.

    Attributes:
        graph: Name of the graph.
        version: Version that the file holds.
        base: Base of an exported layer; empty for a plain graph and for a flattened layer.
        path: Where it lies.
        format: In which format.
        counts: Rows of each table.
        left_out: Properties that somebody else put on elements of the graph and that no file has a place for, as
            ``State.note``, with the number of elements that carry them.
        bytes: Size on disk.
        seconds: Wall-clock time.
    """

    graph: str
    version: int
    base: str
    path: Path
    format: ExchangeFormat
    counts: Mapping[str, int]
    left_out: Mapping[str, int]
    bytes: int
    seconds: float


def export_graph(
    graph: ReferenceGraph,
    path: Path,
    format: ExchangeFormat | None = None,  # noqa: A002
    *,
    flatten: bool = False,
    progress: Callable[[int], None] | None = None,
) -> ExportReport:
    """Write a graph into a file; it appears whole or not at all.

    The file holds the graph as of the version that is current at the start: what trainers add in the meantime is
    newer and left out (only ``support`` may already count a later success). A layer is written alone, with the name
    and version of its base. Memory does not grow with the graph but for the keys (40 MB a million elements).

    Args:
        graph: The graph.
        path: A file that ends in ``.jsonl``, ``.jsonl.gz`` or ``.graphml``, or a folder for Parquet.
        format: The format, where the ending does not say it.
        flatten: Write the union of a layer and its base as one plain graph (``proas.graph.exchange.union``). GraphML
            always holds the union, as its edges need both their ends.
        progress: Called with the number of rows written since the last call.

    Raises:
        GraphNotFound: No such graph.
        GraphConflict: It is being dropped or imported, or it is not sound, and no import would take it.
        UsageError: The path does not say in which format, or the format is unknown.
        DataError: The file cannot be written.
    """
    began = time.monotonic()
    path = Path(path)
    chosen = format or format_of(path)
    created = _available(graph)
    rows, root = _rows(graph, flatten=flatten or chosen == "graphml")
    header = _header(graph, root)
    soundness = Soundness(header)
    counts = dict.fromkeys((table.name for table in TABLES), 0)
    with writer_of(path, header, chosen) as writer:
        for batch in batches(_placed(rows, graph.name)):
            _check(soundness, batch)
            writer.write([placed.row for placed in batch])
            counts[batch[0].table.name] += len(batch)
            if progress is not None:
                progress(len(batch))
        _check(soundness, None)
        _check_still_there(graph, created)
    return ExportReport(
        graph=graph.name,
        version=root.version,
        base=root.base,
        path=path,
        format=chosen,
        counts=counts,
        left_out=_left_out(graph),
        bytes=_size(path),
        seconds=time.monotonic() - began,
    )


def _available(graph: ReferenceGraph) -> str:
    """When the graph was made, which tells it from a later one of its name."""
    info = graph.info()
    if info.dropping:
        message = f"graph {graph.name!r} is being imported or dropped"
        raise GraphConflict(message, hint="wait for it, or finish a broken one with `proas graph drop`")
    return info.created


def _check_still_there(graph: ReferenceGraph, created: str) -> None:
    # A graph without the transitions that a drop was quick to remove is sound, and not what was asked for.
    found = next((info for info in list_graphs(graph.connection) if info.name == graph.name), None)
    if found is None or found.dropping or found.created != created:
        raise GraphConflict(f"graph {graph.name!r} was dropped while it was being exported", hint="nothing was written")


def _rows(graph: ReferenceGraph, *, flatten: bool) -> tuple[Iterator[Row], GraphRow]:
    """The rows to write, and the ``ARG`` row that is the first of them."""
    root = next(graph.rows(GraphRow))
    if flatten and root.base:
        base = ReferenceGraph(graph.connection, root.base)
        union = union_rows(base, graph, root)
        first = next(union)
        assert isinstance(first, GraphRow)
        return _chained(first, union), first
    return plain_rows(graph, root.version), root


def _chained(first: Row, rest: Iterator[Row]) -> Iterator[Row]:
    yield first
    yield from rest


def _header(graph: ReferenceGraph, root: GraphRow) -> Header:
    applied = [info.version for info in migration_info(graph.connection) if info.state != "pending"]
    constraints = Client(graph.connection).rows("exchange_constraints")
    return Header(
        schema_version=max(applied, default=0),
        name=graph.name,
        version=root.version,
        base=root.base,
        base_version=root.base_version,
        constraints=tuple(
            f"{c['name']}: {c['type']} {'|'.join(c['on'])}({', '.join(c['properties'])})" for c in constraints
        ),
    )


def _placed(rows: Iterator[Row], name: str) -> Iterator[Placed]:
    for row in rows:
        table = TABLE_OF[type(row)]
        yield Placed(table, row, f"{name}: {table.name} {table.rank(row)}", 0)


def _check(soundness: Soundness, batch: list[Placed] | None) -> None:
    """Check a batch, or with ``None`` the whole: a file that is written can be read back."""
    try:
        if batch is None:
            soundness.finish()
        else:
            soundness.take_all(batch)
    except RecordError as error:
        hint = "run `proas graph verify`; if it finds nothing, a build was changing the graph: export again after it"
        raise GraphConflict(f"not exported, {error}", hint=hint) from error


def _left_out(graph: ReferenceGraph) -> dict[str, int]:
    # Fields that name the ends of a relationship are no properties, but a property of that name is not foreign either.
    ours = {table.name.lower(): ["graph", *(column.name for column in table.columns)] for table in TABLES}
    known = {kind: ours[kind] for kind in ("task", "subgoal", "state", "transition")}
    known["state"] += ["distance", "distance_since"]  # they follow from the rest, and reading measures them anew
    found = Client(graph.connection).rows("exchange_foreign_properties", graph=graph.name, **known)
    return {f"{row['kind']}.{row['property']}": row["n"] for row in found}


def _size(path: Path) -> int:
    files = path.iterdir() if path.is_dir() else (path,)
    return sum(file.stat().st_size for file in files)
