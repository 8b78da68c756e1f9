"""Intervals for what was measured in clusters: continuations of one state, positions of one rollout.

Values within a cluster resemble one another, so that their number says little. What is drawn anew in the bootstrap are
whole clusters (Efron and Tibshirani, 1993, section 8; Cameron, Gelbach and Miller, 2008: "pairs cluster bootstrap"),
and the interval holds the middle 95 % of what comes out.

Means and slopes are both least squares, whose sums over a cluster do not change from draw to draw. So a draw adds the
sums of the clusters that were drawn, and thousands of draws take milliseconds.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["DRAWS", "Estimate", "between", "mean_of", "regress", "split_evenly", "within"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

DRAWS = 2000
"""Draws of the bootstrap."""
_SEED = 20_261


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number with its 95 % interval.

    Attributes:
        value: The number; ``None`` where the data give none.
        low: Lower bound; ``None`` with fewer than two clusters.
        high: Upper bound.
        clusters: Number of clusters that it rests on.
    """

    value: float | None
    low: float | None
    high: float | None
    clusters: int

    @property
    def excludes_zero(self) -> bool:
        """Whether the whole interval lies on one side of zero."""
        return self.low is not None and self.high is not None and (self.low > 0 or self.high < 0)

    def shown(self, *, percent: bool = False, digits: int = 3) -> str:
        """For people, for example ``-3.1 [-5.0, -1.2]``."""
        if self.value is None:
            return "-"
        scale, places = (100.0, 1) if percent else (1.0, digits)
        text = f"{scale * self.value:+.{places}f}"
        if self.low is None or self.high is None:
            return text
        return f"{text} [{scale * self.low:+.{places}f}, {scale * self.high:+.{places}f}]"


def regress(
    design: Floats, outcome: Floats, clusters: Sequence[Hashable], *, draws: int = DRAWS, seed: int = _SEED
) -> tuple[Estimate, ...]:
    """Coefficients of least squares with intervals by the cluster bootstrap.

    A column that the columns before it make up, as a constant beside an intercept, has no coefficient of its own; its
    estimate is empty and the others are as if it were not there.

    Args:
        design: Covariates, ``(N, P)``; a column of ones is the intercept.
        outcome: ``(N,)``.
        clusters: Cluster of each row.
        draws: Number of draws.
        seed: Of the draws.

    Returns:
        An estimate for each column.

    Raises:
        ValueError: The lengths do not fit.
    """
    if design.ndim != 2 or not design.shape[0] == outcome.shape[0] == len(clusters):
        msg = f"{design.shape} covariates, {outcome.shape} outcomes and {len(clusters)} clusters do not fit"
        raise ValueError(msg)
    total = len(set(clusters))
    kept = _independent(design)
    if not kept:
        return tuple(Estimate(None, None, None, total) for _ in range(design.shape[1]))
    squares, products = _sums(design[:, kept], outcome, clusters)
    found = _solved(squares.sum(axis=0)[None], products.sum(axis=0)[None])[0]
    low = high = np.full(len(kept), np.nan)
    if total > 1:
        generator = np.random.default_rng(seed)
        times = generator.multinomial(total, np.full(total, 1.0 / total), size=draws).astype(np.float64)
        sampled = _solved(np.tensordot(times, squares, 1), np.tensordot(times, products, 1))
        sound = ~np.isnan(sampled).any(axis=1)  # a draw without enough variety says nothing
        if sound.any():
            low, high = np.percentile(sampled[sound], [2.5, 97.5], axis=0)
    estimates = [Estimate(None, None, None, total)] * design.shape[1]
    for place, column in enumerate(kept):
        estimates[column] = Estimate(_number(found[place]), _number(low[place]), _number(high[place]), total)
    return tuple(estimates)


def mean_of(values: Sequence[float] | Floats, clusters: Sequence[Hashable], *, draws: int = DRAWS) -> Estimate:
    """The mean of values with its interval."""
    outcome = np.asarray(values, dtype=np.float64)
    if not outcome.size:
        return Estimate(None, None, None, 0)
    return regress(np.ones((outcome.size, 1)), outcome, clusters, draws=draws)[0]


def within(values: Floats, strata: Sequence[Hashable]) -> Floats:
    """Values, or the rows of a matrix, less the mean of their stratum: what strata alone explain is taken out.

    Least squares of what is left, on what is left of the covariates, has the slopes of a model with an intercept for
    each stratum (Frisch, Waugh and Lovell).
    """
    names = {name: place for place, name in enumerate(dict.fromkeys(strata))}
    place = np.array([names[name] for name in strata], dtype=np.int64)
    flat = values.reshape(len(place), -1)
    counts = np.bincount(place, minlength=len(names))[:, None]
    means = np.stack([np.bincount(place, weights=column, minlength=len(names)) for column in flat.T], axis=1) / counts
    return (flat - means[place]).reshape(values.shape)


def between(values: Floats, edges: Sequence[float]) -> Ints:
    """Number of the edges below or at each value: its bin."""
    return np.searchsorted(np.asarray(edges, dtype=np.float64), values, side="right").astype(np.int64)


def split_evenly(values: Floats, parts: int) -> tuple[float, ...]:
    """Inner edges that split values into parts of about equal size; fewer where many values are equal."""
    if not values.size:
        return ()
    ordered = np.sort(values)
    edges = np.unique(ordered[[i * values.size // parts for i in range(1, parts)]])
    # An edge belongs to the part above it, so an edge at the lowest value would leave the first part empty.
    return tuple(float(edge) for edge in edges if edge > ordered[0])


def _sums(design: Floats, outcome: Floats, clusters: Sequence[Hashable]) -> tuple[Floats, Floats]:
    """Sums over each cluster: of the squares, ``(C, P, P)``, and of the products with the outcome, ``(C, P)``."""
    names = {name: place for place, name in enumerate(dict.fromkeys(clusters))}
    squares = np.zeros((len(names), design.shape[1], design.shape[1]))
    products = np.zeros((len(names), design.shape[1]))
    place = np.array([names[name] for name in clusters], dtype=np.int64)
    np.add.at(squares, place, design[:, :, None] * design[:, None, :])
    np.add.at(products, place, design * outcome[:, None])
    return squares, products


def _solved(squares: Floats, products: Floats) -> Floats:
    """Coefficients of many systems, ``(D, P)``; not a number where one is singular."""
    sizes = np.sqrt(np.maximum(np.einsum("dpp->dp", squares), 1e-300))
    scaled = squares / (sizes[:, :, None] * sizes[:, None, :])
    sound = np.linalg.matrix_rank(scaled, tol=1e-9, hermitian=True) == squares.shape[1]
    found = np.full(products.shape, np.nan)
    if sound.any():
        right = (products / sizes)[sound][:, :, None]
        found[sound] = np.linalg.solve(scaled[sound], right)[:, :, 0] / sizes[sound]
    return found


def _independent(design: Floats) -> list[int]:
    """Columns that the columns before them do not make up."""
    kept: list[int] = []
    for column in range(design.shape[1]):
        tried = design[:, [*kept, column]]
        sizes = np.linalg.norm(tried, axis=0)
        if sizes[-1] > 0 and np.linalg.matrix_rank(tried / sizes, tol=1e-7 * len(tried) ** 0.5) == len(kept) + 1:
            kept.append(column)
    return kept


def _number(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
