"""Measurements of an arm over its seeds: spreads, paired differences, when a target was reached, speed-up.

Shared by ``proas compare`` and the pages of experiments. Needs no torch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

__all__ = ["Interval", "Reached", "SpeedUp", "Spread", "first_at"]

# Two-sided 95 % points of Student's t with 1 to 30 degrees of freedom; beyond, the normal distribution's.
_T95 = (
    *(12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228),
    *(2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086),
    *(2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042),
)
_LEAST_PAIRS = 3


@dataclass(frozen=True, slots=True)
class Spread:
    """Mean and sample standard deviation over seeds; no deviation for a single one."""

    mean: float
    deviation: float | None

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        """Of values."""
        return cls(float(np.mean(values)), float(np.std(values, ddof=1)) if len(values) > 1 else None)

    def shown(self) -> str:
        """In percent."""
        return f"{100 * self.mean:.1f}" + ("" if self.deviation is None else f" ± {100 * self.deviation:.1f}")


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean of paired differences with its 95 % interval; no bounds for fewer than three pairs.

    With two, Student's t multiplies half of their distance by 12.7: it is as wide, or by luck as narrow, as they happen
    to fall, and says nothing that the mean does not.
    """

    mean: float
    low: float | None
    high: float | None
    pairs: int

    @classmethod
    def of(cls, differences: Sequence[float]) -> Interval:
        """Of paired differences: with n of them, mean ± t(n - 1) * s / sqrt(n)."""
        n = len(differences)
        mean = float(np.mean(differences))
        if n < _LEAST_PAIRS:
            return cls(mean, None, None, n)
        half = (_T95[n - 2] if n - 2 < len(_T95) else 1.960) * float(np.std(differences, ddof=1)) / n**0.5
        return cls(mean, mean - half, mean + half, n)

    def shown(self) -> str:
        """In points of percent."""
        if self.low is None or self.high is None:
            return f"{100 * self.mean:+.1f}"
        return f"{100 * self.mean:+.1f} [{100 * self.low:+.1f}, {100 * self.high:+.1f}]"


@dataclass(frozen=True, slots=True)
class Reached:
    """When a target was reached.

    Attributes:
        iterations: Mean first iteration over the seeds that reached it; ``None`` where none did.
        reached: Number of those seeds.
        seeds: Number of all.
        at_least: A lower bound of the mean over all seeds: those that did not reach it count as the last iteration
            at which they were measured.
    """

    iterations: float | None
    reached: int
    seeds: int
    at_least: float

    @classmethod
    def of(cls, curves: Sequence[Mapping[int, float]], target: float) -> Reached:
        """Of measurements by iteration, a curve for each seed and none of them empty, and a target in their unit."""
        firsts = [first_at(curve, target) for curve in curves]
        there = [first for first in firsts if first is not None]
        bounds = [max(curve) if first is None else first for curve, first in zip(curves, firsts, strict=True)]
        return cls(float(np.mean(there)) if there else None, len(there), len(curves), float(np.mean(bounds)))

    @property
    def censored(self) -> bool:
        """Whether some seed never reached it."""
        return self.reached < self.seeds

    def shown(self) -> str:
        """For a table."""
        if not self.censored:
            return f"{self.iterations:.1f}"
        return f"> {self.at_least:.1f} ({self.reached} of {self.seeds})"


@dataclass(frozen=True, slots=True)
class SpeedUp:
    """Iterations of a baseline to a target over an arm's own.

    Attributes:
        factor: The ratio.
        at_least: Whether it is a lower bound, as the baseline did not get there in every seed.
    """

    factor: float
    at_least: bool

    @classmethod
    def of(cls, own: Reached, base: Reached | None) -> SpeedUp | None:
        """``None`` where it is not known, as the arm did not get there in every seed, or was there at iteration 0."""
        if base is None or own.censored or not own.iterations:
            return None
        return cls(base.at_least / own.iterations, base.censored)

    def shown(self) -> str:
        """For a table."""
        return f"{'≥ ' if self.at_least else ''}{self.factor:.2f}"


def first_at(curve: Mapping[int, float], target: float) -> int | None:
    """First iteration at which a curve has reached a value."""
    return next((iteration for iteration in sorted(curve) if curve[iteration] >= target), None)
