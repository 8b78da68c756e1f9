"""GraphGPO and TIGPO: credit by the distance to the goal in a graph made of the rollouts themselves.

GraphGPO. Source: "Beyond Trajectory-Level Attribution: Graph-Based Credit Assignment for Agentic Reinforcement
Learning", arXiv:2605.26684, and public code after it. The rollouts of a task are joined into one graph of states;
d(s) is the length of a shortest path from s to a state in which a rollout of the task succeeded. Then

    r_t = R * gamma^d(s_{t+1})          0 where no path is known
    A_t = e * A^E + w * (r_t - mean) / (std + eps)     over the steps of the task that start in the same state

From the paper and code: the union graph, the reward by distance, groups by source state, the joint sum. Our reading:
invalid steps and self-loops are no edges; A^E is GRPO's over returns with penalties summed, so that all steps of a
rollout pay alike for an invalid one, and r_t holds no penalty; R is the reward of a success; e = 1, w = 1 and
gamma = 0.95 as in GiGPO, for the paper's values are not known to us. A group in which nobody succeeded has no goal,
hence r = 0 throughout.

TIGPO. Source: arXiv:2609.03383 is known to us by its summary alone: a per-task graph kept across updates. Our reading
is GraphGPO over a graph that grows from iteration to iteration (:class:`StateGraphs`), so that a group in which all
failed is still credited by what earlier iterations found. Claims about the paper's own method must not rest on it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from proas.rollouts import Rollout
from proas.shaping.estimators import grpo
from proas.shaping.ragged import Floats, Ints, codes, offsets_of, owner_of

__all__ = ["GoalDistances", "StateGraphs", "graphgpo"]

GoalDistances = Mapping[str, Mapping[str, int]]
"""For each task, the known distance of states to its goal."""


@dataclass(slots=True)
class _TaskStates:
    """What is known of one task: who leads to whom, and where it was solved."""

    before: dict[str, set[str]] = field(default_factory=dict)
    goals: set[str] = field(default_factory=set)

    def distances(self) -> dict[str, int]:
        """Steps to the nearest goal, by breadth-first search against the arrows."""
        distance = dict.fromkeys(sorted(self.goals), 0)
        queue = deque(distance)
        while queue:
            state = queue.popleft()
            for earlier in sorted(self.before.get(state, ())):
                if earlier not in distance:
                    distance[earlier] = distance[state] + 1
                    queue.append(earlier)
        return distance


class StateGraphs:
    """Graphs of states, one a task, made of rollouts. GraphGPO makes one an iteration, TIGPO keeps one."""

    def __init__(self) -> None:
        self._tasks: dict[str, _TaskStates] = {}

    def add(self, rollouts: Iterable[Rollout]) -> None:
        """Join rollouts with states; what they did not carry out or what changed nothing is left out."""
        for rollout in rollouts:
            known = self._tasks.setdefault(rollout.task, _TaskStates())
            keys = rollout.state_keys
            for t, step in enumerate(rollout.steps):
                if step.valid is not False and keys[t] != keys[t + 1]:
                    known.before.setdefault(keys[t + 1], set()).add(keys[t])
            if rollout.success:
                known.goals.add(keys[-1])

    def distances(self, tasks: Iterable[str]) -> GoalDistances:
        """Distances of the states of these tasks."""
        return {task: self._tasks[task].distances() if task in self._tasks else {} for task in tasks}

    def to_json(self) -> dict[str, dict[str, list[list[str]]]]:
        """The graphs as plain JSON values."""
        return {
            task: {
                "edges": [[early, late] for late in sorted(known.before) for early in sorted(known.before[late])],
                "goals": [[goal] for goal in sorted(known.goals)],
            }
            for task, known in sorted(self._tasks.items())
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Mapping[str, Sequence[Sequence[str]]]]) -> StateGraphs:
        """The inverse of :meth:`to_json`."""
        graphs = cls()
        for task, stored in document.items():
            known = graphs._tasks.setdefault(task, _TaskStates())
            for early, late in stored["edges"]:
                known.before.setdefault(late, set()).add(early)
            known.goals.update(goal for (goal,) in stored["goals"])
        return graphs


def graphgpo(
    returns: Floats,
    states: Sequence[Sequence[str]],
    distances: Sequence[Mapping[str, int]],
    groups: Ints,
    *,
    gamma: float = 0.95,
    weight: float = 1.0,
    episode_weight: float = 1.0,
    scale: float = 10.0,
    std: bool = True,
    eps: float = 1e-6,
) -> Floats:
    """Advantages by distance, ``(S,)``; see the module.

    Args:
        returns: Episode returns, ``(N,)``.
        states: For each rollout its T + 1 states.
        distances: For each rollout the distances of its task's states.
        groups: Group of each rollout, ``(N,)``.
        gamma: Decay with distance.
        weight: w.
        episode_weight: e.
        scale: R, in units of the returns.
        std: Divide by the deviation at both levels.
        eps: Added to a deviation.

    Raises:
        DataError: A return is not finite.
    """
    offsets = offsets_of([len(path) - 1 for path in states])
    owner = owner_of(offsets)
    rewards = np.array(
        [
            scale * gamma ** distance[key] if key in distance else 0.0
            for path, distance in zip(states, distances, strict=True)
            for key in path[1:]
        ],
        dtype=np.float64,
    )
    cells = codes((int(group), key) for group, path in zip(groups, states, strict=True) for key in path[:-1])
    local = grpo(rewards, cells, std=std, eps=eps)
    return episode_weight * grpo(returns, groups, std=std, eps=eps)[owner] + weight * local
