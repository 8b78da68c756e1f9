"""A graph at each of its versions, and with fewer or more demonstrations asked of its transitions.

Transitions carry the version that first held them, and a layer keeps every success that it has learnt from with the
transitions that it took. So what a version held, and how many successes had borne out each of its transitions by then,
can be read from the graph as it is now.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass

import numpy as np

from proas.graph import ReferenceGraph
from proas.graph.rows import SuccessRow
from proas.rollouts import Label, Rollout

__all__ = ["Membership"]


@dataclass(frozen=True, slots=True)
class _Edge:
    since: int
    support: int
    later: tuple[int, ...]
    """Versions of the successes that took it, ascending."""


class Membership:
    """The transitions of some tasks.

    Args:
        graph: A graph or layer.
        tasks: Keys of the tasks that are looked at; those that it does not know are left out.
    """

    def __init__(self, graph: ReferenceGraph, tasks: Collection[str]) -> None:
        wanted = set(tasks)
        self.version = graph.info().version
        taken: defaultdict[str, list[int]] = defaultdict(list)
        for success in graph.rows(SuccessRow):
            if success.task in wanted:
                for key in success.transitions:
                    taken[key].append(success.since)
        self._edges: dict[str, dict[str, _Edge]] = {}
        known = {task.key for task in graph.tasks()}
        for name in sorted(wanted & known):
            self._edges[name] = {
                edge.key: _Edge(edge.since, edge.support, tuple(sorted(taken[edge.key])))
                for edge in graph.read(name).transitions
            }

    @property
    def tasks(self) -> frozenset[str]:
        """Tasks that the graph knows."""
        return frozenset(self._edges)

    def count(self, version: int, support: int) -> int:
        """Transitions of a version that so many demonstrations had borne out by then."""
        return sum(len(self.held(task, version, support)) for task in self._edges)

    def held(self, task: str, version: int, support: int) -> frozenset[str]:
        """Keys of such transitions of a task."""
        return frozenset(
            key
            for key, edge in self._edges.get(task, {}).items()
            if edge.since <= version
            and edge.support - (len(edge.later) - int(np.searchsorted(edge.later, version, side="right"))) >= support
        )

    def label(self, rollouts: Iterable[Rollout], version: int, support: int) -> list[list[Label] | None]:
        """Labels of each rollout; ``None`` where the version holds nothing of its task.

        With ``support`` 1 they are those of ``ReferenceGraph.label``.

        Raises:
            ValueError: A rollout carries no states.
        """
        kept: dict[str, frozenset[str]] = {}
        labels: list[list[Label] | None] = []
        for rollout in rollouts:
            if rollout.task not in kept:
                kept[rollout.task] = self.held(rollout.task, version, support)
            held = kept[rollout.task]
            labels.append(_labels(rollout, held) if self.held(rollout.task, version, 1) else None)
        return labels


def _labels(rollout: Rollout, held: frozenset[str]) -> list[Label]:
    keys = rollout.state_keys
    reasonable = [key in held for key in rollout.transition_keys]
    visited = {keys[0]}
    progress: list[bool] = []
    for t, good in enumerate(reasonable):
        progress.append(good and keys[t + 1] not in visited)
        visited.add(keys[t + 1])
    drift = np.cumsum([not good for good in reversed(progress)])[::-1]
    return [Label(reasonable=r, progress=p, drift=int(d)) for r, p, d in zip(reasonable, progress, drift, strict=True)]
