"""MiGPO: credit towards the next milestone, and a baseline for each stretch between two milestones.

Source: BEACON, "Milestone-Guided Policy Learning for Long-Horizon Language Agents", arXiv:2605.06078, and its authors'
code. A milestone splits a trajectory into segments. In a segment that ends with its milestone, reached by step t_k,

    r_t = R * gamma^(t_k - t)

and 0 in the last segment, whose milestone was not reached. A step that was invalid pays its penalty p_t itself, at both
levels. With the outcome O of the episode,

    A_t = (O + p_t - mean) + w * (r_t + p_t - mean)

where the first mean runs over the steps of all rollouts of the group, one row a step, and the second over those of them
in the segment of the same number.

From the paper: the decay (gamma = 0.95), the groups, the joint sum with w = 1. From the code: rows, penalties at both
levels, R = 10 as for a success, no division by a deviation at either level (``mean_norm``, in every published script;
the one for ALFWorld has w = 10 and gamma = 0.9, though, against the paper's one set for all). Our reading: milestones
are the subgoals of ``proas.states``; one is reached by the step that first raises the highest subgoal index so far, and
a step that raises it by two reaches one milestone. Where ``shaping.rows`` = trajectory, the episode level has one value
a rollout, the outcome with all penalties.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Literal

import numpy as np

from proas.shaping.estimators import grpo
from proas.shaping.ragged import Bools, Floats, Ints, owner_of, sum_by_owner

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
    outcomes: Floats,
    penalties: Floats,
    milestones: Bools,
    offsets: Ints,
    groups: Ints,
    *,
    rows: Literal["trajectory", "step"] = "step",
    gamma: float = 0.95,
    weight: float = 1.0,
    scale: float = 10.0,
) -> Floats:
    """MiGPO's advantages, ``(S,)``, in units of the reward; see the module.

    Args:
        outcomes: Episode returns without penalties, ``(N,)``.
        penalties: Penalty of each step, at most 0, ``(S,)``.
        milestones: Steps that reach a milestone, ``(S,)``.
        offsets: ``(N + 1,)``.
        groups: Group of each rollout, ``(N,)``.
        rows: What the episode level's mean runs over.
        gamma: Decay towards the milestone.
        weight: w.
        scale: R, in units of the returns.

    Raises:
        DataError: A return is not finite.
    """
    owner = owner_of(offsets)
    if rows == "step":
        episode = grpo(outcomes[owner] + penalties, groups[owner], std=False)
    else:
        episode = grpo(outcomes + sum_by_owner(penalties, owner, len(groups)), groups, std=False)[owner]
    rewards, segments = segment_rewards(milestones, offsets, gamma=gamma, scale=scale)
    cells = groups[owner] * (int(segments.max(initial=0)) + 1) + segments
    cells = np.unique(cells, return_inverse=True)[1]
    return episode + weight * grpo(rewards + penalties, cells, std=False)
