"""MiGPO: credit towards the next milestone, and a baseline for each stretch between two milestones.

Source: BEACON, "Milestone-Guided Policy Learning for Long-Horizon Language Agents", arXiv:2605.06078, and its authors'
code. A milestone splits a trajectory into segments. In a segment that ends with its milestone, reached by step t_k,

    r_t = R * gamma^(t_k - t)

and 0 in the last segment, whose milestone was not reached. With A^E of GRPO over episode returns,

    A_t = A^E + w * (r_t - mean of r over the steps of the group in the same segment)

From the paper and code: the decay (gamma 0.95), the groups (task, number of the segment), the joint sum with w = 1, no
division by the deviation at either level. Our reading: milestones are the subgoals of ``proas.states``; one is reached
by the step that first raises the highest subgoal index so far, and a step that raises it by two reaches one milestone.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from proas.shaping.estimators import grpo
from proas.shaping.ragged import Bools, Floats, Ints, owner_of

__all__ = ["migpo", "milestone_steps", "segment_rewards"]


def milestone_steps(subgoals: Sequence[int]) -> list[bool]:
    """Which steps reach a milestone.

    Args:
        subgoals: Subgoal index of the T + 1 states, start first.

    Returns:
        T flags.
    """
    reached: list[bool] = []
    highest = subgoals[0]
    for index in subgoals[1:]:
        reached.append(index > highest)
        highest = max(highest, index)
    return reached


def segment_rewards(milestones: Bools, offsets: Ints, *, gamma: float, scale: float) -> tuple[Floats, Ints]:
    """Shaped rewards, and the number of the segment of each step.

    Args:
        milestones: Steps that reach a milestone, ``(S,)``.
        offsets: ``(N + 1,)``.
        gamma: Decay for each step before the milestone.
        scale: R, reward of the step that reaches it.

    Returns:
        ``r_t`` and segments counted from 0 within each rollout, both ``(S,)``.
    """
    rewards = np.zeros(milestones.size)
    segments = np.zeros(milestones.size, dtype=np.int64)
    for start, end in pairwise(offsets.tolist()):
        begin, segment = start, 0
        for t in np.flatnonzero(milestones[start:end]) + start:
            rewards[begin : t + 1] = scale * gamma ** np.arange(t - begin, -1, -1)
            segments[begin : t + 1] = segment
            begin, segment = int(t) + 1, segment + 1
        segments[begin:end] = segment
    return rewards, segments


def migpo(
    returns: Floats,
    milestones: Bools,
    offsets: Ints,
    groups: Ints,
    *,
    gamma: float = 0.95,
    weight: float = 1.0,
    scale: float = 10.0,
    std: bool = False,
    eps: float = 1e-6,
) -> Floats:
    """MiGPO's advantages, ``(S,)``; see the module.

    Args:
        returns: Episode returns, ``(N,)``.
        milestones: Steps that reach a milestone, ``(S,)``.
        offsets: ``(N + 1,)``.
        groups: Group of each rollout, ``(N,)``.
        gamma: Decay towards the milestone.
        weight: w.
        scale: R, in units of the returns.
        std: Divide by the deviation at both levels (the code's ``mean_std_norm``).
        eps: Added to a deviation.

    Raises:
        DataError: A return is not finite.
    """
    owner = owner_of(offsets)
    rewards, segments = segment_rewards(milestones, offsets, gamma=gamma, scale=scale)
    cells = groups[owner] * (int(segments.max(initial=0)) + 1) + segments
    cells = np.unique(cells, return_inverse=True)[1]
    local = grpo(rewards, cells, std=std, eps=eps)
    return grpo(returns, groups, std=std, eps=eps)[owner] + weight * local
