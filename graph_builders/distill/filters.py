"""The quality filter: what of a task's successes enters its graph.

Four rules, in this order, each with a count of what it dropped:

1. *Purification* (:mod:`proas.purify`): of each success, invalid steps and self-loops go, and with ``loop_erased``
   every return to an earlier state. Steps to an earlier subgoal (regress) never enter a graph.
2. *Longest detour*: a success is dropped whole when it keeps more than ``max_detour`` times the steps that the shortest
   success of the task keeps.
3. *Minimum support*: a transition is dropped when fewer than ``min_support`` of the remaining successes have it.
4. *Agreement*: a transition is dropped when less than a share ``min_agreement`` of the remaining successes has it.

What then no longer lies on a way from the start to a state in which the goal is reached is dropped as *unconnected*.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from proas.errors import UsageError
from proas.graph.evolution import Evidence, evidence_of
from proas.graph.records import Task, TaskGraph
from proas.graph_builders.ways import on_the_way
from proas.purify import Purification
from proas.rollouts import Rollout, State
from proas.subgoals import Ladder

__all__ = ["DROPPED", "SOURCE", "Filtered", "QualityFilter", "distilled"]

SOURCE = "distill"
"""``source`` of the transitions."""

DROPPED: Mapping[str, str] = {
    "invalid": "steps that did not apply",
    "self_loops": "steps that changed nothing",
    "loops": "steps of a way that came back",
    "regress": "steps to an earlier subgoal",
    "detour": "successes longer than the longest accepted detour",
    "support": "transitions with too little support",
    "agreement": "transitions that too few successes agree on",
    "unconnected": "transitions that then lead nowhere",
}
"""What is counted as dropped, in the order of the rules."""


@dataclass(frozen=True, slots=True)
class QualityFilter:
    """Thresholds of the rules above.

    Attributes:
        purification: Rule 1.
        max_detour: Rule 2; ``None`` accepts any length.
        min_support: Rule 3; 1 drops nothing.
        min_agreement: Rule 4; 0 drops nothing.

    Raises:
        UsageError: A value makes no sense.
    """

    purification: Purification = "loop_erased"
    max_detour: float | None = 2.0
    min_support: int = 1
    min_agreement: float = 0.0

    def __post_init__(self) -> None:
        """Refuse thresholds that drop everything or mean nothing."""
        if self.purification not in ("paper", "loop_erased"):
            raise UsageError(f"unknown purification {self.purification!r}", hint="known: loop_erased, paper")
        if self.max_detour is not None and not self.max_detour >= 1.0:
            raise UsageError(f"a longest detour of {self.max_detour} would drop the shortest success too")
        if self.min_support < 1:
            raise UsageError(f"the minimum support must be at least 1, not {self.min_support}")
        if not 0.0 <= self.min_agreement <= 1.0:
            raise UsageError(f"agreement is a share between 0 and 1, not {self.min_agreement}")


@dataclass(frozen=True, slots=True)
class Filtered:
    """What the filter left of a task.

    Attributes:
        graph: The task's graph; ``None`` where no way from the start to the goal is left.
        dropped: How much each rule dropped, by the names of :data:`DROPPED`.
    """

    graph: TaskGraph | None
    dropped: Mapping[str, int]


def distilled(task: Task, ladder: Ladder, successes: Sequence[Rollout], rule: QualityFilter) -> Filtered:
    """The graph that the successes of a task make together, filtered.

    The support of a transition is the number of successes, after rule 2, that have it.

    Args:
        task: The task.
        ladder: Its subgoals.
        successes: Verified successes with states, from one start; at least one.
        rule: The thresholds.
    """
    index: dict[str, int] = {}
    evidence = [evidence_of(rollout, ladder, rule.purification, index) for rollout in successes]
    dropped: Counter[str] = Counter()
    for one in evidence:
        dropped.update(one.dropped)
    accepted = _near(evidence, rule.max_detour)
    dropped["detour"] = len(evidence) - len(accepted)
    support = Counter(key for one in accepted for key in one.transitions)
    edges = {key: edge for one in accepted for key, edge in one.transitions.items()}
    supported = {key: edge for key, edge in edges.items() if support[key] >= rule.min_support}
    # A share is compared by counts: 0.7 of ten successes are seven, and no rounding may decide.
    agreed = {key: e for key, e in supported.items() if support[key] + 1e-9 >= rule.min_agreement * len(accepted)}
    dropped["support"] = len(edges) - len(supported)
    dropped["agreement"] = len(supported) - len(agreed)
    start = successes[0].start
    assert start is not None  # successes carry states
    goals = {key for key, m in index.items() if m == ladder.last}
    kept = on_the_way(start.key, goals, agreed.values())
    dropped["unconnected"] = len(agreed) - len(kept)
    counts = dict(+dropped)
    if not kept:
        return Filtered(None, counts)
    states: dict[str, State] = {key: state for one in accepted for key, state in one.states.items()}
    ends = {start.key} | {end for edge in kept for end in (edge.source_state, edge.target_state)}
    transitions = tuple(replace(edge, source=SOURCE, support=support[edge.key]) for edge in kept)
    return Filtered(TaskGraph(task, ladder, start, {k: s for k, s in states.items() if k in ends}, transitions), counts)


def _near(evidence: Sequence[Evidence], max_detour: float | None) -> list[Evidence]:
    if max_detour is None:
        return list(evidence)
    shortest = min(len(one.transitions) for one in evidence)
    return [one for one in evidence if len(one.transitions) <= max_detour * shortest]
