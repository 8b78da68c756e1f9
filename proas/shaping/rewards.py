"""Rewards as the estimators see them: outcome and penalties told apart, whatever the source recorded."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from proas.errors import DataError
from proas.shaping.config import ShapingConfig
from proas.shaping.frame import Frame
from proas.shaping.ragged import Bools, Floats

__all__ = ["Rewards", "rewards_of"]

_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Rewards:
    """Rewards in two parts.

    Attributes:
        outcomes: Episode returns without penalties, ``(N,)``.
        steps: Step rewards without penalties, ``(S,)``; they sum to the outcome of each rollout that has steps.
        penalties: Penalty of each step, at most 0, ``(S,)``.
    """

    outcomes: Floats
    steps: Floats
    penalties: Floats

    def returns(self, frame: Frame) -> Floats:
        """Episode returns with penalties, ``(N,)``."""
        return self.outcomes + frame.sum_by_rollout(self.penalties)

    def with_bonus(self, frame: Frame, bonus: Floats) -> Rewards:
        """With a bonus of shape ``(S,)`` added to the step rewards."""
        return Rewards(self.outcomes + frame.sum_by_rollout(bonus), self.steps + bonus, self.penalties)

    def without_lone_penalties(self, frame: Frame) -> Rewards:
        """Without penalties in groups whose outcomes are all equal."""
        if not len(frame.rollouts):
            return self
        size = int(frame.groups.max()) + 1
        low, high = np.full(size, np.inf), np.full(size, -np.inf)
        np.minimum.at(low, frame.groups, self.outcomes)
        np.maximum.at(high, frame.groups, self.outcomes)
        flat = high - low <= _ROUNDING * np.maximum(np.abs(high), np.abs(low))
        return Rewards(self.outcomes, self.steps, np.where(flat[frame.groups][frame.owner], 0.0, self.penalties))


def rewards_of(frame: Frame, config: ShapingConfig) -> Rewards:
    """Outcomes, step rewards and penalties.

    - A negative reward that the source recorded for an invalid step is its penalty. ``invalid_penalty`` takes its
      place, so that a source that penalises and one that does not mean the same, and nothing is penalised twice.
    - The episode return holds those penalties if it is the sum of the step rewards; otherwise it is taken as free of
      them.
    - The last step receives what the step rewards lack of the outcome, so that a source that records only the outcome
      and one that records every reward mean the same.
    - A success that the step limit cut earns nothing.

    Raises:
        DataError: A reward is NaN or infinite.
    """
    steps = np.array([step.reward for rollout in frame.rollouts for step in rollout.steps], dtype=np.float64)
    returns = np.array([rollout.reward for rollout in frame.rollouts], dtype=np.float64)
    _reject_non_finite(frame, returns, steps)
    if config.success_reward is not None:
        outcomes, steps = np.where(frame.success, config.success_reward, 0.0), np.zeros(steps.size)
        recorded = frame.recorded_penalty
    else:
        summed = _adds_up(frame, returns, steps)
        recorded = np.where(summed[frame.owner], frame.recorded_penalty, 0.0)
        steps = steps - frame.recorded_penalty
        outcomes = np.where(summed, frame.sum_by_rollout(steps), returns)
        outcomes = np.where(frame.cut_success, np.minimum(outcomes, 0.0), outcomes)
    lacking = outcomes - frame.sum_by_rollout(steps)
    present = np.diff(frame.offsets) > 0
    steps[frame.offsets[1:][present] - 1] += lacking[present]
    if config.invalid_penalty == "recorded":
        return Rewards(outcomes, steps, recorded)
    return Rewards(outcomes, steps, np.where(frame.invalid, config.invalid_penalty, 0.0))


def _adds_up(frame: Frame, returns: Floats, steps: Floats) -> Bools:
    """Whether the episode return is the sum of the step rewards, ``(N,)``."""
    size = np.abs(returns) + frame.sum_by_rollout(np.abs(steps))
    return np.asarray(np.abs(returns - frame.sum_by_rollout(steps)) <= _ROUNDING * size)


def _reject_non_finite(frame: Frame, returns: Floats, steps: Floats) -> None:
    for i in np.flatnonzero(~np.isfinite(returns)):
        raise DataError(f"rollout {frame.rollouts[i].id!r}: reward is {returns[i]}", hint="rewards must be finite")
    for j in np.flatnonzero(~np.isfinite(steps)):
        owner = int(frame.owner[j])
        raise DataError(
            f"rollout {frame.rollouts[owner].id!r}, step {j - frame.offsets[owner]}: reward is {steps[j]}",
            hint="rewards must be finite",
        )
