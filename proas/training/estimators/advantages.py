"""From a batch to the base advantages of a method: what shaping then multiplies."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from proas.envs import RewardSettings
from proas.errors import DataError
from proas.rollouts import Rollout, RolloutBatch
from proas.shaping.config import ShapingConfig
from proas.shaping.frame import Frame
from proas.shaping.ragged import Floats
from proas.shaping.rewards import Rewards, rewards_of
from proas.shaping.shaper import with_progress_bonus
from proas.shaping.verdicts import verdicts_of
from proas.subgoals import Ladder
from proas.training.config import AlgorithmName, EstimatorSettings
from proas.training.estimators.context_groups import hgpo
from proas.training.estimators.critic import gae
from proas.training.estimators.milestones import migpo, milestone_steps
from proas.training.estimators.state_graph import StateGraphs, graphgpo

__all__ = ["BaseAdvantages", "LadderOf", "estimate_base"]

LadderOf = Callable[[Rollout], Ladder]


@dataclass(frozen=True, slots=True)
class BaseAdvantages:
    """Base advantages of a batch.

    Attributes:
        batch: The rollouts with ``steps[].base_advantage``; untouched where ``proas.shaping`` estimates itself.
        targets: What PPO's critic should say, ``(S,)``; ``None`` for the other methods.
    """

    batch: RolloutBatch
    targets: Floats | None = None


def estimate_base(
    batch: RolloutBatch,
    algorithm: AlgorithmName,
    settings: EstimatorSettings,
    shaping: ShapingConfig,
    *,
    ladder_of: LadderOf,
    values: Floats | None = None,
    kept: StateGraphs | None = None,
    paid: RewardSettings = RewardSettings(),
) -> BaseAdvantages:
    """Base advantages by a method's name.

    Args:
        batch: Rollouts with states, but for PPO; labelled where ``shaping.progress_as`` = reward asks the graph.
        algorithm: The method. ``grpo``, ``dapo`` and ``gigpo`` are left to ``proas.shaping.shape``.
        settings: The method's settings.
        shaping: Says what counts as return and penalty, and whether progress is rewarded.
        ladder_of: Subgoals of a task, for MiGPO.
        values: The critic's values, ``(S,)``, for PPO.
        kept: TIGPO's graphs of earlier iterations; the batch joins them.
        paid: What the rollouts were paid: R of MiGPO, GraphGPO and TIGPO is the reward of a success, by this or by
            ``shaping.success_reward``, whether or not the batch holds one.

    Raises:
        DataError: States, values or labels that the method needs are missing.
    """
    if algorithm in ("grpo", "dapo", "gigpo", "sft"):
        return BaseAdvantages(batch)
    frame = Frame.of(batch)
    rewards = rewards_of(frame, shaping)
    if shaping.progress_as == "reward":
        rewards = with_progress_bonus(rewards, frame, verdicts_of(frame, shaping), shaping)
    if algorithm == "ppo":  # a critic's rollout has no siblings, so that no group can take its penalties away
        if values is None:
            raise DataError("PPO needs the critic's values", hint="play with a policy that has a critic")
        estimate = gae(
            rewards.steps + rewards.penalties, values, frame.offsets, gamma=settings.gamma, lam=settings.gae_lambda
        )
        return BaseAdvantages(_with_base(batch, estimate.normalised), estimate.targets)
    if shaping.penalty_only_groups == "drop":
        rewards = rewards.without_lone_penalties(frame)
    scale = paid.success if shaping.success_reward is None else shaping.success_reward
    base = _by_states(frame, rewards, algorithm, settings, shaping, scale, ladder_of, kept)
    return BaseAdvantages(_with_base(batch, base))


def _by_states(
    frame: Frame,
    rewards: Rewards,
    algorithm: AlgorithmName,
    settings: EstimatorSettings,
    shaping: ShapingConfig,
    scale: float,
    ladder_of: LadderOf,
    kept: StateGraphs | None,
) -> Floats:
    """The methods that look at states."""
    std, eps = shaping.normalise == "mean_std", shaping.std_eps
    for rollout in frame.rollouts:
        if not rollout.has_states:
            raise DataError(f"rollout {rollout.id!r} carries no states, which {algorithm} needs")
    states = [rollout.state_keys for rollout in frame.rollouts]
    if algorithm == "migpo":
        milestones = _milestones(frame.rollouts, ladder_of)
        return migpo(
            rewards.outcomes,
            rewards.penalties,
            milestones,
            frame.offsets,
            frame.groups,
            rows=shaping.rows,
            gamma=settings.milestone_gamma,
            weight=settings.step_weight,
            scale=scale,
        )
    if algorithm == "hgpo":
        before = [path[:-1] for path in states]
        steps = rewards.steps + rewards.penalties
        return hgpo(
            steps,
            before,
            frame.groups,
            gamma=settings.gamma,
            context=settings.context,
            power=settings.context_power,
            std=std,
            eps=eps,
        )
    graphs = kept if algorithm == "tigpo" and kept is not None else StateGraphs()
    graphs.add(frame.rollouts)
    distances = graphs.distances({rollout.task for rollout in frame.rollouts})
    return graphgpo(
        rewards.returns(frame),
        states,
        [distances[rollout.task] for rollout in frame.rollouts],
        frame.groups,
        gamma=settings.distance_gamma,
        weight=settings.step_weight,
        scale=scale,
        std=std,
        eps=eps,
    )


def _milestones(rollouts: tuple[Rollout, ...], ladder_of: LadderOf) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Steps that reach a milestone, ``(S,)``; the index of each state is worked out once."""
    ladders: dict[str, Ladder] = {}
    index: dict[str, int] = {}
    flags: list[bool] = []
    for rollout in rollouts:
        ladder = ladders.setdefault(rollout.task, ladder_of(rollout))
        subgoals: list[int] = []
        for state in (rollout.start, *(step.state for step in rollout.steps)):
            assert state is not None
            if state.key not in index:
                index[state.key] = ladder.index(state.facts)
            subgoals.append(index[state.key])
        flags += milestone_steps(subgoals)
    return np.array(flags, dtype=np.bool_)


def _with_base(batch: RolloutBatch, base: Floats) -> RolloutBatch:
    values = iter(base.tolist())
    rollouts = tuple(
        rollout.model_copy(
            update={"steps": tuple(s.model_copy(update={"base_advantage": next(values)}) for s in rollout.steps)}
        )
        for rollout in batch
    )
    return RolloutBatch(rollouts, batch.rejects)
