"""HGPO: a step is compared with steps of the same state, and more so with those of the same history.

Source: "Hierarchy-of-Groups Policy Optimization for Long-Horizon Agentic Tasks", arXiv:2602.22817, and its authors'
code. For k = 0..K a step's group of level k holds the steps of its task whose last k + 1 states, the present one
included, are the same. With the discounted step returns R_t, normalised in each group,

    A_t = sum_k w_k A_t^k / sum_k w_k        w_k = (k + 1)^alpha

so that a longer common history weighs more. From the paper: the nested groups, the weights with alpha = 1, no episode
level of its own. Our reading: histories at the start of an episode are padded with nothing, so that short ones equal
short ones; a level at which the step is alone has no baseline and takes no part; a step alone at every level gets 0.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from proas.shaping.estimators import grpo
from proas.shaping.ragged import Floats, Ints, codes, discounted_returns, offsets_of

__all__ = ["hgpo"]


def hgpo(
    step_rewards: Floats,
    states: Sequence[Sequence[str]],
    groups: Ints,
    *,
    gamma: float = 0.95,
    context: int = 2,
    power: float = 1.0,
    std: bool = True,
    eps: float = 1e-6,
) -> Floats:
    """HGPO's advantages, ``(S,)``; see the module.

    Args:
        step_rewards: ``(S,)``.
        states: For each rollout the states before its steps, in order.
        groups: Group of each rollout, ``(N,)``.
        gamma: Discount of the step returns.
        context: K, longest history before the present state.
        power: alpha.
        std: Divide by the deviation in each group.
        eps: Added to a deviation.

    Raises:
        DataError: A reward is not finite.
    """
    returns = discounted_returns(step_rewards, offsets_of([len(path) for path in states]), gamma)
    total, weight = np.zeros(returns.size), np.zeros(returns.size)
    for k in range(context + 1):
        cells = codes(
            (int(group), *path[max(0, t - k) : t + 1])
            for group, path in zip(groups, states, strict=True)
            for t in range(len(path))
        )
        shared = np.bincount(cells, minlength=1)[cells] > 1 if cells.size else np.zeros(0, dtype=np.bool_)
        w = (k + 1.0) ** power * shared
        total += w * grpo(returns, cells, std=std, eps=eps)
        weight += w
    return np.divide(total, weight, out=np.zeros(returns.size), where=weight > 0)
