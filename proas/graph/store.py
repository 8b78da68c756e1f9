"""The store: one named reference graph in Neo4j, behind few calls."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from proas.graph.attached import MOST_ROLLOUTS, Attached, AttachReport, PruneReport, attach, attached, prune
from proas.graph.building import Progress, add_task_graphs
from proas.graph.client import Client
from proas.graph.connect import Connection
from proas.graph.distances import DistanceReport, measure_graph
from proas.graph.evolution import evolve_graph
from proas.graph.labelling import OnFailure, label_batch
from proas.graph.layers import all_graphs, create_graph, drop_graph, graph_info, mark_graph_whole
from proas.graph.migrations import require_schema
from proas.graph.names import check_graph_name
from proas.graph.promotion import promote_layer
from proas.graph.reading import (
    count_graph,
    graph_growth,
    iter_task_graphs,
    iter_tasks,
    read_task_graph,
    scope_at,
)
from proas.graph.records import Task, TaskGraph
from proas.graph.reports import (
    AddReport,
    DropReport,
    EvolveReport,
    GraphDiff,
    GraphInfo,
    GraphStats,
    PromoteReport,
    RewindReport,
    VerifyReport,
)
from proas.graph.rewinding import rewind_graph
from proas.graph.rows import RowKind
from proas.graph.stored import stored_rows
from proas.graph.verification import verify_graph
from proas.purify import Purification
from proas.rollouts import Rollout, RolloutBatch
from proas.subgoals import Ladder, generic_ladder

__all__ = ["OnFailure", "Progress", "ReferenceGraph", "list_graphs"]


def ladder_from_goal(rollout: Rollout) -> Ladder:
    """The ladder of a task of which only the goal is known: under way, and done."""
    return generic_ladder(rollout.goal)


def list_graphs(connection: Connection) -> tuple[GraphInfo, ...]:
    """All graphs of a database by name.

    Raises:
        GraphError: The database could not be asked.
    """
    return all_graphs(Client(connection))


class ReferenceGraph:
    """One named graph: a base, or a layer over a base.

    The object holds settings only; the driver opens at the first call, once a process, so the object pickles and
    survives a fork. All calls are safe to repeat and safe to make from many processes at once.

    Args:
        connection: The database.
        name: Name of the graph. Nothing is looked up yet; see :meth:`create` and :meth:`exists`.

    Raises:
        UsageError: The name is not one (:data:`proas.graph.names.GRAPH_NAME`).
    """

    def __init__(self, connection: Connection, name: str) -> None:
        self.connection = connection
        self.name = check_graph_name(name)
        self._client = Client(connection)

    def __repr__(self) -> str:
        return f"ReferenceGraph({self.name!r} at {self.connection.uri})"

    @classmethod
    def create(cls, connection: Connection, name: str, *, base: str | None = None) -> ReferenceGraph:
        """Make a graph, or take the one of that name if it is there already.

        Args:
            connection: The database; its schema must be migrated.
            name: Name of the graph.
            base: Make a layer over this graph. The layer sees the base as it is now, at its current version, and
                starts at version 0 itself. The base is never written through a layer.

        Raises:
            UsageError: A name is malformed, or the base is itself a layer.
            GraphNotFound: There is no such base.
            GraphConflict: A graph of that name exists with another base, or is being dropped.
            GraphVersionError: The schema is not migrated.
        """
        graph = cls(connection, name)
        base = None if base is None else check_graph_name(base)
        require_schema(graph._client)
        create_graph(graph._client, name, base)
        return graph

    def exists(self) -> bool:
        """Whether the database holds this graph."""
        return any(True for _ in self._client.rows("list_graphs", graph=self.name))

    def info(self) -> GraphInfo:
        """Name, version, base and layers. Raises :class:`GraphNotFound`."""
        return graph_info(self._client, self.name)

    # Writing

    def mark_whole(self) -> None:
        """Note on the graph that it holds all that it was made to hold, for whoever finds it: see ``info().whole``.

        Nothing is kept from being added later; going back to an earlier version takes the note away.

        Raises:
            GraphNotFound: No such graph.
        """
        mark_graph_whole(self._client, self.name)

    def add(
        self, task_graphs: Iterable[TaskGraph], *, batch_rows: int = 2000, progress: Progress | None = None
    ) -> AddReport:
        """Merge verified task graphs in, as part of the current version (of the next one if a layer sees the current).

        Streams: memory does not grow with the number of task graphs. Each batch is one transaction, so a build that
        is cut off leaves whole batches, and a rerun goes on from there. Tasks that are whole are skipped.

        Args:
            task_graphs: What builders produce. One that contradicts itself or the stored graph is kept aside.
            batch_rows: Elements a transaction; halved while the server's transaction memory does not suffice.
            progress: Called with the number of task graphs finished.

        Raises:
            GraphNotFound: No such graph.
            GraphCapacityError: Even one task's piece does not fit the server's transaction memory.
            GraphVersionError: The schema is not migrated.
        """
        require_schema(self._client)
        return add_task_graphs(self._client, self.name, task_graphs, batch_rows=batch_rows, progress=progress)

    def evolve(
        self,
        batch: RolloutBatch,
        *,
        purification: Purification = "paper",
        ladder_of: Callable[[Rollout], Ladder] = ladder_from_goal,
        run: str = "",
        version: int | None = None,
    ) -> EvolveReport:
        """Join the successes of one iteration: version k becomes k + 1, in one transaction.

        Only rollouts with ``success`` and states count. Invalid steps, self-loops, steps that fall back to an earlier
        subgoal and (``loop_erased``) steps inside loops are never stored. The union is strict: what is there keeps its
        ``since`` and ``source``; ``support`` grows by one for each new success that takes a transition. A success that
        was joined before changes nothing, so the same batch may be sent twice; if no success is new the version
        stays.

        Args:
            batch: Rollouts of an iteration.
            purification: ``paper`` or ``loop_erased`` (``proas.purify``).
            ladder_of: Subgoals of a task that the graph does not know yet.
            run: Name of the run, for provenance.
            version: Raise the graph's version to exactly this number if it is lower, even without a new success: for
                trainers whose versions equal their iterations.

        Raises:
            GraphNotFound: No such graph.
            GraphVersionError: The schema is not migrated.
        """
        require_schema(self._client)
        return evolve_graph(
            self._client,
            self.name,
            batch,
            purification=purification,
            ladder_of=ladder_of,
            run=run,
            version=version,
        )

    def promote(self, *, run: str = "") -> PromoteReport:
        """Merge this layer into its base, in one transaction; the layer stays.

        New elements get the base's next version; each success is counted once, however often it is promoted.

        Raises:
            UsageError: This graph is not a layer.
        """
        require_schema(self._client)
        return promote_layer(self._client, self.name, run=run)

    def rewind(self, version: int) -> RewindReport:
        """Go back to an earlier version and forget what came after it, in one transaction.

        For training runs that resume from a checkpoint: what the run learnt after it must not tell on the iterations
        that are done again. Support falls by what the forgotten successes had counted.

        Args:
            version: Version to go back to; the current one changes nothing.

        Raises:
            GraphNotFound: No such graph, or no such version.
            GraphConflict: The graph has layers, which see what would be forgotten.
        """
        require_schema(self._client)
        return rewind_graph(self._client, self.name, version)

    def measure(self, *, progress: Progress | None = None) -> DistanceReport:
        """Measure the distance of every state to its task's goal, and store it.

        ``add``, ``evolve``, ``promote`` and ``rewind`` keep distances themselves: this is for graphs that were imported
        or written by an earlier release. It may be repeated, and cut off at any time.

        Args:
            progress: Called with the number of tasks finished.

        Raises:
            GraphNotFound: No such graph.
        """
        require_schema(self._client)
        return measure_graph(self._client, self.name, progress=progress)

    def attach(self, rollouts: Sequence[Rollout], *, run: str = "", most: int = MOST_ROLLOUTS) -> AttachReport:
        """Attach labelled rollouts to the states that they visit, to be looked at; nothing else reads them.

        Repeating it changes nothing; a rollout that comes with other labels takes the place of the one attached.

        Args:
            rollouts: Labelled rollouts, in the order in which they are to be taken.
            run: Where they come from, in a word.
            most: Rollouts that the graph may hold in all; what is beyond it is left out and counted.

        Raises:
            GraphNotFound: No such graph.
            GraphVersionError: The schema is not migrated.
        """
        require_schema(self._client)
        return attach(self._client, self.name, rollouts, run=run, most=most)

    def attached(self) -> tuple[Attached, ...]:
        """Rollouts that are attached, the newest first."""
        return attached(self._client, self.name)

    def prune(self, *, before: int | None = None, keep: int | None = None, everything: bool = False) -> PruneReport:
        """Remove attached rollouts: those that an earlier version labelled, all but the newest, or all.

        Raises:
            UsageError: Not exactly one of the three is asked for.
        """
        return prune(self._client, self.name, before=before, keep=keep, everything=everything)

    def drop(self, *, force: bool = False, progress: Progress | None = None) -> DropReport:
        """Remove this graph, in batches. A drop that was cut off is finished by the next one.

        Args:
            force: Remove its layers too.
            progress: Called with the number of nodes removed.

        Raises:
            GraphNotFound: No such graph.
            GraphConflict: It has layers and ``force`` is not set.
        """
        return drop_graph(self._client, self.name, force=force, progress=progress)

    # Reading. Every call reads as of a version; None means the current one. A layer reads the union with its base.

    def label(
        self,
        batch: RolloutBatch,
        *,
        version: int | None = None,
        on_failure: OnFailure = "raise",
        min_support: int = 1,
    ) -> RolloutBatch:
        """Label every step of a batch with Re, PA and D and its distances to the goal, in one round trip.

        Support and distance are stored as of now. For an earlier version a distance is given where it has not changed
        since, else none.

        Args:
            batch: Rollouts with states; see ``proas.states``.
            version: Version to read.
            on_failure: ``passthrough`` hands the batch on with ``covered=False`` and ``version=None`` when no server
                answers; :class:`~proas.graph.reports.LabelReport` counts it.
            min_support: Transitions of less support count as absent; a task without others is unknown.

        Returns:
            A copy of the batch: covered rollouts carry a label on each step; rollouts of unknown tasks, or without
            states, are marked ``covered=False`` and carry none.

        Raises:
            UsageError: ``min_support`` is below 1.
            GraphNotFound: No such graph, or no such version.
            GraphUnavailable: No server answers within the deadline.
        """
        return label_batch(
            self._client, self.name, batch, version=version, on_failure=on_failure, min_support=min_support
        )

    def tasks(self, *, version: int | None = None) -> Iterator[Task]:
        """All tasks in order of their keys, streamed."""
        return iter_tasks(self._client, scope_at(self._client, self.name, version))

    def read(self, task: str, *, version: int | None = None) -> TaskGraph:
        """The reference graph of one task. Raises :class:`GraphNotFound`."""
        return read_task_graph(self._client, scope_at(self._client, self.name, version), task)

    def iter_task_graphs(self, *, version: int | None = None) -> Iterator[TaskGraph]:
        """The reference graphs of all tasks in order of their keys, streamed."""
        return iter_task_graphs(self._client, scope_at(self._client, self.name, version))

    def rows(self, kind: type[RowKind]) -> Iterator[RowKind]:
        """The graph's own stored elements of one kind, in key order, streamed; without those of the base."""
        return stored_rows(self._client, self.name, kind)

    def stats(self, *, version: int | None = None) -> GraphStats:
        """Counts."""
        return count_graph(self._client, scope_at(self._client, self.name, version))

    def diff(self, from_version: int, to_version: int) -> GraphDiff:
        """What the graph gained between two versions, by task and subgoal.

        Raises:
            UsageError: ``from_version`` is not below ``to_version``.
            GraphNotFound: No such version.
        """
        return graph_growth(self._client, self.name, from_version, to_version)

    def verify(self, *, samples: int = 5) -> VerifyReport:
        """Check every invariant of the graph on the database, streamed task by task."""
        return verify_graph(self._client, self.name, samples=samples)
