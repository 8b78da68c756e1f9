"""One iteration of ProAS inside verl: from the batch's token advantages and rollouts to shaped token advantages.

Arrays in, arrays out: nothing of verl is imported, so that the arithmetic is tested where verl is not installed.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from proas.errors import DataError
from proas.integrations.base_advantages import gigpo_step_advantages, lone_penalties, settled
from proas.integrations.credit import CreditRun
from proas.integrations.token_advantages import add_to_steps, scale_steps, step_means
from proas.integrations.verl.rows import Gathered, gather
from proas.rollouts import RolloutBatch

__all__ = ["ShapedTokens", "TokenRows", "shape_tokens"]

Numbers = npt.NDArray[np.floating[Any]]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class TokenRows:
    """The rows of a batch as flat arrays, without padding tokens.

    Attributes:
        advantages: The estimator's advantages, ``(K,)``.
        mask: Tokens that are in the loss, ``(K,)``.
        offsets: Rows in the flat arrays, ``(R + 1,)``.
        fields: What each row carries of its rollout (``proas.integrations.verl.rows``), R of them.
        padding: Rows that only fill the batch, R of them.
    """

    advantages: Numbers
    mask: npt.NDArray[Any]
    offsets: Sequence[int]
    fields: Sequence[Any]
    padding: Sequence[bool]


@dataclass(frozen=True, slots=True)
class ShapedTokens:
    """Shaped advantages.

    Attributes:
        advantages: ``(K,)``; tokens of no step, and rows that carry no rollout, keep what they had.
        batch: The rollouts behind them, labelled and shaped.
        metrics: Flat dict, ``proas/<name>``.
    """

    advantages: Numbers
    batch: RolloutBatch
    metrics: dict[str, float]


def shape_tokens(rows: TokenRows, run: CreditRun, iteration: int) -> ShapedTokens:
    """Shape a batch: the estimator's advantages, GiGPO's on top where asked for, then weights of the steps.

    Args:
        rows: The batch.
        run: The run's use of the graph.
        iteration: Number of the iteration, from 1.

    Raises:
        DataError: Advantages are not finite, or rows cannot be read.
        GraphError: The graph could not be asked, and the run's settings do not pass that over.
    """
    began = time.monotonic()
    if not np.isfinite(rows.advantages).all():
        raise DataError("the estimator's advantages are not finite", hint="look at the rewards and at grad_norm")
    gathered = gather(rows.fields, rows.offsets, padding=rows.padding)
    gathered_at = time.monotonic()
    tokens, base = _before_shaping(rows, gathered, run)
    credited = run.credit(_with_base(gathered.batch, base), iteration)
    shaped = scale_steps(tokens, gathered.spans, credited.weights).astype(rows.advantages.dtype)
    metrics = {
        **credited.metrics,
        "proas/rows": float(len(rows.fields)),
        "proas/rows_without_rollout": float(gathered.plain),
        "proas/rejected_rollouts": float(len(gathered.batch.rejects)),
        "proas/token_advantage_std": _std(shaped, rows.mask),
        "proas/time/gather": gathered_at - began,
        "proas/time/total": time.monotonic() - began,
    }
    return ShapedTokens(shaped, credited.shaped.batch, metrics)


def _before_shaping(rows: TokenRows, gathered: Gathered, run: CreditRun) -> tuple[Floats, Floats]:
    """Token advantages ``(K,)`` and base advantages of the steps ``(S,)``.

    The estimator's, without groups of mere penalties where asked for, with GiGPO's steps where asked for. Sums are
    taken in double precision: steps share a cluster of penalty redistribution when their values are the same, and the
    rounding of a sum that nearly cancels would make them differ.
    """
    tokens = np.asarray(rows.advantages, dtype=np.float64)
    lengths = [len(rollout.steps) for rollout in gathered.batch]
    base = _settled(step_means(tokens, rows.mask, gathered.spans), lengths)
    if run.config.penalty_only_groups == "drop":
        kept = np.repeat(np.where(lone_penalties(gathered.batch, run.config), 0.0, 1.0), lengths)
        tokens = scale_steps(tokens, gathered.spans, kept)
        base = base * kept
    if run.settings.estimator == "gigpo":
        steps = gigpo_step_advantages(gathered.batch, run.config)
        tokens = add_to_steps(tokens, gathered.spans, steps)
        base = base + steps
    return tokens, base


def _settled(base: Floats, lengths: Sequence[int]) -> Floats:
    ends = np.cumsum(lengths, dtype=np.int64)
    pieces = [settled(base[end - length : end]) for end, length in zip(ends, lengths, strict=True)]
    return np.concatenate([np.empty(0), *pieces])


def _with_base(batch: RolloutBatch, base: Floats) -> RolloutBatch:
    """Rollouts with the base advantage on each step."""
    based = []
    at = 0
    for rollout in batch:
        values = base[at : at + len(rollout.steps)].tolist()
        at += len(rollout.steps)
        steps = tuple(
            step.model_copy(update={"base_advantage": value}) for step, value in zip(rollout.steps, values, strict=True)
        )
        based.append(rollout.model_copy(update={"steps": steps}))
    return RolloutBatch(tuple(based), batch.rejects)


def _std(values: Numbers, mask: npt.NDArray[Any]) -> float:
    kept = values[np.asarray(mask, dtype=np.bool_)]
    return float(kept.std()) if kept.size else 0.0
