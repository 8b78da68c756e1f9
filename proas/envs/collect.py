"""Collects rollouts: a group of them for each task, by a policy, reproducibly.

Every rollout draws from a generator of its own, seeded by the run's seed, the task and its number in the group. So a
rollout does not depend on which other tasks are played, nor in what order.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

from proas.envs.base import Environment, Info, Policy, RewardSettings, StepResult, World, check_step_limit
from proas.errors import EnvironmentFailure, TaskError, UsageError
from proas.keys import digest
from proas.rollouts import Ended, Reject, Rollout, State, Step

__all__ = [
    "CollectSettings",
    "Follower",
    "collect",
    "ended_by",
    "play",
    "recorded_step",
    "rollout_seed",
    "taken_step",
]


class _Seen(Protocol):
    @property
    def state(self) -> State: ...
    @property
    def canonical(self) -> str: ...
    @property
    def seeks(self) -> bool: ...


class Follower(Protocol):
    """Says in which state an episode is; ``proas.states.follower_for`` makes one."""

    def begin(self, env: Any, observation: str) -> State:
        """State of an episode that was just reset."""
        ...

    def observe(self, env: Any, action: str, observation: str, *, valid: bool, won: bool) -> _Seen:
        """State after an action, its canonical form, and whether it looked for something."""
        ...


@dataclass(frozen=True, slots=True)
class CollectSettings:
    """How rollouts are made.

    Attributes:
        policy: Name of one of the world's policies.
        group_size: Rollouts of each task (G).
        seed: Source of all randomness.
        step_limit: Steps after which an unsolved rollout is cut; ``None`` for the environment's usual number.
        rewards: What steps pay.

    Raises:
        UsageError: A value makes no sense.
    """

    policy: str = "expert"
    group_size: int = 8
    seed: int = 0
    step_limit: int | None = None
    rewards: RewardSettings = field(default_factory=RewardSettings)

    def __post_init__(self) -> None:
        """Refuse settings that no collection can follow, before any task is loaded."""
        if self.group_size < 1:
            raise UsageError(f"the group size must be at least 1, not {self.group_size}")
        if self.step_limit is not None:
            check_step_limit(self.step_limit)


def collect(
    world: World,
    tasks: Iterable[str],
    settings: CollectSettings,
    follower: Callable[[Environment], Follower] | None = None,
) -> Iterator[Rollout | Reject]:
    """Play a group of rollouts of each task.

    Args:
        world: The environment's tasks.
        tasks: Keys of those to play, in this order.
        settings: How.
        follower: Makes what attaches states to an environment's rollouts; without it they carry none.

    Yields:
        Rollouts ``<task>#0``, ``<task>#1``, ... of one task after the other; a reject in place of a task that cannot
        be played.

    Raises:
        UsageError: The world has no such policy or task.
    """
    world.policy(settings.policy, random.Random(0))  # noqa: S311  # only to check the name, before anything is played
    env = world.environment(step_limit=settings.step_limit, rewards=settings.rewards)
    for task in tasks:
        for number in range(settings.group_size):
            # Randomness for a simulation, not for secrets.
            rng = random.Random(rollout_seed(settings.seed, task, number))  # noqa: S311
            policy = world.policy(settings.policy, rng)
            try:
                rollout = play(env, policy, task, number, follower(env) if follower is not None else None)
            except TaskError as error:
                yield Reject(f"{error.problem}: {error.reason}", source=world.name, id=task)
                break
            yield rollout


def play(env: Environment, policy: Policy, task: str, number: int = 0, follower: Follower | None = None) -> Rollout:
    """One rollout.

    Args:
        env: Where it is played.
        policy: Who plays.
        task: Key of the task.
        number: Its number in the group; the seed of whatever is random in the environment.
        follower: Attaches states, if given.

    Returns:
        The rollout. One whose policy sees no way on ends with ``error`` and is a failed one. ``tokens`` counts words:
        these policies sample none. ``reward`` is the sum over the steps.

    Raises:
        TaskError: The task cannot be played.
        UsageError: There is no such task.
    """
    observation, info = env.reset(task, seed=number)
    start = follower.begin(env, observation) if follower is not None else None
    steps, ended = _steps(env, policy, follower) if not info.won else ([], "success")
    return Rollout(
        id=f"{task}#{number}",
        env=env.name,
        task=task,
        goal=env.goal_text,
        observation=observation,
        start=start,
        steps=tuple(steps),
        success=ended == "success",
        reward=sum(step.reward for step in steps),
        score=env.info.score,
        ended=ended,
    )


def _steps(env: Environment, policy: Policy, follower: Follower | None) -> tuple[list[Step], Ended]:
    """Play to the end of the episode."""
    steps: list[Step] = []
    while True:
        try:
            action = policy.act(env)
        except EnvironmentFailure:
            return steps, "error"
        step, result = taken_step(env, action, follower)
        steps.append(step)
        if result.done:
            return steps, ended_by(result.info)


def ended_by(info: Info) -> Ended:
    """Why an episode that is over came to its end, when nothing from outside broke it off."""
    return "success" if info.won else "step_limit" if info.truncated else "stopped"


def taken_step(
    env: Environment, action: str, follower: Follower | None, *, tokens: int | None = None
) -> tuple[Step, StepResult]:
    """Carry an action out, and record it with its state.

    Args:
        env: The environment, in an episode.
        action: The action.
        follower: Attaches the state, if given.
        tokens: Tokens that the policy sampled; ``None`` counts the action's words.

    Raises:
        EnvironmentFailure: The episode is over, or the environment fails.
    """
    result = env.step(action)
    valid = result.info.valid
    if follower is None:
        return recorded_step(action, result.observation, result.reward, valid=valid, tokens=tokens), result
    seen = follower.observe(env, action, result.observation, valid=valid, won=result.info.won)
    step = recorded_step(
        action,
        result.observation,
        result.reward,
        valid=valid,
        tokens=tokens,
        state=seen.state,
        canonical=seen.canonical,
        seeks=seen.seeks,
    )
    return step, result


def rollout_seed(seed: int, task: str, number: int) -> str:
    """Seed of one rollout's policy, from the run's seed, the task, and the rollout's number in its group."""
    return digest("rollout", seed, task, number)


def recorded_step(
    action: str,
    observation: str,
    reward: float,
    *,
    valid: bool,
    tokens: int | None = None,
    state: State | None = None,
    canonical: str | None = None,
    seeks: bool = False,
) -> Step:
    """A step as a record. A policy that samples no tokens gives none: its words are counted instead."""
    return Step(
        action=action,
        observation=observation,
        reward=reward,
        valid=valid,
        tokens=max(1, len(action.split())) if tokens is None else tokens,
        canonical=canonical,
        state=state,
        seeks=seeks,
    )
