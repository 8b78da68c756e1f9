"""What every environment offers: text in, text out, and the facts behind the text.

The shape follows Gymnasium where it fits: ``reset`` answers with an observation and an info, ``step`` with an
observation, a reward, whether the episode is over, and an info; whether the step limit cut it is ``info.truncated``.
Observations and actions are strings. An action that does not apply is not an error: it changes nothing, costs
``RewardSettings.invalid`` and comes back with ``info.valid`` false.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar, runtime_checkable

from proas.errors import EnvironmentFailure, UsageError

__all__ = ["Environment", "Facts", "Info", "Policy", "RandomPolicy", "RewardSettings", "StepResult", "World"]


T = TypeVar("T")


@runtime_checkable
class Facts(Protocol):
    """Typed view of a situation; each environment has its own class with named fields."""

    def as_tuples(self) -> frozenset[tuple[str, ...]]:
        """The same as an unordered set of ``(predicate, argument, ...)``."""
        ...


@dataclass(frozen=True, slots=True)
class RewardSettings:
    """What a step pays.

    Attributes:
        success: Paid once, by the step that wins.
        invalid: Paid by an action that does not apply. The literature on these benchmarks uses 10 and -0.1.
        step: Paid by every step.
    """

    success: float = 10.0
    invalid: float = -0.1
    step: float = 0.0

    def paid(self, *, valid: bool, won: bool) -> float:
        """Reward of a step that applied or not, and won or not."""
        return self.step + (0.0 if valid else self.invalid) + (self.success if won else 0.0)


@dataclass(frozen=True, slots=True)
class Info:
    """What the environment knows besides the observation.

    Attributes:
        admissible: Commands that apply now, in a stable order.
        valid: Whether the last action applied; true after a reset.
        won: Whether the task is solved.
        truncated: Whether the step limit ended the episode before it was solved.
        steps: Number of steps taken since the reset.
        facts: Typed view of the hidden state.
        score: How well the task has been met, in [0, 1], where the environment pays in part; ``None`` elsewhere, and
            before it can be said.
    """

    admissible: tuple[str, ...]
    valid: bool
    won: bool
    truncated: bool
    steps: int
    facts: Facts
    score: float | None = None


@dataclass(frozen=True, slots=True)
class StepResult:
    """The answer to one action.

    Attributes:
        observation: What the agent reads.
        reward: Reward of this step.
        done: The episode is over: solved, or cut at the step limit.
        info: Everything else.
    """

    observation: str
    reward: float
    done: bool
    info: Info


@runtime_checkable
class Environment(Protocol):
    """One environment instance that plays one episode at a time."""

    @property
    def name(self) -> str:
        """Name of the environment, the ``env`` of its rollouts."""
        ...

    @property
    def step_limit(self) -> int:
        """Steps after which an unsolved episode is cut."""
        ...

    @property
    def task(self) -> str:
        """Key of the current episode's task. Raises ``EnvironmentFailure`` before the first reset."""
        ...

    @property
    def goal_text(self) -> str:
        """The current goal as the agent reads it. Raises ``EnvironmentFailure`` before the first reset."""
        ...

    @property
    def info(self) -> Info:
        """The info of the last reset or step. Raises ``EnvironmentFailure`` before the first reset."""
        ...

    def reset(self, task: str, seed: int | None = None) -> tuple[str, Info]:
        """Start an episode.

        Args:
            task: Key of a task.
            seed: Source of whatever is random in the environment; deterministic environments ignore it.

        Returns:
            The first observation and its info.

        Raises:
            ProASError: The task is not known (``UsageError``) or cannot be played.
        """
        ...

    def step(self, action: str) -> StepResult:
        """Carry out one action. Raises ``EnvironmentFailure`` before the first reset or after the end."""
        ...


class Policy(Protocol):
    """Chooses the next action from the environment's present situation.

    A policy is made for one kind of environment and may look at its hidden state, so ``act`` takes that kind.
    """

    def act(self, env: Any) -> str:
        """The next action. Raises ``EnvironmentFailure`` where it sees no way on."""
        ...


class RandomPolicy:
    """Any admissible action, in any environment that lists them.

    Args:
        rng: Source of randomness.
    """

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng

    def act(self, env: Environment) -> str:
        """A random admissible action. Raises ``EnvironmentFailure`` where there is none."""
        admissible = env.info.admissible
        if not admissible:
            raise EnvironmentFailure(f"{env.name}: no action is admissible here")
        return self._rng.choice(admissible)


class World(Protocol):
    """The tasks of one environment, opened from its data: what environments are made from.

    Data is read once; the environments made from one world share it and play independent episodes.
    """

    @property
    def name(self) -> str:
        """Name of the environment."""
        ...

    @property
    def tasks(self) -> Sequence[str]:
        """Keys of the tasks, in an order that depends on the data alone. Some may turn out not to be playable."""
        ...

    @property
    def policies(self) -> Sequence[str]:
        """Names of the policies that come with the environment, the best first: ``expert``, ``noisy``, ``random``."""
        ...

    def environment(self, *, step_limit: int | None = None, rewards: RewardSettings = RewardSettings()) -> Environment:
        """A new environment over these tasks.

        Args:
            step_limit: Steps after which an unsolved episode is cut; ``None`` for the benchmark's usual number.
            rewards: What steps pay.

        Raises:
            UsageError: The step limit is not positive.
        """
        ...

    def policy(self, name: str, rng: random.Random) -> Policy:
        """A policy by name. Raises ``UsageError`` for a name that is not among ``policies``."""
        ...

    def close(self) -> None:
        """Let go of what the world holds outside this process. Its environments cannot be used afterwards."""
        ...


def begun(value: T | None) -> T:
    """What an environment knows only while an episode is under way.

    Raises:
        EnvironmentFailure: None has been started.
    """
    if value is None:
        raise EnvironmentFailure("no episode has been started", hint="call reset first")
    return value


def check_step_limit(limit: int) -> int:
    """The step limit, if it makes sense.

    Raises:
        UsageError: It is not positive.
    """
    if limit < 1:
        raise UsageError(f"step limit {limit} is not positive", hint="give at least 1")
    return limit
