"""Where rollouts leave the graph, and what it costs: the same way off by many rollouts is one detour."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from proas.graph.captions import caption_of
from proas.rollouts import Rollout, State

__all__ = ["Detour", "worst_detours"]


@dataclass(frozen=True, slots=True)
class Detour:
    """A way off the graph.

    Attributes:
        task: Key of the task.
        goal: The task in words.
        left_at: The state in which the graph was left, in one line.
        action: The first step that the graph does not know.
        times: How often it was taken.
        rollouts: By how many rollouts.
        steps: Steps off the graph in all.
        returned: How often a step that the graph knows followed.
        solved: How many of the rollouts solved the task all the same.
    """

    task: str
    goal: str
    left_at: str
    action: str
    times: int
    rollouts: int
    steps: int
    returned: int
    solved: int


@dataclass(frozen=True, slots=True)
class _Walk:
    rollout: str
    solved: bool
    steps: int
    returned: bool


def worst_detours(rollouts: Iterable[Rollout], *, most: int = 25) -> tuple[Detour, ...]:
    """The ways off the graph that cost most steps.

    A detour begins with a step whose label is not reasonable and that does not look for a needed object, and lasts
    until the next reasonable step. Steps without a label are no detour.
    """
    walks: defaultdict[tuple[str, str, str], list[_Walk]] = defaultdict(list)
    told: dict[tuple[str, str, str], tuple[str, str]] = {}
    for rollout in rollouts:
        for key, caption, walk in _walks(rollout):
            walks[key].append(walk)
            told[key] = (rollout.goal, caption)
    found = [
        Detour(
            task=key[0],
            goal=told[key][0],
            left_at=told[key][1],
            action=key[2],
            times=len(own),
            rollouts=len({walk.rollout for walk in own}),
            steps=sum(walk.steps for walk in own),
            returned=sum(walk.returned for walk in own),
            solved=len({walk.rollout for walk in own if walk.solved}),
        )
        for key, own in walks.items()
    ]
    return tuple(sorted(found, key=lambda d: (-d.steps, -d.times, d.task, d.left_at, d.action))[:most])


def _walks(rollout: Rollout) -> Iterator[tuple[tuple[str, str, str], str, _Walk]]:
    before: State | None = rollout.start
    t = 0
    while t < len(rollout.steps):
        step = rollout.steps[t]
        if step.label is None or step.label.reasonable or step.seeks or before is None:
            before = step.state
            t += 1
            continue
        began, place = t, before
        while t < len(rollout.steps) and (label := rollout.steps[t].label) is not None and not label.reasonable:
            before = rollout.steps[t].state
            t += 1
        walk = _Walk(rollout.id, rollout.success, t - began, t < len(rollout.steps))
        yield (rollout.task, place.key, step.canonical or step.action), caption_of(place.facts), walk
