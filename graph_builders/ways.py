"""Which transitions of a task lead from its start to its goal: what every builder keeps."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from proas.graph.records import Transition

__all__ = ["on_the_way"]


def on_the_way(start: str, goals: Iterable[str], transitions: Iterable[Transition]) -> tuple[Transition, ...]:
    """The transitions on some way from the start to a goal, in their order.

    Args:
        start: Key of the state in which every rollout begins.
        goals: Keys of the states in which the goal is reached.
        transitions: The transitions to choose from.
    """
    edges = tuple(transitions)
    onward: defaultdict[str, list[str]] = defaultdict(list)
    back: defaultdict[str, list[str]] = defaultdict(list)
    for edge in edges:
        onward[edge.source_state].append(edge.target_state)
        back[edge.target_state].append(edge.source_state)
    useful = _reached({start}, onward) & _reached(goals, back)
    return tuple(edge for edge in edges if edge.source_state in useful and edge.target_state in useful)


def _reached(first: Iterable[str], edges: Mapping[str, Sequence[str]]) -> set[str]:
    seen = set(first)
    ahead = list(seen)
    while ahead:
        for target in edges.get(ahead.pop(), ()):
            if target not in seen:
                seen.add(target)
                ahead.append(target)
    return seen
