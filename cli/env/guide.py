"""What the graph says of an episode while it is played: where it stands, what a step was worth, what leads on.

A task's graph is read once; the verdicts are those that ``proas label`` gives to the same rollout.
"""

from __future__ import annotations

from collections import defaultdict, deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

from proas.graph.captions import caption_of
from proas.keys import transition_key
from proas.rollouts import State

if TYPE_CHECKING:
    from proas.graph.records import TaskGraph
    from proas.subgoals import Ladder

__all__ = ["Guide", "Look", "Verdict", "Way"]


@dataclass(frozen=True, slots=True)
class Way:
    """A transition of the graph that leads on from a state.

    Attributes:
        action: Its canonical action.
        subgoal: Subgoal index of the state that it leads to.
        distance: Transitions from there to the goal; ``None`` where none is reached.
    """

    action: str
    subgoal: int
    distance: int | None


@dataclass(frozen=True, slots=True)
class Look:
    """Where an episode stands.

    Attributes:
        caption: The state in words.
        subgoal: Its subgoal index m.
        last: M.
        done: What the subgoal reached was, in words.
        ahead: What the next one is; empty at the goal.
        known: Whether the graph holds the state; ``None`` without a graph.
        distance: Transitions of the graph from here to the goal; ``None`` where it knows no way.
        ways: What leads on, the shortest way first.
    """

    caption: str
    subgoal: int
    last: int
    done: str
    ahead: str
    known: bool | None
    distance: int | None
    ways: tuple[Way, ...]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a step was worth.

    Attributes:
        reasonable: ``Re``.
        progress: ``PA``.
        drift: ``D``; ``None`` while the end is not known.
    """

    reasonable: bool
    progress: bool
    drift: int | None = None

    @property
    def words(self) -> str:
        """For people."""
        if self.progress:
            return "progress"
        return "reasonable, but seen before" if self.reasonable else "not in the graph"

    @property
    def style(self) -> str:
        """Colour of the words."""
        return "green" if self.progress else "yellow" if self.reasonable else "red"


class Guide:
    """Reads one task's graph.

    Args:
        ladder: Subgoals of the task.
        graph: Its graph; ``None`` where none is known, and only the ladder speaks.
    """

    def __init__(self, ladder: Ladder, graph: TaskGraph | None = None) -> None:
        self.ladder = ladder
        self.graph = graph
        self._edges: frozenset[str] = frozenset()
        self._leaving: dict[str, list[Way]] = {}
        self._distance: dict[str, int] = {}
        if graph is not None:
            self._edges = frozenset(transition.key for transition in graph.transitions)
            self._distance = _distances(graph)
            leaving: defaultdict[str, list[Way]] = defaultdict(list)
            for transition in graph.transitions:
                target = transition.target_state
                leaving[transition.source_state].append(
                    Way(transition.action, graph.subgoal_of[target], self._distance.get(target))
                )
            self._leaving = {key: sorted(ways, key=_nearness) for key, ways in leaving.items()}

    @property
    def covered(self) -> bool:
        """Whether the graph knows the task, so that steps get labels."""
        return bool(self._edges)

    def look(self, state: State) -> Look:
        """Where a state stands."""
        subgoal = self.ladder.index(state.facts)
        last = self.ladder.last
        return Look(
            caption=caption_of(state.facts),
            subgoal=subgoal,
            last=last,
            done=self.ladder.subgoals[subgoal].description,
            ahead=self.ladder.subgoals[subgoal + 1].description if subgoal < last else "",
            known=None if self.graph is None else state.key in self.graph.states,
            distance=self._distance.get(state.key),
            ways=tuple(self._leaving.get(state.key, ())),
        )

    def verdict(self, before: State, canonical: str, after: State, visited: frozenset[str]) -> Verdict | None:
        """What a step was worth; ``None`` where the task is not covered.

        Args:
            before: The state in which it was taken.
            canonical: Canonical form of the action.
            after: The state that it led to.
            visited: Keys of all states of the episode until then, ``before`` among them.
        """
        if not self.covered:
            return None
        reasonable = transition_key(before.key, canonical, after.key) in self._edges
        return Verdict(reasonable, reasonable and after.key not in visited)


def _nearness(way: Way) -> tuple[bool, int, str]:
    return way.distance is None, way.distance or 0, way.action


def _distances(graph: TaskGraph) -> dict[str, int]:
    """Transitions from each state to the nearest of the last subgoal."""
    arriving: defaultdict[str, list[str]] = defaultdict(list)
    for transition in graph.transitions:
        arriving[transition.target_state].append(transition.source_state)
    found = {key: 0 for key, index in graph.subgoal_of.items() if index == graph.ladder.last}
    waiting = deque(sorted(found))
    while waiting:
        key = waiting.popleft()
        for source in arriving[key]:
            if source not in found:
                found[source] = found[key] + 1
                waiting.append(source)
    return found
