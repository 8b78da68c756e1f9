"""Lifts a stored graph: the tasks of each family of goals as one task, with roles in place of names.

The lifted graph is bounded by the number of roles, not by the number of tasks: the source is read page by page, and
what is held meanwhile is the lifted graph.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from proas.errors import UsageError
from proas.graph.records import UNVERIFIED, Task, TaskGraph, Transition
from proas.graph.store import ReferenceGraph
from proas.rollouts import Reject, State
from proas.states.lifting import LIFTED, LiftedTask, Move, lifted_facts, lifting_for

__all__ = ["LIFT_SOURCE", "FamilyReport", "LiftReport", "lift_graph", "lifted_graphs"]

LIFT_SOURCE = "lift"
"""``source`` of what lifting adds."""


@dataclass(frozen=True, slots=True)
class FamilyReport:
    """One family.

    Attributes:
        task: Key of its lifted task.
        tasks: Tasks of the source that were lifted into it.
        states: States of the lifted task as lifted from this source.
        transitions: Its transitions.
        ground: Transitions of the source behind them.
    """

    task: str
    tasks: int
    states: int
    transitions: int
    ground: int


@dataclass(frozen=True, slots=True)
class LiftReport:
    """What :func:`lift_graph` did.

    Attributes:
        source: Graph that was read.
        target: Graph that was written.
        tasks: Tasks read.
        lifted_tasks: Tasks of the source that are lifted ones themselves; they are left alone.
        without_roles: Tasks whose environment or goal has no roles.
        families: What came of each family.
        dropped_self_loops: Transitions whose ends have the same roles, such as from one place of no role to another.
        dropped_regress: Transitions that fall back to an earlier lifted subgoal.
        dropped_rare: Lifted transitions that fewer tasks than asked for have.
        added_states: States that are new in the target.
        added_transitions: Transitions that are new in the target.
        rejected: Families that contradict what the target holds.
        seconds: Wall-clock time.
    """

    source: str
    target: str
    tasks: int
    lifted_tasks: int
    without_roles: int
    families: tuple[FamilyReport, ...]
    dropped_self_loops: int
    dropped_regress: int
    dropped_rare: int
    added_states: int
    added_transitions: int
    rejected: tuple[Reject, ...]
    seconds: float


@dataclass(slots=True)
class _Family:
    """What has been lifted so far into one task. ``support`` counts tasks, ``ground`` transitions."""

    task: LiftedTask
    start: State
    tasks: int = 0
    ground: int = 0
    states: dict[str, State] = field(default_factory=dict)
    edges: dict[str, Transition] = field(default_factory=dict)
    support: Counter[str] = field(default_factory=Counter)
    verified: set[str] = field(default_factory=set)

    def graph(self, least: int) -> TaskGraph:
        """The family as a task graph of the transitions that enough tasks have."""
        kept = {key: edge for key, edge in self.edges.items() if self.support[key] >= least}
        ends = {self.start.key, *(end for edge in kept.values() for end in (edge.source_state, edge.target_state))}
        return TaskGraph(
            task=Task(self.task.key, self.task.env, self.task.goal, self.task.goal),
            ladder=self.task.ladder,
            start=self.start,
            states={key: self.states[key] for key in sorted(ends)},
            transitions=tuple(
                Transition(
                    edge.source_state,
                    edge.action,
                    edge.target_state,
                    LIFT_SOURCE if key in self.verified else UNVERIFIED,
                    self.support[key],
                )
                for key, edge in sorted(kept.items())
            ),
            sources=dict.fromkeys(ends, LIFT_SOURCE),
        )


@dataclass(slots=True)
class _Lifter:
    families: dict[str, _Family] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)

    def take(self, graph: TaskGraph) -> None:
        """Lift one task into its family."""
        self.counts["tasks"] += 1
        if graph.task.key.startswith(LIFTED):
            self.counts["lifted"] += 1
            return
        lifting = lifting_for(graph.task.env, graph.task.key, graph.task.text or graph.task.goal)
        if lifting is None:
            self.counts["without roles"] += 1
            return
        moves = [
            (edge, Move(graph.states[edge.source_state].facts, edge.action, graph.states[edge.target_state].facts))
            for edge in graph.transitions
        ]
        lifting.learn(move for _, move in moves)
        task = lifting.task
        family = self.families.get(task.key)
        if family is None:
            start = State.of(task.env, task.key, lifted_facts(lifting, graph.start.facts))
            family = self.families[task.key] = _Family(task, start, states={start.key: start})
        family.tasks += 1
        index = task.ladder.index
        seen: set[str] = set()
        for edge, move in moves:
            before = State.of(task.env, task.key, lifted_facts(lifting, move.before))
            after = State.of(task.env, task.key, lifted_facts(lifting, move.after))
            if before.key == after.key:
                self.counts["self-loops"] += 1
                continue
            if index(after.facts) < index(before.facts):
                self.counts["regress"] += 1
                continue
            lifted = Transition(before.key, lifting.action(move), after.key, LIFT_SOURCE)
            family.ground += 1
            family.states |= {before.key: before, after.key: after}
            family.edges.setdefault(lifted.key, lifted)
            if lifted.key not in seen:
                seen.add(lifted.key)
                family.support[lifted.key] += 1
            if edge.source != UNVERIFIED:
                family.verified.add(lifted.key)


def lifted_graphs(graphs: Iterable[TaskGraph], *, least: int = 1) -> list[TaskGraph]:
    """Lifted task graphs of some task graphs, without a database.

    Args:
        graphs: Graphs of any tasks; those without roles are left out.
        least: Tasks that must have a transition for it to be kept.
    """
    lifter = _Lifter()
    for graph in graphs:
        lifter.take(graph)
    return [lifter.families[key].graph(least) for key in sorted(lifter.families)]


def lift_graph(
    source: ReferenceGraph,
    target: ReferenceGraph,
    *,
    least: int = 1,
    progress: Callable[[int], None] | None = None,
) -> LiftReport:
    """Lift a graph into another, or into itself, as of its current version.

    The support of a lifted transition is the number of tasks of the source that have it. Doing it again changes
    nothing; after the source has grown it adds what is new and raises the support. From several sources into one
    target, support is that of the source with most.

    Args:
        source: Graph to read, a layer's union included.
        target: Graph to write.
        least: Tasks that must have a transition for it to be kept.
        progress: Called with the number of tasks read.

    Raises:
        UsageError: ``least`` is not positive.
        GraphNotFound: There is no such graph.
    """
    if least < 1:
        raise UsageError(f"a transition must be had by at least one task, not {least}", hint="give 1 or more")
    began = time.monotonic()
    lifter = _Lifter()
    for graph in source.iter_task_graphs():
        lifter.take(graph)
        if progress is not None:
            progress(1)
    made = [lifter.families[key].graph(least) for key in sorted(lifter.families)]
    added = target.add(made)
    counts = lifter.counts
    return LiftReport(
        source=source.name,
        target=target.name,
        tasks=counts["tasks"],
        lifted_tasks=counts["lifted"],
        without_roles=counts["without roles"],
        families=tuple(
            FamilyReport(
                graph.task.key,
                lifter.families[graph.task.key].tasks,
                len(graph.states),
                len(graph.transitions),
                lifter.families[graph.task.key].ground,
            )
            for graph in made
        ),
        dropped_self_loops=counts["self-loops"],
        dropped_regress=counts["regress"],
        dropped_rare=sum(len(lifter.families[graph.task.key].edges) - len(graph.transitions) for graph in made),
        added_states=added.added_states,
        added_transitions=added.added_transitions,
        rejected=added.rejected,
        seconds=time.monotonic() - began,
    )
