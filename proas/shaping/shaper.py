"""From a labelled batch to a shaped one: base advantage, verdicts, Eq. 7, and the record of what was done."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from proas.errors import DataError
from proas.rollouts import Reject, Rollout, RolloutBatch
from proas.shaping.config import ShapingConfig
from proas.shaping.diagnostics import Diagnostics, Growth, StepVerdicts, measure
from proas.shaping.distance import StepDistances, even_gains, potential_gains, shuffled_gains
from proas.shaping.eq7 import apr_measure, apr_scope, apr_weights, moved_weights, mui_weights
from proas.shaping.estimators import LossUnit, anchor_advantages, group_outcomes, grpo, token_weights
from proas.shaping.frame import Frame, anchors_of, given_advantages, success_of
from proas.shaping.ragged import Bools, Floats, baseline, future_count, relative
from proas.shaping.rewards import Rewards, rewards_of
from proas.shaping.verdicts import Verdicts, match_confidence, verdicts_of

__all__ = ["Shaped", "shape", "with_progress_bonus"]


@dataclass(frozen=True)
class Shaped:
    """A shaped batch.

    Attributes:
        batch: The rollouts in their order with ``steps[].{base_advantage,advantage,token_weight}``, ``advantage`` and
            ``shaping`` filled. Rollouts that dynamic sampling keeps aside are not in it but among its ``rejects``,
            each with its reason.
        filtered: The rollouts that dynamic sampling kept aside, with advantages of zero.
        diagnostics: What the labels and the shaping did.
        config: The settings.
    """

    batch: RolloutBatch
    filtered: tuple[Rollout, ...]
    diagnostics: Diagnostics
    config: ShapingConfig

    @property
    def metrics(self) -> dict[str, float]:
        """The diagnostics as a flat dict, ``proas/<name>``."""
        return self.diagnostics.metrics()


@dataclass(frozen=True, slots=True)
class _Base:
    """Base advantages: of each trajectory where there is one, of each step; and the rollouts that take part."""

    trajectory: list[float | None]
    steps: Floats
    kept: Bools


def shape(batch: RolloutBatch, config: ShapingConfig, *, growth: Growth | None = None) -> Shaped:
    """Compute base advantages and shape them.

    The estimator sees rewards and success only; shaping multiplies its result step by step with weights of at least 0,
    and ``distance`` = potential and ``kept_bonus`` add what each step gains.
    Tasks that the graph does not know pass through unchanged. The result for a rollout does not depend on the order of
    the batch.

    Args:
        batch: Labelled rollouts; labels are needed only where the settings use them.
        config: Settings, for example ``preset("paper")``.
        growth: How the graph grew in this iteration, for the diagnostics.

    Raises:
        DataError: A covered rollout lacks labels, a reward is not finite, or states that a setting needs are missing.
    """
    frame = Frame.of(batch)
    verdicts = verdicts_of(frame, config) if config.needs_verdicts else _unjudged(frame, config)
    with np.errstate(over="ignore", invalid="ignore"):  # what leaves the range of floats is named below
        base = _base_advantages(frame, verdicts, config)
        gains = _gains(frame, verdicts, config)
        base = _with_groups_that_gain(frame, base, gains)
        weighted = base.steps * _weights(frame, verdicts, base.steps, config)
        shaped = weighted + gains + 0.0  # no -0.0
    if not np.isfinite(np.concatenate([base.steps, shaped])).all():
        raise DataError("advantages leave the range of floats", hint="scale rewards, omega or penalties down")
    tokens = token_weights(_loss_unit(config), frame.tokens, frame.offsets, base.kept)
    rollouts = _filled(frame, base, shaped, tokens, config)
    believed = StepVerdicts(verdicts.reasonable, verdicts.progress, verdicts.judged[frame.owner])
    diagnostics = measure(
        frame,
        believed if config.needs_verdicts else StepVerdicts.recorded(frame),
        base=base.steps,
        shaped=weighted,
        gains=gains,
        label_faults=verdicts.faults if config.needs_labels else None,
        filtered=~base.kept,
        growth=growth,
    )
    kept = tuple(rollout for rollout, keep in zip(rollouts, base.kept, strict=True) if keep)
    filtered = tuple(rollout for rollout, keep in zip(rollouts, base.kept, strict=True) if not keep)
    rejects = batch.rejects + tuple(_aside(rollout) for rollout in filtered)
    return Shaped(RolloutBatch(kept, rejects), filtered, diagnostics, config)


def _base_advantages(frame: Frame, verdicts: Verdicts, config: ShapingConfig) -> _Base:
    kept = np.ones(len(frame.rollouts), dtype=np.bool_)
    if config.algorithm == "given":
        given, recorded = given_advantages(frame)
        return _Base(recorded, given, kept)
    std, eps = config.normalise == "mean_std", config.std_eps
    rewards = rewards_of(frame, config)
    if config.progress_as == "reward":
        rewards = with_progress_bonus(rewards, frame, verdicts, config)
    if config.penalty_only_groups == "drop":
        rewards = rewards.without_lone_penalties(frame)
    if config.rows == "step":
        trajectory, steps = _step_rows(frame, rewards, std=std, eps=eps)
    else:
        trajectory = grpo(rewards.returns(frame), frame.groups, std=std, eps=eps)
        steps = trajectory[frame.owner]
    if config.algorithm == "gigpo":
        anchors = anchors_of(frame, config.anchor)
        steps = steps + config.omega * anchor_advantages(
            rewards.steps + rewards.penalties,
            frame.offsets,
            frame.groups,
            anchors,
            gamma=config.gamma,
            std=std,
            eps=eps,
        )
    if config.algorithm == "dapo" and config.dynamic_sampling:
        kept = group_outcomes(frame.success, frame.groups).mixed[frame.groups]
        trajectory, steps = np.where(kept, trajectory, 0.0), np.where(kept[frame.owner], steps, 0.0)
    return _Base([float(value) for value in trajectory], steps, kept)


def with_progress_bonus(rewards: Rewards, frame: Frame, verdicts: Verdicts, config: ShapingConfig) -> Rewards:
    """Rewards under ``progress_as`` = reward: each judged progress step earns ``progress_bonus`` more."""
    advanced = verdicts.progress & verdicts.judged[frame.owner]
    return rewards.with_bonus(frame, np.where(advanced, config.progress_bonus, 0.0))


def _gains(frame: Frame, verdicts: Verdicts, config: ShapingConfig) -> Floats:
    """What each step's advantage gains beside the estimator's, ``(S,)``: a bonus, the potential of the distance."""
    won = frame.success[frame.owner] & verdicts.reasonable & verdicts.judged[frame.owner]
    return np.where(won, config.kept_bonus, 0.0) + _distance_gains(frame, verdicts, config)


def _distance_gains(frame: Frame, verdicts: Verdicts, config: ShapingConfig) -> Floats:
    if config.distance != "potential":
        return np.zeros(frame.owner.size)
    gains = config.distance_weight * potential_gains(frame, StepDistances.of(frame), config.distance_gamma)
    if config.distance_gains == "shuffled":
        return shuffled_gains(frame, gains, config.seed)
    if config.distance_gains == "even":
        return even_gains(frame, gains, verdicts.reasonable)
    return gains


def _with_groups_that_gain(frame: Frame, base: _Base, gains: Floats) -> _Base:
    """Dynamic sampling keeps groups aside that give no gradient; one that gains by the potential gives some."""
    gaining = np.zeros(int(frame.groups.max(initial=-1)) + 1, dtype=np.bool_)
    gaining[frame.groups[frame.owner[gains != 0]]] = True
    return replace(base, kept=base.kept | gaining[frame.groups])


def _step_rows(frame: Frame, rewards: Rewards, *, std: bool, eps: float) -> tuple[Floats, Floats]:
    """One row a step, as in verl-agent: the episode's outcome, plus the step's own penalty."""
    rows, groups = rewards.outcomes[frame.owner] + rewards.penalties, frame.groups[frame.owner]
    base = baseline(rows, groups, int(frame.groups.max(initial=-1)) + 1)
    steps = relative(rows, groups, base, std=std, eps=eps)
    return relative(rewards.outcomes, frame.groups, base, std=std, eps=eps), steps


def _weights(frame: Frame, verdicts: Verdicts, base: Floats, config: ShapingConfig) -> Floats:
    judged = verdicts.judged[frame.owner]
    weights = np.ones(base.size)
    form = config.redistribution
    if config.masks:
        floor: float | Floats = config.epsilon_mask
        if config.soft_mask:
            floor = np.maximum(match_confidence(verdicts, frame), config.epsilon_mask)
        weights *= mui_weights(base, verdicts.reasonable, signs=config.mask_signs, floor=floor)
        if config.mask_mass == "moved":
            weights = moved_weights(base, weights, frame.offsets)
    if form != "none":
        scope = apr_scope(form, config.apr_scope, verdicts.reasonable, verdicts.progress) & judged
        weights *= apr_weights(
            base, apr_measure(form, verdicts.drift, frame.offsets), scope, frame.offsets, eps=config.eps
        )
    return np.where(judged, weights, 1.0)


def _unjudged(frame: Frame, config: ShapingConfig) -> Verdicts:
    """Verdicts for settings that ask for none: only a graph-free redistribution may act on them."""
    everything = np.ones(frame.owner.size, dtype=np.bool_)
    drift = future_count(~everything, frame.offsets)
    known = np.array([rollout.covered is not False for rollout in frame.rollouts], dtype=np.bool_)
    return Verdicts(everything, everything, drift, known | (config.verdicts != "graph"))


def _loss_unit(config: ShapingConfig) -> LossUnit:
    if config.algorithm == "dapo":
        return "token"
    return "step" if config.algorithm == "gigpo" or config.rows == "step" else "sequence"


def _filled(frame: Frame, base: _Base, shaped: Floats, tokens: Floats, config: ShapingConfig) -> list[Rollout]:
    described = config.describe()
    before, after, weights = base.steps.tolist(), shaped.tolist(), tokens.tolist()
    filled: list[Rollout] = []
    for i, rollout in enumerate(frame.rollouts):
        own = frame.segment(i)
        values = zip(rollout.steps, before[own], after[own], weights[own], strict=True)
        steps = tuple(
            step.model_copy(update={"base_advantage": b, "advantage": a, "token_weight": w}) for step, b, a, w in values
        )
        filled.append(
            rollout.model_copy(update={"steps": steps, "advantage": base.trajectory[i], "shaping": described})
        )
    return filled


def _aside(rollout: Rollout) -> Reject:
    how = "succeeded" if success_of(rollout) else "failed"
    reason = f"dynamic sampling: every rollout of group {rollout.baseline_group!r} {how}, so it gives no gradient"
    return Reject(reason, id=rollout.id, field="success")
