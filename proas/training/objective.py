"""The objective of an update: clipped surrogate, divergence from a reference, entropy, critic, imitation.

Every term is a sum over action tokens of ``weight * value``; the weights of an update sum to 1
(``proas.shaping.token_weights``), so a sum is a mean over rollouts, tokens or steps as the algorithm has it.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

__all__ = ["ClipRange", "PolicyTerms", "clipped_surrogate", "entropy_of", "k3", "policy_terms"]


@dataclass(frozen=True, slots=True)
class ClipRange:
    """The ratio is held in ``[1 - low, 1 + high]``; DAPO raises ``high`` alone."""

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class PolicyTerms:
    """What one batch of action tokens contributes; scalars.

    Attributes:
        surrogate: Clipped surrogate, to be maximised.
        kl: Divergence from the reference (k3).
        entropy: Entropy of the next-token distribution.
        clipped: Weighted share of tokens at which the clip is active.
        ratio: Weighted mean of the ratio.
    """

    surrogate: Tensor
    kl: Tensor
    entropy: Tensor
    clipped: Tensor
    ratio: Tensor


def clipped_surrogate(ratio: Tensor, advantages: Tensor, clip: ClipRange) -> Tensor:
    """``min(r A, clip(r, 1 - low, 1 + high) A)``, token by token.

    Source: Schulman et al., 2017, arXiv:1707.06347, Eq. 7; with two ends as in DAPO, arXiv:2503.14476, Eq. 10.
    """
    held = ratio.clamp(1 - clip.low, 1 + clip.high)
    return torch.minimum(ratio * advantages, held * advantages)


def k3(logprobs: Tensor, reference: Tensor) -> Tensor:
    """``exp(ref - lp) - (ref - lp) - 1``: an unbiased estimate of KL(policy || reference) that is never negative.

    Source: Schulman, 2020, "Approximating KL divergence"; Eq. 4 of DeepSeekMath, arXiv:2402.03300.
    """
    difference = reference - logprobs
    return torch.expm1(difference) - difference


def entropy_of(logprobs: Tensor) -> Tensor:
    """Entropy of distributions given as log-probabilities ``(N, V)``; impossible tokens count nothing."""
    probabilities = logprobs.exp()
    return -(probabilities * logprobs.masked_fill(probabilities == 0, 0.0)).sum(dim=-1)


def policy_terms(
    scores: Tensor,
    chosen: Tensor,
    old: Tensor,
    advantages: Tensor,
    weights: Tensor,
    clip: ClipRange,
    *,
    reference: Tensor | None = None,
    temperature: float = 1.0,
) -> PolicyTerms:
    """All terms of N action tokens.

    Args:
        scores: Of every token, ``(N, V)``.
        chosen: Token that was drawn, ``(N,)``.
        old: Its log-probability when it was drawn, ``(N,)``.
        advantages: ``(N,)``.
        weights: ``(N,)``.
        clip: Range of the ratio.
        reference: Log-probability under the reference, ``(N,)``; no divergence without it.
        temperature: At which the tokens were drawn.
    """
    distribution = torch.log_softmax(scores / temperature, dim=-1)
    logprobs = distribution.gather(1, chosen.unsqueeze(1)).squeeze(1)
    ratio = torch.exp(logprobs - old)
    surrogate = clipped_surrogate(ratio, advantages, clip)
    divergence = k3(logprobs, reference) if reference is not None else torch.zeros_like(logprobs)
    active = (surrogate.detach() < (ratio * advantages).detach()).to(weights.dtype)
    return PolicyTerms(
        surrogate=(weights * surrogate).sum(),
        kl=(weights * divergence).sum(),
        entropy=(weights * entropy_of(distribution)).sum(),
        clipped=(weights * active).sum(),
        ratio=(weights * ratio.detach()).sum(),
    )
