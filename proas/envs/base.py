"""What every environment offers: text in, text out, and the facts behind the text.

The shape follows Gymnasium where it fits: ``reset`` answers with an observation and an info, ``step`` with an
observation, a reward, whether the episode is over, and an info; whether the step limit cut it is ``info.truncated``.
Observations and actions are strings. An action that does not apply is not an error: it changes nothing, costs
``RewardSettings.invalid`` and comes back with ``info.valid`` false.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, TypeVar, runtime_checkable

from proas.errors import UsageError

__all__ = ["Environment", "Facts", "Info", "RewardSettings", "StepResult"]

GameT_contra = TypeVar("GameT_contra", contravariant=True)


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
    """

    admissible: tuple[str, ...]
    valid: bool
    won: bool
    truncated: bool
    steps: int
    facts: Facts


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


class Environment(Protocol[GameT_contra]):
    """One environment instance that plays one episode at a time."""

    def reset(self, task: str | GameT_contra, seed: int | None = None) -> tuple[str, Info]:
        """Start an episode.

        Args:
            task: Key of a task that the environment can look up, or the game itself.
            seed: Source of whatever is random in the environment; deterministic environments ignore it.

        Returns:
            The first observation and its info.
        """
        ...

    def step(self, action: str) -> StepResult:
        """Carry out one action. Raises ``EnvironmentFailure`` before the first reset or after the end."""
        ...


def check_step_limit(limit: int) -> int:
    """The step limit, if it makes sense.

    Raises:
        UsageError: It is not positive.
    """
    if limit < 1:
        raise UsageError(f"step limit {limit} is not positive", hint="give at least 1")
    return limit
