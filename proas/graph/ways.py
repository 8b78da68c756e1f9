"""Shortest verified ways from a task's start to its goal.

The database hands over the transitions of all tasks that are asked for in one round trip. The ways are found here, so
that of several shortest ones it is always the same that is taken, and so that a way may use transitions of a layer and
of its base by turns.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from proas.graph.client import Client
from proas.graph.records import UNVERIFIED
from proas.graph.store import ReferenceGraph

__all__ = ["Way", "shortest_way", "shortest_ways"]

Edge = tuple[str, str, str]
"""Key of the state it leaves, canonical action, key of the state it reaches."""


@dataclass(frozen=True, slots=True)
class Way:
    """A walk along verified transitions, from the start to a state of the last subgoal.

    Attributes:
        actions: Canonical actions.
        states: Key of the state that each leads to.
    """

    actions: tuple[str, ...]
    states: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.actions)


def shortest_ways(graph: ReferenceGraph, tasks: Iterable[str]) -> dict[str, Way]:
    """A shortest verified way of each task that has one, in one round trip, as of the current version.

    Args:
        graph: The graph; a layer shows the union with its base.
        tasks: Keys.

    Raises:
        GraphError: The database could not be asked.
    """
    wanted = sorted(set(tasks))
    rows = Client(graph.connection).rows("verified_ways", graph=graph.name, tasks=wanted, unverified=UNVERIFIED)
    ways: dict[str, Way] = {}
    for row in rows:
        edges = [(source, action, target) for source, action, target in row["edges"]]
        way = shortest_way(row["start"], set(row["goals"]), edges)
        if way is not None:
            ways[row["key"]] = way
    return ways


def shortest_way(start: str, goals: Collection[str], edges: Iterable[Edge]) -> Way | None:
    """A shortest way through some transitions; of several the one whose actions, then states, come first.

    Args:
        start: Key of the first state.
        goals: Keys of the states to reach.
        edges: Transitions in any order, each any number of times.
    """
    leaving: dict[str, set[tuple[str, str]]] = {}
    reaching: dict[str, set[str]] = {}
    for source, action, target in edges:
        leaving.setdefault(source, set()).add((action, target))
        reaching.setdefault(target, set()).add(source)
    far = _distances(goals, reaching)
    if start not in far:
        return None
    actions: list[str] = []
    states: list[str] = []
    here = start
    while far[here]:
        action, here = min((a, s) for a, s in leaving[here] if far.get(s, far[here]) == far[here] - 1)
        actions.append(action)
        states.append(here)
    return Way(tuple(actions), tuple(states))


def _distances(goals: Collection[str], reaching: dict[str, set[str]]) -> dict[str, int]:
    """Transitions from each state to the nearest goal, as far as one can be reached."""
    far = dict.fromkeys(goals, 0)
    front = list(goals)
    while front:
        further = []
        for state in front:
            for source in reaching.get(state, ()):
                if source not in far:
                    far[source] = far[state] + 1
                    further.append(source)
        front = further
    return far
