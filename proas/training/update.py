"""One iteration's update: from shaped rollouts to steps of the optimiser."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from proas.keys import digest
from proas.rollouts import Rollout
from proas.shaping import offsets_of, token_weights
from proas.training.config import TrainConfig
from proas.training.crew import Crew
from proas.training.objective import ClipRange
from proas.training.optimiser import FlatAdam
from proas.training.shard import Floats, Signal, UpdateOrder, UpdateStats

__all__ = ["signals_of", "update"]


def signals_of(
    rollouts: Sequence[Rollout], config: TrainConfig, targets: Mapping[str, Floats] | None = None
) -> dict[str, Signal]:
    """What the update does with each rollout.

    The weights of all tokens of the rollouts sum to 1, those whose advantages are zero included: a masked step takes
    its share of the mean and adds nothing. Rollouts without any advantage are left out of the update, with its
    divergence and entropy, for they would cost as much as the others; a critic learns from all.

    Args:
        rollouts: Shaped rollouts.
        config: Says what the loss is a mean over.
        targets: What the critic should say, by rollout id.
    """
    offsets = offsets_of([len(rollout.steps) for rollout in rollouts])
    tokens = np.array([step.tokens for rollout in rollouts for step in rollout.steps], dtype=np.int64)
    weights = token_weights(config.unit, tokens, offsets).astype(np.float32)
    signals: dict[str, Signal] = {}
    for i, rollout in enumerate(rollouts):
        advantages = np.array([step.advantage or 0.0 for step in rollout.steps], dtype=np.float32)
        target = None if targets is None else targets[rollout.id]
        if advantages.any() or (target is not None and advantages.size):
            signals[rollout.id] = Signal(advantages, weights[offsets[i] : offsets[i + 1]], target)
    return signals


def update(
    crew: Crew,
    adam: FlatAdam,
    signals: Mapping[str, Signal],
    owners: Mapping[str, int],
    config: TrainConfig,
    iteration: int,
) -> dict[str, float]:
    """Change the policy's weights.

    Args:
        crew: Keeps the episodes.
        adam: The optimiser.
        signals: From :func:`signals_of`.
        owners: Place of each rollout's task in the play.
        config: Settings.
        iteration: For the seed of the minibatches.

    Returns:
        ``update/...``.
    """
    settings = config.update
    crew.prepare(dict(signals), dict(owners), reference=settings.kl > 0, temperature=config.temperature)
    count = min(settings.minibatches, len(signals))
    order = UpdateOrder(
        clip=ClipRange(settings.clip_low, config.clip_high),
        kl=settings.kl,
        entropy=settings.entropy,
        value=settings.value if config.algorithm == "ppo" else 0.0,
        temperature=config.temperature,
        scale=float(count),
    )
    total = UpdateStats()
    norms: list[float] = []
    for epoch in range(settings.epochs):
        names = sorted(signals, key=lambda name: digest("update", config.seed, iteration, epoch, name))
        for number in range(count):
            gradient, stats = crew.gradient(names[number::count], order)
            norms.append(adam.step(gradient, settings.gradient_clip))
            total.add(stats)
    weight = max(total.weight, 1e-12)
    finite = [norm for norm in norms if np.isfinite(norm)]
    return {
        "update/rollouts": float(len(signals)),
        "update/tokens": float(total.tokens),
        "update/loss": total.loss / settings.epochs,
        "update/surrogate": total.surrogate / settings.epochs,
        "update/kl": total.kl / weight,
        "update/clipped": total.clipped / weight,
        "update/ratio": total.ratio / weight,
        "update/value_loss": total.value_loss / settings.epochs,
        "update/gradient_norm": float(np.mean(finite)) if finite else 0.0,
        "update/steps": float(len(finite)),
        "update/skipped_steps": float(len(norms) - len(finite)),
    }
