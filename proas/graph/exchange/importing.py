"""From a file into the database: checked as a whole first, then written under a name that nobody else can use."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from proas.errors import (
    DataError,
    GraphCapacityError,
    GraphConflict,
    GraphError,
    GraphNotFound,
    GraphVersionError,
    UsageError,
)
from proas.graph.client import Client, Transaction
from proas.graph.connect import Connection
from proas.graph.distances import measure_graph
from proas.graph.exchange.envelope import GraphReader, Header, Placed, batches
from proas.graph.exchange.formats import ExchangeFormat, reader_of
from proas.graph.exchange.soundness import Soundness
from proas.graph.migrations import require_schema, shipped_migrations
from proas.graph.names import check_graph_name
from proas.graph.rows import (
    GraphRow,
    Row,
    StateRow,
    SubgoalRow,
    SuccessRow,
    TaskRow,
    TransitionRow,
    VersionRow,
)
from proas.graph.store import ReferenceGraph, list_graphs

__all__ = ["ImportReport", "import_graph"]

_STATEMENTS: Mapping[type[Row], str] = {
    VersionRow: "exchange_create_versions",
    TaskRow: "create_tasks",
    SubgoalRow: "create_subgoals",
    StateRow: "create_states",
    TransitionRow: "create_transitions",
    SuccessRow: "create_successes",
}
_COUNTS = {
    "Version": "versions",
    "Task": "tasks",
    "Subgoal": "subgoals",
    "State": "states",
    "TRANSITION": "transitions",
    "Success": "successes",
}


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What an import stored.

    Attributes:
        graph: Name of the new graph.
        version: Its version.
        base: Its base, when it is a layer; else empty.
        path: What was read.
        counts: Rows of each table.
        seconds: Wall-clock time.
    """

    graph: str
    version: int
    base: str
    path: Path
    counts: Mapping[str, int]
    seconds: float


def import_graph(
    connection: Connection,
    path: Path,
    name: str | None = None,
    format: ExchangeFormat | None = None,  # noqa: A002
    *,
    base: str | None = None,
    progress: Callable[[int], None] | None = None,
) -> ImportReport:
    """Make a new graph from a file that :func:`~proas.graph.exchange.export_graph` wrote.

    The file is read twice: once to check all of it before anything is written, and once to write it in batches of
    1,000 rows. Until the last row is stored nobody can use the graph, and when anything fails it is removed. Only a
    killed process leaves something, which ``proas graph drop`` clears away.

    Args:
        connection: The database; its schema must be migrated.
        path: A ``.jsonl`` or ``.jsonl.gz`` file, or a folder of Parquet files.
        name: Name of the new graph; by default the one that it had.
        format: The format, where the ending of the path does not say it.
        base: Name of the base of a layer, where it is not the one that it had.
        progress: Called with the number of rows done since the last call; each row counts twice, once when it is
            checked and once when it is stored.

    Raises:
        GraphConflict: There is a graph of that name, or the base does not hold what the layer repeats from it.
        GraphNotFound: The base of a layer is not there.
        GraphVersionError: The schema is not migrated, or the file comes from a later release.
        RecordError: A row of the file is unusable; names the file, the line and the field.
        DataError: The file is cut off, damaged, or no exported graph.
        UsageError: The name is malformed, the format is unknown, or a base is named for a plain graph.
    """
    began = time.monotonic()
    path = Path(path)
    reader = reader_of(path, format)
    header = reader.header
    graph = check_graph_name(name if name is not None else header.name)
    if base is not None and not header.base:
        raise UsageError(f"{path} holds a plain graph, not a layer", hint=f"import it without the base {base!r}")
    below = _Below(base if base is not None else header.base, header.base_version)
    client = Client(connection)
    _check_schema(client, header, path)
    _check_free(connection, graph)
    below.check(connection)
    _check_rows(reader, client, below, progress)
    _Import(client, graph, below).run(reader, progress)
    measure_graph(client, graph, progress=None)
    return ImportReport(graph, header.version, below.name, path, header.counts, time.monotonic() - began)


@dataclass(frozen=True, slots=True)
class _Below:
    """The base of a layer: its name, empty for a plain graph, and the version that the layer sees."""

    name: str
    version: int

    def check(self, connection: Connection) -> None:
        if not self.name:
            return
        found = next((info for info in list_graphs(connection) if info.name == self.name), None)
        hint = "import the base first, name another, or export the layer flattened, as a plain graph"
        if found is None or found.dropping:
            raise GraphNotFound(f"the file holds a layer over {self.name!r}, and there is no such graph", hint=hint)
        if found.base:
            raise GraphConflict(f"{self.name!r} is itself a layer of {found.base!r}", hint=hint)
        if found.version < self.version:
            message = f"the layer sees version {self.version} of {self.name!r}, which has only version {found.version}"
            raise GraphConflict(message, hint=hint)


def _check_schema(client: Client, header: Header, path: Path) -> None:
    require_schema(client)
    newest = shipped_migrations()[-1].version
    if header.schema_version > newest:
        message = f"{path} has schema version {header.schema_version}; this ProAS knows up to {newest}"
        raise GraphVersionError(message, hint="import it with the release of ProAS that wrote it")


def _check_free(connection: Connection, graph: str) -> None:
    found = next((info for info in list_graphs(connection) if info.name == graph), None)
    if found is not None:
        raise _taken(graph, dropping=found.dropping)


def _taken(graph: str, *, dropping: bool) -> GraphConflict:
    if dropping:
        message = f"graph {graph!r} is being imported or dropped, or such an attempt was cut off"
        return GraphConflict(message, hint=f"if none is at work, clear it away with `proas graph drop {graph}`")
    hint = f"import under another name, or remove it with `proas graph drop {graph}`"
    return GraphConflict(f"there is a graph {graph!r} already", hint=hint)


def _check_rows(reader: GraphReader, client: Client, below: _Below, progress: Callable[[int], None] | None) -> None:
    """Everything that can be known before the first write."""
    soundness = Soundness(reader.header)
    for batch in batches(reader.records()):
        soundness.take_all(batch)
        if below.name:
            _check_inherited(batch, client, below)
        if progress is not None:
            progress(len(batch))
    soundness.finish()


def _check_inherited(batch: list[Placed], client: Client, below: _Below) -> None:
    keys: dict[str, list[str]] = {"Task": [], "State": [], "TRANSITION": []}
    lines: dict[str, Placed] = {}
    for placed in batch:
        row = placed.row
        if isinstance(row, TaskRow | StateRow | TransitionRow) and row.inherited:
            keys[placed.table.name].append(row.key)
            lines[row.key] = placed
    if not lines:
        return
    kinds = {"tasks": keys["Task"], "states": keys["State"], "transitions": keys["TRANSITION"]}
    for missing in client.rows("exchange_not_in_base", base=below.name, base_version=below.version, **kinds):
        reason = f"{missing['key']!r} is marked as inherited, and {below.name!r} does not hold it"
        hint = f"is {below.name!r} the graph that the layer was made over? Export the layer flattened otherwise"
        raise GraphConflict(str(lines[missing["key"]].fault(reason)), hint=hint)


class _Import:
    """Writing one graph, alone.

    Every transaction begins by locking the graph and checking that it is still this import's: a graph that somebody
    drops in the meantime is not written to again. A transaction that is repeated because its answer was lost finds
    its batch counted and does nothing.
    """

    def __init__(self, client: Client, graph: str, below: _Below) -> None:
        self._client = client
        self._graph = graph
        self._below = below
        self._token = uuid.uuid4().hex
        self._batches = 0

    def run(self, reader: GraphReader, progress: Callable[[int], None] | None) -> None:
        self._claim()
        try:
            root: GraphRow | None = None
            for batch in batches(reader.records()):
                if isinstance(batch[0].row, GraphRow):
                    root = batch[0].row
                else:
                    self._store([placed.row for placed in batch])
                if progress is not None:
                    progress(len(batch))
            assert root is not None  # checked before the claim
            self._check_counts(reader.header)
            self._publish(root)
        except BaseException as error:
            self._clear_away(error)
            raise

    def _claim(self) -> None:
        layer = bool(self._below.name)
        parameters = {
            "base": self._below.name if layer else None,
            "base_version": self._below.version if layer else None,
        }
        found = self._client.write(
            lambda tx: tx.row("exchange_claim", graph=self._graph, token=self._token, **parameters)
        )
        if found is None:
            raise GraphNotFound(f"the base {self._below.name!r} is gone or is being dropped", hint="import it again")
        if found["token"] != self._token:
            raise _taken(self._graph, dropping=found["token"] is not None)

    def _store(self, rows: list[Row]) -> None:
        """Write rows of one kind in one transaction, or in two where the server's memory for one does not suffice."""
        number = self._batches + 1
        statement = _STATEMENTS[type(rows[0])]
        parameters = [_parameters(row) for row in rows]

        def work(tx: Transaction) -> None:
            if self._turn(tx) >= number:
                return
            tx.rows(statement, graph=self._graph, rows=parameters)
            tx.rows("exchange_batch_done", graph=self._graph, imported=number)

        try:
            self._client.write(work)
        except GraphCapacityError:
            if len(rows) == 1:
                raise
            self._store(rows[: len(rows) // 2])
            self._store(rows[len(rows) // 2 :])
            return
        self._batches = number

    def _turn(self, tx: Transaction) -> int:
        turn = tx.row("exchange_turn", graph=self._graph, token=self._token)
        if turn is None:
            raise _Lost(f"graph {self._graph!r} was dropped while it was being imported", hint="import it again")
        return int(turn["imported"])

    def _check_counts(self, header: Header) -> None:
        stored = self._client.rows("exchange_counts", graph=self._graph)[0]
        for table, count in _COUNTS.items():
            if stored[count] != header.counts[table]:
                message = f"{stored[count]} rows of {table} were stored, not {header.counts[table]}"
                raise DataError(message, hint="did something change the file or the graph in the meantime?")

    def _publish(self, root: GraphRow) -> None:
        parameters = {"version": root.version, "created": root.created}
        found = self._client.write(
            lambda tx: tx.row("exchange_publish", graph=self._graph, token=self._token, **parameters)
        )
        # A repeated transaction whose first attempt was stored finds the graph open, and no longer its own.
        if found is None and ReferenceGraph(self._client.connection, self._graph).info().dropping:
            raise _Lost(f"graph {self._graph!r} was dropped while it was being imported", hint="import it again")

    def _clear_away(self, error: BaseException) -> None:
        if isinstance(error, _Lost):
            return  # it is somebody else's by now
        try:
            ReferenceGraph(self._client.connection, self._graph).drop()
        except GraphNotFound:
            pass
        except GraphError as fault:
            left = f"what was stored of {self._graph!r} could not be removed: {fault.message}"
            error.add_note(f"{left}; run `proas graph drop {self._graph}`")
            if isinstance(error, GraphError):
                error.hint = f"{error.hint + '; ' if error.hint else ''}then run `proas graph drop {self._graph}`"


class _Lost(GraphConflict):
    """The graph is no longer this import's."""


def _parameters(row: Row) -> dict[str, Any]:
    return {f.name: getattr(row, f.name) for f in fields(row)}
