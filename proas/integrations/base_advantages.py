"""What is done to a trainer's own advantages before they are shaped: GiGPO's step level, and groups of mere penalties.

A trainer brings the advantage of each trajectory (GRPO, DAPO). GiGPO adds to it an advantage of each step, which no
trainer's estimator can see, as it knows no anchor states; so it is added here (``proas.shaping`` has the formula).
"""

from __future__ import annotations

import numpy as np

from proas.rollouts import RolloutBatch
from proas.shaping import ShapingConfig
from proas.shaping.estimators import anchor_advantages
from proas.shaping.frame import Frame, anchors_of
from proas.shaping.ragged import Bools, Floats
from proas.shaping.rewards import rewards_of

__all__ = ["gigpo_step_advantages", "lone_penalties", "settled"]

_SINGLE_PRECISION = 1e-6
"""Relative difference up to which two advantages of a trainer that computes in float32 are one value."""


def settled(base: Floats) -> Floats:
    """Advantages of one trajectory in which values that differ by float32's rounding alone have become one.

    Penalty redistribution is taken inside clusters of steps that share a value; rounding must make no clusters.

    Args:
        base: ``(T,)``.

    Returns:
        ``(T,)``; every value within one millionth of the one given.
    """
    order = np.argsort(base, kind="stable")
    ordered = base[order]
    starts = np.flatnonzero(np.diff(ordered, prepend=-np.inf) > _SINGLE_PRECISION * np.abs(ordered))
    lengths = np.diff(np.append(starts, base.size))
    result = np.empty_like(base)
    result[order] = np.repeat(ordered[starts], lengths)
    return result


def gigpo_step_advantages(batch: RolloutBatch, config: ShapingConfig) -> Floats:
    """``omega * A^S`` of every step of a batch, rollout after rollout, ``(S,)``.

    Anchors, discount, weight and normalisation are those of the settings. Source: Feng et al., 2025, arXiv:2505.10978,
    Eq. 5 to 8.

    Raises:
        DataError: A reward is not finite, or anchors are states and a rollout carries none.
    """
    frame = Frame.of(batch)
    rewards = rewards_of(frame, config)
    if config.penalty_only_groups == "drop":
        rewards = rewards.without_lone_penalties(frame)
    steps = anchor_advantages(
        rewards.steps + rewards.penalties,
        frame.offsets,
        frame.groups,
        anchors_of(frame, config.anchor),
        gamma=config.gamma,
        std=config.normalise == "mean_std",
        eps=config.std_eps,
    )
    return np.asarray(config.omega * steps, dtype=np.float64)


def lone_penalties(batch: RolloutBatch, config: ShapingConfig) -> Bools:
    """Rollouts of groups whose returns differ by penalties for invalid steps alone, ``(N,)``.

    The preset ``membership`` leaves such groups at zero: normalised by their own tiny deviation, penalties of a tenth
    would weigh as much as success and failure elsewhere.

    Raises:
        DataError: A reward is not finite.
    """
    frame = Frame.of(batch)
    rewards = rewards_of(frame, config)
    changed = rewards.penalties != rewards.without_lone_penalties(frame).penalties
    touched = np.bincount(frame.groups[frame.owner[changed]], minlength=int(frame.groups.max(initial=-1)) + 1) > 0
    return np.asarray(touched[frame.groups], dtype=np.bool_)
