"""The reference estimators that ProAS leaves untouched: GRPO, DAPO and GiGPO, as functions of arrays.

Shapes are those of :mod:`proas.shaping.ragged`. All arithmetic is in float64. A group of one has no baseline: its
advantage is 0 (verl keeps the raw return there, which rewards whatever was done).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from proas.errors import DataError
from proas.shaping.ragged import Bools, Floats, Ints, baseline, discounted_returns, owner_of, relative, sum_by_owner

__all__ = [
    "DapoEstimate",
    "GigpoEstimate",
    "GroupOutcomes",
    "LossUnit",
    "anchor_advantages",
    "dapo",
    "gigpo",
    "group_outcomes",
    "grpo",
    "token_weights",
]

LossUnit = Literal["sequence", "token", "step"]
"""What the loss is a mean over."""


@dataclass(frozen=True, slots=True)
class GroupOutcomes:
    """How each group ended; arrays of shape ``(G,)``.

    Attributes:
        all_won: Every rollout of the group succeeded.
        all_failed: None did.
    """

    all_won: Bools
    all_failed: Bools

    @property
    def mixed(self) -> Bools:
        """Groups with at least one success and one failure."""
        return ~(self.all_won | self.all_failed)


@dataclass(frozen=True, slots=True)
class DapoEstimate:
    """DAPO's advantages and what dynamic sampling keeps.

    Attributes:
        advantages: ``(N,)``; 0 for rollouts that are not kept.
        kept: ``(N,)``, whether the rollout's group has both outcomes.
        outcomes: How the groups ended.
    """

    advantages: Floats
    kept: Bools
    outcomes: GroupOutcomes


@dataclass(frozen=True, slots=True)
class GigpoEstimate:
    """GiGPO's advantages.

    Attributes:
        episode: ``A^E``, ``(N,)``.
        step: ``A^S``, ``(S,)``.
        advantages: ``A^E + omega * A^S``, ``(S,)``.
    """

    episode: Floats
    step: Floats
    advantages: Floats


def group_outcomes(success: Bools, groups: Ints) -> GroupOutcomes:
    """Which groups won or failed as a whole, judged by success and never by a shaped score."""
    size = _group_count(groups)
    count = np.bincount(groups, minlength=size)
    won = np.bincount(groups[success], minlength=size)
    return GroupOutcomes(all_won=won == count, all_failed=won == 0)


def grpo(returns: Floats, groups: Ints, *, std: bool = True, eps: float = 1e-6) -> Floats:
    """Group-relative advantages.

    ``A_i = (R_i - mean(R)) / (std(R) + eps)`` over the rollouts of the same group; without ``std`` only centred
    (Dr. GRPO). Source: DeepSeekMath, Shao et al., 2024, arXiv:2402.03300, section 4.1.2 (outcome supervision); epsilon
    and the sample deviation as in verl's ``compute_grpo_outcome_advantage``.

    Args:
        returns: Episode returns, ``(N,)``, in units of the reward.
        groups: Group of each rollout, ``(N,)``.
        std: Divide by the group's standard deviation.
        eps: Added to the deviation.

    Returns:
        ``A_i``, ``(N,)``.

    Raises:
        DataError: A return is not finite, or too large for the arithmetic.
    """
    _require_finite(returns, "returns")
    with np.errstate(over="ignore", invalid="ignore"):
        advantages = relative(returns, groups, baseline(returns, groups, _group_count(groups)), std=std, eps=eps)
    _require_finite(advantages, "advantages from these returns")
    return advantages


def dapo(returns: Floats, success: Bools, groups: Ints, *, std: bool = True, eps: float = 1e-6) -> DapoEstimate:
    """DAPO's advantages under dynamic sampling.

    The advantage is GRPO's. Dynamic sampling keeps a group only if ``0 < |{i : i succeeded}| < G``, for a group of one
    outcome has no gradient. Its token-level loss is :func:`token_weights` with unit ``token``; its raised upper clip
    is the trainer's. Source: Yu et al., 2025, arXiv:2503.14476, Eq. 8, 9, 11 and 12.

    Args:
        returns: Episode returns, ``(N,)``.
        success: Whether each rollout solved its task, ``(N,)``; the filter looks at this, never at the returns.
        groups: Group of each rollout, ``(N,)``.
        std: Divide by the group's standard deviation.
        eps: Added to the deviation.

    Raises:
        DataError: A return is not finite.
    """
    outcomes = group_outcomes(success, groups)
    kept = outcomes.mixed[groups]
    advantages = np.where(kept, grpo(returns, groups, std=std, eps=eps), 0.0)
    return DapoEstimate(advantages, kept, outcomes)


def gigpo(
    step_rewards: Floats,
    offsets: Ints,
    groups: Ints,
    anchors: Ints,
    *,
    gamma: float = 0.95,
    omega: float = 1.0,
    std: bool = True,
    eps: float = 1e-6,
    returns: Floats | None = None,
) -> GigpoEstimate:
    """Group-in-group advantages: between episodes, and between the actions taken in the same state.

    ``A^E_i`` is GRPO's on episode returns. With ``R_t = sum_{k >= t} gamma^(k-t) r_k``, the steps of one group that
    start in the same anchor state form a step group, and ``A^S_t = (R_t - mean) / (std + eps)`` within it, or only
    centred without ``std`` (the paper's ``F_norm = 1``). ``A = A^E + omega * A^S``. A state met once gives ``A^S = 0``.
    Source: Feng et al., 2025, arXiv:2505.10978, Eq. 3 and 5 to 8.

    Args:
        step_rewards: ``(S,)``.
        offsets: ``(N + 1,)``.
        groups: Episode group of each rollout, ``(N,)``.
        anchors: State before each step, ``(S,)``; equal numbers in different groups are different anchors.
        gamma: Discount of the step returns, in [0, 1].
        omega: Weight of the step level.
        std: Divide by the deviation, at both levels.
        eps: Added to the deviation.
        returns: Episode returns, ``(N,)``; the undiscounted sums of ``step_rewards`` when not given.

    Raises:
        DataError: A reward is not finite.
    """
    owner = owner_of(offsets)
    step = anchor_advantages(step_rewards, offsets, groups, anchors, gamma=gamma, std=std, eps=eps)
    sums = sum_by_owner(step_rewards, owner, len(groups)) if returns is None else returns
    episode = grpo(sums, groups, std=std, eps=eps)
    return GigpoEstimate(episode, step, episode[owner] + omega * step)


def anchor_advantages(
    step_rewards: Floats,
    offsets: Ints,
    groups: Ints,
    anchors: Ints,
    *,
    gamma: float = 0.95,
    std: bool = True,
    eps: float = 1e-6,
) -> Floats:
    """GiGPO's step level alone, ``A^S`` of shape ``(S,)``; arguments as for :func:`gigpo`.

    Raises:
        DataError: A reward is not finite.
    """
    _require_finite(step_rewards, "step rewards")
    of_step = groups[owner_of(offsets)]
    step_group = np.unique(of_step * (anchors.max(initial=0) + 1) + anchors, return_inverse=True)[1]
    return grpo(discounted_returns(step_rewards, offsets, gamma), step_group, std=std, eps=eps)


def token_weights(unit: LossUnit, tokens: Ints, offsets: Ints, kept: Bools | None = None) -> Floats:
    """Weight of each token in the loss, per step: the loss is ``sum_t weight_t * sum_{tokens of t} loss``.

    ========== ============================= ===================================================================
    unit       weight of a token             source
    ========== ============================= ===================================================================
    sequence   ``1 / (N * |o_i|)``           GRPO: mean over a rollout's tokens, then over rollouts
    token      ``1 / sum_i |o_i|``           DAPO, Eq. 12: every token counts alike, long rollouts weigh more
    step       ``1 / (S * |a_t|)``           GiGPO, Eq. 9: mean over steps
    ========== ============================= ===================================================================

    The weights of all tokens sum to 1. Rollouts that are not kept, and steps without tokens, weigh 0 and do not count
    in N and S.

    Args:
        unit: What is averaged over.
        tokens: Tokens sampled for each step, ``(S,)``.
        offsets: ``(N + 1,)``.
        kept: Rollouts that take part, ``(N,)``; all when not given.

    Returns:
        ``(S,)``.
    """
    owner = owner_of(offsets)
    counted = tokens.astype(np.float64)
    if kept is not None:
        counted = np.where(kept[owner], counted, 0.0)
    if unit == "token":
        size = np.full(tokens.size, counted.sum())
    elif unit == "step":
        size = counted * np.count_nonzero(counted)
    else:
        per_rollout = sum_by_owner(counted, owner, len(offsets) - 1)
        size = per_rollout[owner] * np.count_nonzero(per_rollout)
    weights = np.zeros(tokens.size)
    np.divide(1.0, size, out=weights, where=(counted > 0) & (size > 0))
    return weights


def _group_count(groups: Ints) -> int:
    return int(groups.max(initial=-1)) + 1


def _require_finite(values: Floats, what: str) -> None:
    bad = np.flatnonzero(~np.isfinite(values))
    if bad.size:
        raise DataError(f"{what}: entry {bad[0]} is {values[bad[0]]}", hint="rewards must be finite numbers")
