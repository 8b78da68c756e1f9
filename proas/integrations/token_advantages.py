"""Step advantages on token advantages, by the spans of tokens that each step sampled.

Trainers keep advantages as one array of tokens; shaping speaks of steps. The functions below carry values from one to
the other over *flat* arrays: the responses of all rows one after the other, without padding, ``(K,)``; row ``i`` owns
tokens ``offsets[i] : offsets[i + 1]``. A step owns the tokens that were sampled for its action; what the environment
said in between belongs to no step and is never touched.

All is vectorised: a batch of 128 rows of 4,096 tokens takes milliseconds (``benchmarks/token_advantages.py``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from proas.errors import DataError

__all__ = ["TokenSpans", "add_to_steps", "scale_steps", "step_means"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Real = TypeVar("Real", bound=np.floating[Any])


@dataclass(frozen=True, slots=True)
class TokenSpans:
    """Which tokens of the flat array each of S steps sampled.

    Attributes:
        index: Places of all tokens that belong to a step, step after step, ``(J,)``.
        owner: The step of each of these, ``(J,)``.
        size: Number of steps, S.
    """

    index: Ints
    owner: Ints
    size: int

    @classmethod
    def of(
        cls, offsets: Sequence[int] | Ints, rows: Sequence[int] | Ints, spans: Sequence[Sequence[int]]
    ) -> TokenSpans:
        """Spans from what the rollouts recorded.

        Args:
            offsets: ``(R + 1,)``, of the R rows in the flat array.
            rows: The row of each step, ``(S,)``.
            spans: First token and the one after the last of each step, ``(S, 2)``, counted within its row's response.
                A step may have no tokens.

        Raises:
            DataError: A span leaves its row, or two steps claim the same token.
        """
        bounds = np.asarray(offsets, dtype=np.int64)
        row = np.asarray(rows, dtype=np.int64).reshape(-1)
        pairs = np.asarray(spans, dtype=np.int64).reshape(-1, 2)
        if len(pairs) != len(row):
            raise DataError(f"{len(pairs)} spans for {len(row)} steps")
        first, after = pairs[:, 0] + bounds[row], pairs[:, 1] + bounds[row]
        wrong = (pairs[:, 0] < 0) | (pairs[:, 1] < pairs[:, 0]) | (after > bounds[row + 1])
        if wrong.any():
            j = int(np.argmax(wrong))
            length = int(bounds[row[j] + 1] - bounds[row[j]])
            raise DataError(
                f"row {row[j]}: a step's tokens {pairs[j].tolist()} are not within its response of {length} tokens",
                hint="record spans where tokens are sampled, never by tokenising anew",
            )
        lengths = after - first
        owner = np.repeat(np.arange(len(row), dtype=np.int64), lengths)
        before = np.cumsum(lengths) - lengths
        index = np.arange(int(lengths.sum()), dtype=np.int64) + np.repeat(first - before, lengths)
        taken = np.zeros(int(bounds[-1]), dtype=np.bool_)
        taken[index] = True
        if np.count_nonzero(taken) != index.size:
            raise DataError("two steps claim the same token", hint="spans of one row must not overlap")
        return cls(index, owner, len(row))


def step_means(advantages: npt.NDArray[np.floating], mask: npt.NDArray[np.generic], spans: TokenSpans) -> Floats:
    """Base advantage of each step: the mean over its tokens that are in the loss, ``(S,)``.

    Outcome estimators give all tokens of a row the same advantage, so this is it; estimators that differ from token to
    token (GAE) are summed up by their mean. A step without tokens gets 0.

    Args:
        advantages: ``(K,)``.
        mask: ``(K,)``, not zero where a token is in the loss.
        spans: Which tokens each step sampled.
    """
    counted = np.asarray(mask, dtype=np.bool_)[spans.index]
    owner = spans.owner[counted]
    # Sums of thousands of equal float32 values would lose digits that the comparison with other steps needs.
    values = np.asarray(advantages, dtype=np.float64)[spans.index[counted]]
    count = np.bincount(owner, minlength=spans.size)
    means = np.bincount(owner, weights=values, minlength=spans.size) / np.maximum(count, 1)
    first = np.zeros(spans.size)
    first[owner[::-1]] = values[::-1]
    # Rounding in the mean must not make one value of an advantage into several.
    return np.where(np.abs(means - first) <= 1e-9 * np.abs(first), first, means)


def add_to_steps(advantages: npt.NDArray[Real], spans: TokenSpans, values: Floats) -> npt.NDArray[Real]:
    """A copy in which every token of a step has the step's value added: ``(K,)`` and ``(S,)`` give ``(K,)``."""
    changed = advantages.copy()
    changed[spans.index] += values[spans.owner].astype(advantages.dtype)
    return changed


def scale_steps(advantages: npt.NDArray[Real], spans: TokenSpans, weights: Floats) -> npt.NDArray[Real]:
    """A copy in which every token of a step is multiplied by the step's weight: ``(K,)`` and ``(S,)`` give ``(K,)``."""
    changed = advantages.copy()
    scaled = changed[spans.index].astype(np.float64) * weights[spans.owner]
    changed[spans.index] = scaled.astype(advantages.dtype)
    return changed
