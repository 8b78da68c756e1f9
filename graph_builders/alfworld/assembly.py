"""Puts a task's graph together: the carried-out solution first, then what else is known to lead to the goal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from proas.graph.records import Task, TaskGraph, Transition
from proas.graph_builders.alfworld.solutions import Move
from proas.graph_builders.ways import on_the_way
from proas.rollouts import State
from proas.subgoals import Ladder

__all__ = ["assemble"]


def assemble(
    task: Task,
    ladder: Ladder,
    start: State,
    path: Sequence[Move],
    source: str,
    others: Iterable[tuple[str, Iterable[Move]]] = (),
) -> TaskGraph:
    """The graph of a task.

    Args:
        task: The task.
        ladder: Its subgoals; the index never falls along ``path``.
        start: The state in which every rollout begins.
        path: A solution without self-loops and returns.
        source: Where it comes from; its transitions carry this name.
        others: More moves, all of which may be taken, by the source that they carry; of a move that several hold the
            first counts. Self-loops, falls to an earlier subgoal, and what then no longer leads from the start to the
            goal are left out.
    """
    index: dict[str, int] = {}
    states: dict[str, State] = {}

    def class_of(state: State) -> int:
        if state.key not in index:
            index[state.key] = ladder.index(state.facts)
            states[state.key] = state
        return index[state.key]

    class_of(start)
    found: dict[str, Transition] = {}
    for name, moves in ((source, path), *others):
        for before, action, after in moves:
            if before.key != after.key and class_of(before) <= class_of(after):
                transition = Transition(before.key, action, after.key, name)
                found.setdefault(transition.key, transition)
    kept = on_the_way(start.key, {k for k, m in index.items() if m == ladder.last}, found.values())
    ends = {start.key} | {t.source_state for t in kept} | {t.target_state for t in kept}
    return TaskGraph(task, ladder, start, {k: s for k, s in states.items() if k in ends}, kept)
