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
        first: First token of each step, ``(S,)``.
        after: The one after its last, ``(S,)``; the same for a step without tokens.
        order: The steps that have tokens, in the order of these.
        size: Number of tokens of the flat array, K.
    """

    first: Ints
    after: Ints
    order: Ints
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
        present = np.flatnonzero(after > first)
        order = present[np.argsort(first[present], kind="stable")]
        if (first[order][1:] < after[order][:-1]).any():
            raise DataError("two steps claim the same token", hint="spans of one row must not overlap")
        return cls(first, after, order, int(bounds[-1]))

    def spread(self, values: Floats, elsewhere: float) -> Floats:
        """A value for every token, ``(K,)``: its step's, or the other one where it belongs to no step."""
        count = len(self.order)
        bounds = np.zeros(2 * count + 2, dtype=np.int64)
        bounds[1:-1:2], bounds[2:-1:2], bounds[-1] = self.first[self.order], self.after[self.order], self.size
        pieces = np.full(2 * count + 1, elsewhere)
        pieces[1::2] = values[self.order]
        return np.repeat(pieces, np.diff(bounds))


def step_means(advantages: npt.NDArray[np.floating], mask: npt.NDArray[np.generic], spans: TokenSpans) -> Floats:
    """Base advantage of each step: the mean over its tokens that are in the loss, ``(S,)``.

    Outcome estimators give all tokens of a row the same advantage, so this is it; estimators that differ from token to
    token (GAE) are summed up by their mean. A step without such tokens gets 0.

    Args:
        advantages: ``(K,)``.
        mask: ``(K,)``, not zero where a token is in the loss.
        spans: Which tokens each step sampled.
    """
    counted = np.asarray(mask, dtype=np.bool_)
    values = np.where(counted, np.asarray(advantages, dtype=np.float64), 0.0)
    sums, counts = _sums(values, spans), _sums(counted.astype(np.float64), spans)
    means = np.where(counts > 0, sums / np.maximum(counts, 1), 0.0)
    if not spans.size:
        return means
    # Rounding in a sum must not make one value of an advantage into several.
    opening = values[np.minimum(spans.first, spans.size - 1)]
    return np.where((counts > 0) & (np.abs(means - opening) <= _ROUNDING * np.abs(opening)), opening, means)


_ROUNDING = 1e-9


def _sums(values: Floats, spans: TokenSpans) -> Floats:
    """Sums over the tokens of each step, ``(S,)``."""
    before = np.concatenate([np.zeros(1), np.cumsum(values)])
    return np.asarray(before[spans.after] - before[spans.first], dtype=np.float64)


def add_to_steps(advantages: npt.NDArray[Real], spans: TokenSpans, values: Floats) -> npt.NDArray[Real]:
    """A copy in which every token of a step has the step's value added: ``(K,)`` and ``(S,)`` give ``(K,)``."""
    return (advantages + spans.spread(values, 0.0)).astype(advantages.dtype)


def scale_steps(advantages: npt.NDArray[Real], spans: TokenSpans, weights: Floats) -> npt.NDArray[Real]:
    """A copy in which every token of a step is multiplied by the step's weight: ``(K,)`` and ``(S,)`` give ``(K,)``."""
    return (advantages * spans.spread(weights, 1.0)).astype(advantages.dtype)
