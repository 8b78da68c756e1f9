"""Ragged batches: N rollouts of different lengths as flat arrays of S steps, without padding.

Shapes used throughout ``proas.shaping``: ``(N,)`` one entry a rollout; ``(S,)`` one entry a step, rollout after
rollout; ``offsets`` of shape ``(N + 1,)``, so that rollout ``i`` owns steps ``offsets[i] : offsets[i + 1]`` (none when
it is empty); ``owner`` of shape ``(S,)``, the rollout of each step; ``groups`` of small integers from 0.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = [
    "Baseline",
    "Bools",
    "Floats",
    "Ints",
    "baseline",
    "codes",
    "discounted_returns",
    "future_count",
    "offsets_of",
    "owner_of",
    "relative",
    "sum_by_owner",
    "value_clusters",
]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

# Differences this small beside the values are rounding: three penalties of 0.1 are not a better run than 0.3 at once.
_ROUNDING = 1e-12
# Advantages of one trajectory that differ by less than this share of their size count as one value.
_SAME_VALUE = 1e-9


def offsets_of(lengths: Sequence[int] | Ints) -> Ints:
    """Offsets ``(N + 1,)`` from the N lengths."""
    offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


def owner_of(offsets: Ints) -> Ints:
    """Rollout of each step, ``(S,)``."""
    return np.repeat(np.arange(len(offsets) - 1, dtype=np.int64), np.diff(offsets))


def sum_by_owner(values: Floats, owner: Ints, size: int) -> Floats:
    """Sums of the steps of each of ``size`` rollouts, ``(N,)``."""
    return np.asarray(np.bincount(owner, weights=values, minlength=size), dtype=np.float64)


def codes(names: Iterable[Hashable]) -> Ints:
    """Small integers from 0 for names, in order of first appearance."""
    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(name, len(numbers)) for name in names], dtype=np.int64)


def future_count(flags: Bools, offsets: Ints) -> Ints:
    """Number of flagged steps from each step to the end of its rollout, itself included, ``(S,)``.

    With ``flags = ~progress`` this is the paper's future drift D.
    """
    before = np.zeros(flags.size + 1, dtype=np.int64)
    np.cumsum(flags, out=before[1:])
    ends = np.repeat(before[offsets[1:]], np.diff(offsets))
    return ends - before[:-1]


def discounted_returns(rewards: Floats, offsets: Ints, gamma: float) -> Floats:
    """``R_t = r_t + gamma * R_{t+1}`` within each rollout, ``(S,)``."""
    lengths = np.diff(offsets)
    longest_first = np.argsort(-lengths, kind="stable")
    ascending = lengths[longest_first][::-1]
    returns = rewards.astype(np.float64, copy=True)
    for t in range(int(lengths.max(initial=0)) - 2, -1, -1):
        # Only rollouts that have a step t + 1 take part: they lead the order by length.
        count = len(lengths) - int(np.searchsorted(ascending, t + 1, side="right"))
        at = offsets[longest_first[:count]] + t
        returns[at] += gamma * returns[at + 1]
    return returns


@dataclass(frozen=True, slots=True)
class Baseline:
    """What a group's values are compared with; arrays of shape ``(G,)``.

    Attributes:
        mean: Mean; 0 where the group has no values.
        std: Sample standard deviation (divisor n - 1, as ``torch.std`` in verl and TRL); 0 for fewer than two values.
        scale: Largest magnitude, to tell differences from rounding.
        count: Number of values.
    """

    mean: Floats
    std: Floats
    scale: Floats
    count: Ints


def baseline(values: Floats, groups: Ints, size: int) -> Baseline:
    """Mean and deviation of each of ``size`` groups.

    Values are summed in sorted order, so that the result does not depend, to the last bit, on the order of rollouts.
    """
    count = np.bincount(groups, minlength=size)
    mean, square, scale = (np.zeros(size) for _ in range(3))
    if values.size:
        order = np.lexsort((values, groups))
        ordered, group = values[order], groups[order]
        first = np.flatnonzero(np.diff(group, prepend=-1))
        present = group[first]
        mean[present] = np.add.reduceat(ordered, first) / count[present]
        scale[present] = np.maximum.reduceat(np.abs(ordered), first)
        # Squares are taken in units of the largest value, so that neither huge nor tiny rewards leave the range.
        unit = np.where(scale > 0, scale, 1.0)
        deviation = _settle(ordered - mean[group], scale[group]) / unit[group]
        square[present] = np.add.reduceat(deviation * deviation, first)
    return Baseline(mean, scale * np.sqrt(square / np.maximum(count - 1, 1)), scale, count)


def relative(values: Floats, groups: Ints, base: Baseline, *, std: bool, eps: float) -> Floats:
    """Values minus their group's mean, divided by its deviation plus ``eps`` when ``std`` is set.

    A value that equals the mean up to rounding gives exactly 0, and so does any value of a group without a baseline.
    """
    difference = _settle(values - base.mean[groups], np.maximum(base.scale[groups], np.abs(values)))
    difference[base.count[groups] == 0] = 0.0
    return difference / (base.std[groups] + eps) if std else difference


def value_clusters(values: Floats, owner: Ints) -> Ints:
    """Clusters of steps of one rollout that share a value: small integers from 0, same shape as ``values``.

    Values share a cluster when they agree to nine digits, so that the order of additions that led to them is no cause
    for a cluster of its own.
    """
    order = np.lexsort((values, owner))
    ordered = values[order]
    starts = np.diff(owner[order], prepend=-1) != 0
    gap = np.diff(ordered, prepend=0.0)
    starts |= gap > _SAME_VALUE * np.abs(ordered)
    clusters = np.empty(values.size, dtype=np.int64)
    clusters[order] = np.cumsum(starts) - 1
    return clusters


def _settle(difference: Floats, scale: Floats) -> Floats:
    difference[np.abs(difference) <= _ROUNDING * scale] = 0.0
    return difference
