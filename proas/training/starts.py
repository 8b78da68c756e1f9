"""Starting points: some rollouts of a failing task begin part of the way, nearest the goal first.

A reverse curriculum (Florensa et al., 2017; Salimans and Chen, 2018) whose states come from the reference graph: of a
shortest verified way to the goal all but the last ``left`` actions are carried out in the environment, and then the
policy takes over. As it solves the task from there, ``left`` grows, until the way is walked from the task's own start.

The actions on the way are *given*. The policy reads them as history, and they belong to the rollout that is labelled
and joined to the graph, which begins at the task's start like any other. They are no words of the policy: before
advantages are estimated the rollout is cut to the policy's own steps (:func:`own_steps`), and the rollouts of a task
that begin part of the way have a baseline of their own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from proas.envs.base import Environment
from proas.graph.ways import Way
from proas.rollouts import Rollout
from proas.states import state_kind
from proas.training.start_settings import StartSettings

__all__ = ["Curriculum", "GivenWay", "command_for", "own_steps"]


@dataclass(frozen=True, slots=True)
class GivenWay:
    """What is walked for some rollouts of a task before the policy takes over.

    Attributes:
        actions: Canonical actions.
        states: Key of the state that each must lead to.
        left: Actions of the way that are left.
        count: Rollouts of the group that begin so.
    """

    actions: tuple[str, ...]
    states: tuple[str, ...]
    left: int
    count: int


class Curriculum:
    """Where the rollouts of each task begin. It changes with what was played, and with nothing else.

    Args:
        rule: How starts are chosen.
        group_size: Rollouts of each task.
        memory: What :meth:`to_json` said, for a run that resumes.
    """

    def __init__(self, rule: StartSettings, group_size: int, memory: Mapping[str, Any] | None = None) -> None:
        self._rule = rule
        self._count = rule.count(group_size)
        stored = memory or {}
        self._left: dict[str, int] = dict(stored.get("left", {}))
        self._success: dict[str, float] = dict(stored.get("success", {}))
        self._given: dict[str, GivenWay] = {}

    def to_json(self) -> dict[str, Any]:
        """All that it knows, as plain values."""
        return {"left": self._left, "success": self._success}

    def fails(self, task: str) -> bool:
        """Whether a task fails from its own start, by the last that was played of it."""
        return self._success.get(task, 0.0) <= self._rule.failing

    def choose(self, tasks: Iterable[str], ways: Mapping[str, Way]) -> dict[str, GivenWay]:
        """The starts of an iteration, or of some tasks that are added to it.

        Args:
            tasks: Tasks.
            ways: A verified way of each task that has one.

        Returns:
            Those of failing tasks whose way has at least two actions.
        """
        chosen: dict[str, GivenWay] = {}
        for task in tasks:
            way = ways.get(task)
            if way is None or len(way) < 2 or not self.fails(task):
                continue
            left = min(self._left.get(self._key(task), self._rule.distance), len(way) - 1)
            cut = len(way) - left
            chosen[task] = GivenWay(way.actions[:cut], way.states[:cut], left, self._count)
        self._given |= chosen
        return chosen

    def learn(self, rollouts: Sequence[Rollout], given: Sequence[int]) -> dict[str, float]:
        """Take in what was played, and move the starts.

        Args:
            rollouts: Rollouts of the iteration.
            given: How many of each one's first steps were given.

        Returns:
            ``starts/...``: groups that began part of the way, share of all rollouts that did, actions that were left
            and that were given (means over these groups), success of these rollouts, and chosen groups whose way
            could not be walked.
        """
        own: dict[str, list[bool]] = {}
        begun: dict[str, list[bool]] = {}
        for rollout, steps in zip(rollouts, given, strict=True):
            (begun if steps else own).setdefault(rollout.task, []).append(rollout.success)
        self._success |= {task: _mean(won) for task, won in own.items()}
        outcomes = [won for some in begun.values() for won in some]
        if self._rule.by == "task":
            for task, won in begun.items():
                self._move(task, self._given[task].left, _mean(won))
        elif outcomes:
            self._move("", self._left.get("", self._rule.distance), _mean(outcomes))
        walked = [self._given[task] for task in begun]
        not_walked = len(self._given) - len(begun)
        self._given = {}
        return {
            "starts/groups": float(len(begun)),
            "starts/rollouts": len(outcomes) / max(1, len(rollouts)),
            "starts/left": _mean([way.left for way in walked]),
            "starts/given": _mean([len(way.actions) for way in walked]),
            "starts/success": _mean(outcomes),
            "starts/not_walked": float(not_walked),
        }

    def _key(self, task: str) -> str:
        return task if self._rule.by == "task" else ""

    def _move(self, task: str, left: int, success: float) -> None:
        rule = self._rule
        if success >= rule.advance:
            left += rule.step
        elif success <= rule.retreat:
            left = max(rule.distance, left - rule.step)
        self._left[self._key(task)] = left


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def command_for(env: Environment, action: str) -> str:
    """The environment's command that a canonical action stands for, among those that apply now.

    Where none has that canonical form, the action itself.
    """
    kind = state_kind(env.name)
    if kind is None:
        return action
    return next((said for said in env.info.admissible if kind.command(said) == action), action)


def own_steps(rollout: Rollout, given: int) -> Rollout:
    """A rollout without the steps that were given: it begins where the policy took over.

    Its reward is that of its own steps, and its group is that of the rollouts of the task that begin there.
    """
    if not given:
        return rollout
    last, paid = rollout.steps[given - 1], sum(step.reward for step in rollout.steps[:given])
    update = {
        "start": last.state,
        "observation": last.observation,
        "steps": rollout.steps[given:],
        "reward": rollout.reward - paid,
        "group": f"{rollout.task} after {given} given steps",
    }
    return rollout.model_copy(update=update)
