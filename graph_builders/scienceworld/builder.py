"""From the simulator's planned solutions to reference graphs.

The simulator plans a solution for each variation of a task. It is played, and only what wins enters the graph: without
steps that were refused or changed nothing, and without loops. States are read from the hidden state.
"""

from __future__ import annotations

import atexit
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from pathlib import Path
from typing import NamedTuple

from proas.envs.scienceworld import ENV, ScienceWorldGoal, ScienceWorldWorld, Split
from proas.errors import EnvironmentFailure, UsageError
from proas.graph.records import Task, TaskGraph, Transition
from proas.graph_builders.base import BuildOptions, Built, Rejected
from proas.graph_builders.pool import in_order, worker_count
from proas.purify import kept_steps
from proas.rollouts import State
from proas.states.scienceworld import SimulatorFollower, task_ladder

__all__ = ["DEFAULT_VARIATIONS", "ScienceWorldBuilder", "build_task"]

DEFAULT_VARIATIONS = 5
"""Variations of each task that are built where nothing else is asked for: 150 tasks in all, minutes of one core."""


class ScienceWorldBuilder:
    """Builds from the planned solutions of ScienceWorld's variations; it takes no data.

    With several workers each has a Java process of its own.

    Args:
        task: Name of a task; ``None`` for all of them.
        variations: At most this many variations of each task, the first ones of the split; ``None`` for all.
        split: Which variations.
        simplifications: What is made easier.

    Raises:
        UsageError: The number of variations is not positive.
    """

    def __init__(
        self,
        task: str | None = None,
        variations: int | None = DEFAULT_VARIATIONS,
        *,
        split: Split = "train",
        simplifications: tuple[str, ...] = (),
    ) -> None:
        self._choice = _Choice(task, variations, split, simplifications)
        self._choice.world().close()  # refuses what makes no sense, and starts nothing
        self._keys: tuple[str, ...] | None = None

    def count(self, data: Path | None, options: BuildOptions) -> int:
        """Number of variations that will be answered for.

        Raises:
            UsageError: Data was given, or there is no such task.
            EnvironmentFailure: The simulator cannot be started.
        """
        return len(self._tasks(data)[: options.limit])

    def build(self, data: Path | None, options: BuildOptions) -> Iterator[Built | Rejected]:
        """Build variation by variation; see :class:`proas.graph_builders.base.Builder`."""
        jobs = (_Job(key, self._choice) for key in islice(self._tasks(data), options.limit))
        if worker_count(options.workers) > 1:
            _close()  # the one that told the tasks has no more to do
        try:
            yield from in_order(_work, jobs, workers=options.workers, lost=_lost)
        finally:
            _close()

    def _tasks(self, data: Path | None) -> Sequence[str]:
        if data is not None:
            raise UsageError("ScienceWorld takes no data: the package carries it", hint="leave --data out")
        if self._keys is None:
            self._keys = tuple(_world(self._choice).tasks)
        return self._keys


class _Walk(NamedTuple):
    """A solution as it was played.

    Attributes:
        start: The state before it.
        states: The state after each step.
        actions: Canonical forms of the steps.
        valid: Whether each was carried out.
        won: Whether it won.
        text: The task in words.
        score: The simulator's score in the end.
    """

    start: State
    states: tuple[State, ...]
    actions: tuple[str, ...]
    valid: tuple[bool, ...]
    won: bool
    text: str
    score: float


def build_task(world: ScienceWorldWorld, key: str) -> Built | Rejected:
    """The reference graph of one variation, or the reason why there is none.

    Args:
        world: Where it is played.
        key: The variation.

    Raises:
        UsageError: There is no such task.
        EnvironmentFailure: The simulator failed.
    """
    plan = world.plan(key)
    if not plan:
        return Rejected(key, "no_plan", "the simulator plans no solution", ENV)
    walk = _play(world, key, plan)
    if not walk.won:
        return Rejected(key, "not_won", f"the planned solution ends with a score of {walk.score:.2f}", ENV)
    goal = ScienceWorldGoal.from_key(key)
    ladder = task_ladder(goal, walk.text)
    visited = (walk.start, *walk.states)
    keep = kept_steps("loop_erased", [state.key for state in visited], walk.valid)
    states: dict[str, State] = {walk.start.key: walk.start}
    transitions: dict[str, Transition] = {}
    for t, (before, after) in enumerate(pairwise(visited)):
        if not keep[t] or ladder.index(before.facts) > ladder.index(after.facts):
            continue
        states |= {before.key: before, after.key: after}
        transition = Transition(before.key, walk.actions[t], after.key, "plan")
        transitions.setdefault(transition.key, transition)
    task = Task(key, ENV, goal.name.replace("-", " "), walk.text)
    tallies = {
        "plan_steps": len(walk.actions),
        "refused": walk.valid.count(False),
        "erased": walk.valid.count(True) - len(transitions),
    }
    return Built(TaskGraph(task, ladder, walk.start, states, tuple(transitions.values())), "plan", tallies)


def _play(world: ScienceWorldWorld, key: str, plan: Sequence[str]) -> _Walk:
    """Carry out a solution until it wins, fails or ends."""
    env, follower = world.environment(step_limit=len(plan)), SimulatorFollower()
    observation, _info = env.reset(key)
    start = follower.begin(env, observation)
    states: list[State] = []
    actions: list[str] = []
    valid: list[bool] = []
    for action in plan:
        result = env.step(action)
        info = result.info
        seen = follower.observe(env, action, result.observation, valid=info.valid, won=info.won)
        states.append(seen.state)
        actions.append(seen.canonical)
        valid.append(seen.valid)
        if result.done:
            break
    return _Walk(start, tuple(states), tuple(actions), tuple(valid), env.info.won, env.goal_text, env.score)


@dataclass(frozen=True, slots=True)
class _Choice:
    """Which variations: plain values, so that they reach worker processes."""

    task: str | None
    variations: int | None
    split: Split
    simplifications: tuple[str, ...]

    def world(self) -> ScienceWorldWorld:
        """The world of these variations; its simulator is not started yet."""
        return ScienceWorldWorld(
            self.task,
            split=self.split,
            variations=self.variations,
            simplifications=self.simplifications,
            listing=False,
        )


@dataclass(frozen=True, slots=True)
class _Job:
    key: str
    choice: _Choice


_opened: dict[tuple[int, _Choice], ScienceWorldWorld] = {}
"""The world of this process: its Java process serves one job after the other."""


def _work(job: _Job) -> Built | Rejected:
    try:
        return build_task(_world(job.choice), job.key)
    except EnvironmentFailure as error:
        return Rejected(job.key, "simulator", str(error), ENV)
    except Exception as error:  # noqa: BLE001  # one odd task must not cost the others; the report names it
        return Rejected(job.key, "fault", f"{type(error).__name__}: {error}", ENV)


def _world(choice: _Choice) -> ScienceWorldWorld:
    mine = os.getpid(), choice
    if mine not in _opened:
        _opened[mine] = choice.world()
        atexit.register(_close)
    return _opened[mine]


def _lost(job: _Job) -> Rejected:
    return Rejected(job.key, "worker_died", "the worker process died, perhaps out of memory", ENV)


def _close() -> None:
    """End the Java processes of this process."""
    atexit.unregister(_close)
    while _opened:
        _opened.popitem()[1].close()
