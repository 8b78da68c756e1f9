"""Merges demonstrations into one graph a task, holding no episode: only transitions, their support, and digests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from proas.graph.evolution import evidence_of
from proas.graph.records import UNVERIFIED, Task, TaskGraph, Transition
from proas.graph_builders.base import Built, Rejected
from proas.graph_builders.ways import on_the_way
from proas.keys import digest
from proas.purify import Purification
from proas.rollouts import Rollout, State
from proas.states import ladder_of_rollout
from proas.subgoals import GOAL_REACHED, Ladder

__all__ = ["REPLAYED", "Demonstrations", "Entered"]

REPLAYED = "replayed"
"""``source`` of a transition that the environment confirmed in some episode."""

_THINK = "think"

Entered = str
"""What became of a demonstration: ``new``, ``duplicate``, or why it cannot be of its task."""


@dataclass(slots=True)
class _SoFar:
    """What the demonstrations of one task have told."""

    env: str
    goal: str
    ladder: Ladder
    start: State
    index: dict[str, int] = field(default_factory=dict)
    states: dict[str, State] = field(default_factory=dict)
    transitions: dict[str, Transition] = field(default_factory=dict)
    support: Counter[str] = field(default_factory=Counter)
    walks: set[int] = field(default_factory=set)
    replayed: int = 0


class Demonstrations:
    """Successes of any number of tasks.

    Args:
        purification: Which of their steps are worth keeping.
    """

    def __init__(self, purification: Purification) -> None:
        self._purification = purification
        self._tasks: dict[str, _SoFar] = {}
        self.dropped: Counter[str] = Counter()

    def __len__(self) -> int:
        return len(self._tasks)

    def add(self, rollout: Rollout, *, replayed: bool) -> Entered:
        """Take a success with states in.

        Args:
            rollout: The success.
            replayed: The environment confirmed it.

        Returns:
            ``new``; ``duplicate`` where the task holds a demonstration of the same actions; else a reason.
        """
        assert rollout.start is not None
        known = self._tasks.get(rollout.task)
        if known is None:
            ladder = ladder_of_rollout(rollout)
            known = _SoFar(rollout.env, rollout.goal, ladder, rollout.start)
        elif known.env != rollout.env:
            return f"its task is one of {known.env}, not of {rollout.env}"
        elif known.start.key != rollout.start.key:
            return "it starts in another state than the first episode of its task"
        if not rollout.steps or GOAL_REACHED not in _facts(rollout.steps[-1].state):
            return "no step of it reaches the goal"
        walk = _walk(rollout)
        duplicate = walk in known.walks
        if duplicate and not replayed:
            return "duplicate"
        self._tasks[rollout.task] = known
        evidence = evidence_of(rollout, known.ladder, self._purification, known.index)
        source = REPLAYED if replayed else UNVERIFIED
        known.states.update((key, state) for key, state in evidence.states.items() if key not in known.states)
        for key, edge in evidence.transitions.items():
            held = known.transitions.get(key)
            if held is None or (replayed and held.source != REPLAYED):
                known.transitions[key] = Transition(edge.source_state, edge.action, edge.target_state, source)
        if duplicate:
            return "duplicate"
        known.walks.add(walk)
        known.replayed += replayed
        known.support.update(evidence.transitions.keys())
        self.dropped.update(evidence.dropped)
        return "new"

    def graphs(self, *, least: int = 1) -> Iterator[Built | Rejected]:
        """The graph of each task, in the order of their keys.

        Args:
            least: Demonstrations that a transition needs. What then lies on no way from the start to the goal is left
                out as well.
        """
        for key in sorted(self._tasks):
            yield _graph(key, self._tasks[key], least)


def _facts(state: State | None) -> Sequence[str]:
    return () if state is None else state.facts


def _walk(rollout: Rollout) -> int:
    """Digest of what was done: thoughts and what the environment refused make no difference."""
    done = [step.canonical for step in rollout.steps if step.valid is not False and step.canonical != _THINK]
    return int(digest("walk", done)[:16], 16)


def _graph(key: str, told: _SoFar, least: int) -> Built | Rejected:
    supported = {
        name: Transition(edge.source_state, edge.action, edge.target_state, edge.source, told.support[name])
        for name, edge in sorted(told.transitions.items())
        if told.support[name] >= least
    }
    goals = {name for name, state in told.states.items() if told.index[state.key] == told.ladder.last}
    kept = on_the_way(told.start.key, goals, supported.values())
    if not kept:
        few = (
            f"no way to the goal has {least} demonstrations"
            if least > 1
            else "what purification leaves does not lead to the goal"
        )
        return Rejected(key, "low_support" if least > 1 else "no_way", f"{few}, of {len(told.walks)} in all")
    ends = {told.start.key} | {end for edge in kept for end in (edge.source_state, edge.target_state)}
    states = {name: state for name, state in (told.states | {told.start.key: told.start}).items() if name in ends}
    graph = TaskGraph(Task(key, told.env, told.goal, told.goal), told.ladder, told.start, states, kept)
    sources = Counter(edge.source for edge in kept)
    tallies = {
        "demonstrations": len(told.walks),
        "demonstrations_replayed": told.replayed,
        "transitions_without_support": len(told.transitions) - len(supported),
        "transitions_on_no_way": len(supported) - len(kept),
    }
    whole = REPLAYED if set(sources) == {REPLAYED} else UNVERIFIED
    return Built(graph, whole, tallies)
