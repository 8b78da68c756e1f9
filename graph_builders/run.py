"""Runs a builder into a graph of the database, and reports.

Answers stream from the builder to the store: memory does not grow with the number of tasks, and a build that is cut
off leaves whole tasks behind, which the next run finds and leaves alone.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from proas.graph.records import TaskGraph
from proas.graph_builders.base import (
    Builder,
    BuildOptions,
    BuildProgress,
    BuildReport,
    Built,
    NoProgress,
    Rejected,
    check_source,
)

if TYPE_CHECKING:  # worker processes import this package and need no database driver
    from proas.graph.store import ReferenceGraph

__all__ = ["build_graph"]


def build_graph(
    source: str,
    builder: Builder,
    graph: ReferenceGraph,
    *,
    data: Path | None = None,
    options: BuildOptions | None = None,
    progress: BuildProgress | None = None,
) -> BuildReport:
    """Build the reference graphs of a source into a graph of the database.

    Args:
        source: Name of the builder, for the report.
        builder: The builder (``proas.graph_builders.builder``).
        graph: An existing graph; tasks that it holds whole stay as they are.
        data: Where the source lies; ``None`` for the builder's own default.
        options: What is asked for.
        progress: Told how it goes.

    Returns:
        What was built, skipped and rejected.

    Raises:
        DataError: The source as a whole cannot be read.
        GraphError: The database could not be asked or written; what was stored until then stays.
    """
    asked = options or BuildOptions()
    check_source(source, asked)
    listener = progress or NoProgress()
    begun = time.monotonic()
    listener.begin(builder.count(data, asked))
    tally = _Tally(listener)
    added = graph.add(tally.graphs(builder.build(data, asked)), progress=listener.stored)
    for reject in added.rejected:
        tally.refuse(Rejected(reject.id, "contradiction", reject.reason, reject.source))
    return BuildReport(
        source=source,
        graph=graph.name,
        expand=f"around:{asked.radius}" if asked.expand == "around" else asked.expand,
        considered=tally.considered,
        built=dict(+tally.built),
        skipped=added.skipped,
        rejected=dict(Counter(reject.problem for reject in tally.rejects)),
        rejects=tuple(tally.rejects),
        states=tally.states,
        transitions=dict(tally.transitions),
        added_tasks=added.added_tasks,
        added_states=added.added_states,
        added_transitions=added.added_transitions,
        tallies=dict(tally.tallies),
        seconds=time.monotonic() - begun,
    )


class _Tally:
    """Counts what passes from the builder to the store."""

    def __init__(self, listener: BuildProgress) -> None:
        self.considered = 0
        self.states = 0
        self.built: Counter[str] = Counter()
        self.transitions: Counter[str] = Counter()
        self.tallies: Counter[str] = Counter()
        self.rejects: list[Rejected] = []
        self._listener = listener
        self._sources: dict[str, str] = {}

    def graphs(self, answers: Iterable[Built | Rejected]) -> Iterator[TaskGraph]:
        """The graphs among the answers."""
        for answer in answers:
            self.considered += 1
            self._listener.answered(answer)
            if isinstance(answer, Rejected):
                self.rejects.append(answer)
                continue
            self._sources[answer.task] = answer.source
            self.built[answer.source] += 1
            self.tallies.update(answer.tallies)
            self.states += len(answer.graph.states)
            self.transitions.update(transition.source for transition in answer.graph.transitions)
            yield answer.graph

    def refuse(self, reject: Rejected) -> None:
        """Take back a task whose graph the store did not accept."""
        self.built[self._sources[reject.task]] -= 1
        self.rejects.append(reject)
