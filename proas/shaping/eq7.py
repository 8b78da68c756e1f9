"""The paper's Eq. 7 as functions of arrays: which share of a base advantage each step receives.

Both halves return weights ``(S,)`` with ``shaped = weight * base``. Weights are never negative, so a sign never flips
and zero stays zero. Shapes are those of :mod:`proas.shaping.ragged`. Source: Ding et al., 2026, Eq. 7.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from proas.shaping.config import AprForm, AprScope
from proas.shaping.ragged import Bools, Floats, Ints, future_count, owner_of, sum_by_owner, value_clusters

__all__ = ["apr_measure", "apr_scope", "apr_weights", "eq7", "moved_weights", "mui_weights"]


def mui_weights(
    base: Floats,
    reasonable: Bools,
    *,
    signs: Literal["positive", "both"] = "positive",
    floor: float | Floats = 0.0,
) -> Floats:
    """Masking unreasonable incentives: ``max(Re_t, floor)`` where it applies, else 1.

    Args:
        base: Base advantage of each step, ``(S,)``; each step is judged by its own sign.
        reasonable: ``Re_t``, ``(S,)``.
        signs: Mask steps of positive advantage, or of both signs.
        floor: What a masked step keeps, in [0, 1]: one number (epsilon-mask) or one a step (soft mask).

    Returns:
        Weights, ``(S,)``.
    """
    applies = base > 0 if signs == "positive" else base != 0
    return np.where(applies & ~reasonable, floor, 1.0)


def moved_weights(base: Floats, weights: Floats, offsets: Ints) -> Floats:
    """A mask's weights, enlarged so that the positive advantages of a rollout sum to what they were before the mask.

    What is taken from masked steps goes to those that are kept, in proportion to their own advantage. A rollout of
    which nothing positive is kept stays masked.

    Args:
        base: Base advantage of each step, ``(S,)``.
        weights: The mask's, ``(S,)``.
        offsets: ``(N + 1,)``.

    Returns:
        Weights, ``(S,)``.
    """
    owner, size = owner_of(offsets), len(offsets) - 1
    gained = np.where(base > 0, base, 0.0)
    before, after = sum_by_owner(gained, owner, size), sum_by_owner(weights * gained, owner, size)
    factor = np.where(after > 0, before / np.where(after > 0, after, 1.0), 1.0)
    return np.where(base > 0, weights * factor[owner], weights)


def apr_measure(form: AprForm, drift: Ints, offsets: Ints) -> Floats:
    """What the penalty is proportional to, ``(S,)``.

    Args:
        form: ``drift``: D as given. ``suffix`` and ``ramp``: number of steps left, this one included.
            ``reversed``: number of steps done, this one included. ``none``: all alike.
        drift: ``D_t``, ``(S,)``.
        offsets: ``(N + 1,)``.
    """
    if form == "drift":
        return drift.astype(np.float64)
    if form == "none":
        return np.ones(drift.size)
    left = future_count(np.ones(drift.size, dtype=np.bool_), offsets)
    if form == "reversed":
        return (np.diff(offsets)[owner_of(offsets)] - left + 1).astype(np.float64)
    return left.astype(np.float64)


def apr_scope(form: AprForm, scope: AprScope, reasonable: Bools, progress: Bools) -> Bools:
    """The set T, ``(S,)``. ``ramp`` and ``reversed`` are controls that need no graph: their T is every step."""
    if scope == "all" or form in ("ramp", "reversed"):
        return np.ones(progress.size, dtype=np.bool_)
    return ~progress if scope == "non_progress" else ~reasonable


def apr_weights(base: Floats, measure: Floats, scope: Bools, offsets: Ints, *, eps: float = 1e-6) -> Floats:
    """Asymmetric penalty redistribution: ``measure / (mean over T of measure + eps)`` on steps of T, else 1.

    T holds the steps of ``scope`` with a negative base advantage. Where the advantage differs from step to step, the
    mean is taken inside clusters: the steps of T of one trajectory that share a value of the advantage. A trajectory
    with one advantage is one cluster. So the penalty is moved inside a cluster and neither enlarged nor lessened,
    ``eps`` aside. Where the measure is 0 all over a cluster there is nothing to go by, and the weights are 1.

    Args:
        base: Base advantage of each step, ``(S,)``.
        measure: What the penalty is proportional to, ``(S,)``, at least 0.
        scope: ``(S,)``.
        offsets: ``(N + 1,)``.
        eps: Epsilon of Eq. 7.

    Returns:
        Weights, ``(S,)``.
    """
    weights = np.ones(base.size)
    steps = np.flatnonzero(scope & (base < 0))
    clusters = value_clusters(base[steps], owner_of(offsets)[steps])
    mean = np.bincount(clusters, weights=measure[steps]) / np.maximum(np.bincount(clusters), 1)
    weights[steps] = np.where(mean[clusters] > 0, measure[steps] / (mean[clusters] + eps), 1.0)
    return weights


def eq7(
    base: Floats,
    reasonable: Bools,
    progress: Bools,
    offsets: Ints,
    *,
    scope: AprScope = "non_progress",
    eps: float = 1e-6,
) -> Floats:
    """Eq. 7 to the letter, from ``Re`` and ``PA`` alone.

    For ``A > 0``: ``Re * A``. For ``A < 0`` and a step of T: ``D / (mean_T D + eps) * A`` with
    ``D_t = sum_{t' >= t} (1 - PA_t')``. Otherwise ``A``.

    Args:
        base: Base advantage of each step, ``(S,)``.
        reasonable: ``Re_t``, ``(S,)``.
        progress: ``PA_t``, ``(S,)``.
        offsets: ``(N + 1,)``.
        scope: The reading of T.
        eps: Epsilon.

    Returns:
        Shaped advantages, ``(S,)``.
    """
    drift = future_count(~progress, offsets)
    chosen = apr_scope("drift", scope, reasonable, progress)
    weights = mui_weights(base, reasonable) * apr_weights(base, drift.astype(np.float64), chosen, offsets, eps=eps)
    return weights * base + 0.0  # adding zero turns -0.0 into 0.0
