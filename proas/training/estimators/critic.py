"""PPO's advantages: a critic and generalised advantage estimation, with one action of the agent as one step.

    delta_t = r_t + gamma V(s_{t+1}) - V(s_t)         V = 0 after the last step
    A_t     = sum_{l >= 0} (gamma lambda)^l delta_{t+l}
    target  = A_t + V(s_t)

Sources: Schulman et al., 2016, arXiv:1506.02438, Eq. 16; Schulman et al., 2017, arXiv:1707.06347. A rollout that the
step limit cut has failed, as everywhere in ProAS: nothing is bootstrapped behind it. Advantages are centred and scaled
over the batch afterwards, as is usual; targets are not.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from proas.shaping.ragged import Floats, Ints, discounted_returns

__all__ = ["GaeEstimate", "gae"]


@dataclass(frozen=True, slots=True)
class GaeEstimate:
    """PPO's estimate.

    Attributes:
        advantages: ``A_t`` as in the formula, ``(S,)``.
        normalised: The same with mean 0 and deviation 1 over the batch, ``(S,)``.
        targets: What the critic should say, ``(S,)``.
    """

    advantages: Floats
    normalised: Floats
    targets: Floats


def gae(
    step_rewards: Floats, values: Floats, offsets: Ints, *, gamma: float = 0.95, lam: float = 0.95, eps: float = 1e-8
) -> GaeEstimate:
    """Generalised advantage estimation; see the module.

    Args:
        step_rewards: ``(S,)``.
        values: The critic's value before each step, ``(S,)``.
        offsets: ``(N + 1,)``.
        gamma: Discount.
        lam: lambda.
        eps: Added to the batch's deviation.
    """
    following = np.zeros(values.size)
    following[:-1] = values[1:]
    following[offsets[1:][np.diff(offsets) > 0] - 1] = 0.0
    advantages = discounted_returns(step_rewards + gamma * following - values, offsets, gamma * lam)
    spread = advantages.std(ddof=1) if advantages.size > 1 else 0.0
    centred = advantages - (advantages.mean() if advantages.size else 0.0)
    return GaeEstimate(advantages, centred / (spread + eps), advantages + values)
