"""Gradients: the same however the episodes are cut up or dealt out."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

from proas.envs.alfworld.world import AlfWorldWorld
from proas.errors import UsageError
from proas.rollouts import Rollout, Step
from proas.training.config import PolicySettings, TrainConfig
from proas.training.crew import Crew
from proas.training.episodes import TextLimits
from proas.training.objective import ClipRange
from proas.training.optimiser import FlatAdam
from proas.training.play import PlaySettings
from proas.training.shard import PlayReport, ShardSpec, Signal, UpdateOrder
from proas.training.start import fresh_policy, starting_weights
from proas.training.update import signals_of, update

HOW = PlaySettings(group_size=2, seed=5, step_limit=5, limits=TextLimits(action=8))
ORDER = UpdateOrder(clip=ClipRange(0.2, 0.2), entropy=0.01)


def spec_of(games: Path, demonstrations: list[Rollout], *, micro: int = 8192, critic: bool = False) -> ShardSpec:
    small = PolicySettings(width=32, heads=2, hidden=48, vocabulary=600)
    description = fresh_policy(demonstrations, small, critic=critic)
    return ShardSpec("alfworld", games, games, {}, description, HOW.limits, micro)


def signals_for(report: PlayReport, *, targets: bool = False) -> dict[str, Signal]:
    found: dict[str, Signal] = {}
    for i, rollout in enumerate(report.rollouts):
        size = len(rollout.steps)
        advantages = np.linspace(-1, 1, size, dtype=np.float32) + i
        weights = np.full(size, 0.01 * (i + 1), dtype=np.float32)
        found[rollout.id] = Signal(advantages, weights, np.ones(size, dtype=np.float32) if targets else None)
    return found


def owners_of(report: PlayReport, tasks: tuple[str, ...]) -> dict[str, int]:
    return {rollout.id: tasks.index(rollout.task) for rollout in report.rollouts}


@pytest.fixture
def tasks(world: AlfWorldWorld) -> tuple[str, ...]:
    return tuple(world.tasks[:3])


@pytest.fixture
def crew(games: Path, demonstrations: list[Rollout]) -> Iterator[Crew]:
    spec = spec_of(games, demonstrations)
    with Crew(spec, starting_weights(spec.policy, 0, None), 1) as made:
        yield made


def test_the_first_step_s_ratio_is_one(crew: Crew, tasks: tuple[str, ...]) -> None:
    report = crew.play("train", tasks, HOW, keep=True)
    signals = signals_for(report)
    crew.prepare(signals, owners_of(report, tasks), reference=True, temperature=1.0)
    _, stats = crew.gradient(list(signals), UpdateOrder(kl=0.1))
    assert stats.ratio / stats.weight == pytest.approx(1.0, abs=1e-5)
    assert stats.kl == pytest.approx(0.0, abs=1e-6)  # the reference is the policy itself
    assert stats.clipped == 0.0
    assert stats.tokens == sum(step.tokens for rollout in report.rollouts for step in rollout.steps)


def test_a_step_raises_the_surrogate_and_leaves_the_reference(crew: Crew, tasks: tuple[str, ...]) -> None:
    report = crew.play("train", tasks, HOW, keep=True)
    signals = signals_for(report)
    crew.prepare(signals, owners_of(report, tasks), reference=True, temperature=1.0)
    adam = FlatAdam(crew.weights, 1e-3)
    gradient, before = crew.gradient(list(signals), UpdateOrder(kl=1.0))
    adam.step(gradient, clip=1.0)
    _, after = crew.gradient(list(signals), UpdateOrder(kl=1.0))
    assert after.surrogate > before.surrogate
    assert after.kl > 0


def test_micro_batches_bound_memory_and_not_the_result(
    games: Path, demonstrations: list[Rollout], tasks: tuple[str, ...]
) -> None:
    found = []
    for micro in (100_000, 1):
        spec = spec_of(games, demonstrations, micro=micro, critic=True)
        with Crew(spec, starting_weights(spec.policy, 0, None), 1) as crew:
            report = crew.play("train", tasks, HOW, keep=True)
            signals = signals_for(report, targets=True)
            crew.prepare(signals, owners_of(report, tasks), reference=False, temperature=1.0)
            gradient, stats = crew.gradient(list(signals), UpdateOrder(entropy=0.01, value=0.5))
            found.append((gradient, stats.loss))
    torch.testing.assert_close(found[0][0], found[1][0], rtol=1e-3, atol=1e-6)
    assert found[0][1] == pytest.approx(found[1][1], rel=1e-4)


def test_two_workers_play_the_same_and_sum_to_the_same_gradient(
    games: Path, demonstrations: list[Rollout], tasks: tuple[str, ...]
) -> None:
    spec = spec_of(games, demonstrations)
    weights = starting_weights(spec.policy, 0, None)
    found = []
    for workers in (1, 2):
        with Crew(spec, weights.clone(), workers) as crew:
            report = crew.play("train", tasks, HOW, keep=True)
            signals = signals_for(report)
            crew.prepare(signals, owners_of(report, tasks), reference=False, temperature=1.0)
            gradient, stats = crew.gradient(list(signals), ORDER)
            found.append((report, gradient, stats))
            if workers == 2:
                with pytest.raises(UsageError, match="no ALFWorld task 'nowhere'"):
                    crew.play("valid", ["nowhere", "nowhere else"], HOW, keep=False)
                assert crew.gradient(list(signals), ORDER)[1].tokens == stats.tokens  # it works on after a fault
    (one, g1, s1), (two, g2, s2) = found
    assert [r.model_dump() for r in one.rollouts] == [r.model_dump() for r in two.rollouts]
    torch.testing.assert_close(g1, g2, rtol=1e-3, atol=1e-6)
    assert (s1.tokens, s1.weight) == (s2.tokens, pytest.approx(s2.weight))


def test_weights_of_the_loss_count_masked_steps_and_leave_out_rollouts_without_signal() -> None:
    config = TrainConfig().updated({"update.unit": "step"})  # a mean over steps
    steps = [(1.0, 2), (0.0, 4), (0.0, 1), (0.0, 1)]
    rollouts = [_shaped("a", steps[:2]), _shaped("b", steps[2:])]
    signals = signals_of(rollouts, config)
    assert list(signals) == ["a"]
    assert signals["a"].weights.tolist() == pytest.approx([1 / 4 / 2, 1 / 4 / 4])
    with_critic = signals_of(rollouts, config, {name: np.ones(2, dtype=np.float32) for name in "ab"})
    assert list(with_critic) == ["a", "b"]
    per_token = signals_of(rollouts, config.updated({"update.unit": "token"}))
    assert per_token["a"].weights.tolist() == pytest.approx([1 / 8, 1 / 8])


def test_an_update_without_any_signal_changes_nothing(crew: Crew) -> None:
    before = crew.weights.clone()
    metrics = update(crew, FlatAdam(crew.weights, 0.1), {}, {}, TrainConfig(), 1)
    assert torch.equal(before, crew.weights)
    assert metrics["update/steps"] == 0.0


def test_minibatches_share_all_rollouts(crew: Crew, tasks: tuple[str, ...]) -> None:
    report = crew.play("train", tasks, HOW, keep=True)
    signals = signals_for(report)
    config = TrainConfig().updated({"update.minibatches": 4, "update.epochs": 2})
    metrics = update(crew, FlatAdam(crew.weights, 1e-3), signals, owners_of(report, tasks), config, 1)
    assert metrics["update/steps"] == 8
    assert metrics["update/tokens"] == 2 * sum(step.tokens for rollout in report.rollouts for step in rollout.steps)


def _shaped(name: str, steps: list[tuple[float, int]]) -> Rollout:
    made = tuple(Step(action="x", advantage=advantage, tokens=tokens) for advantage, tokens in steps)
    return Rollout(id=name, env="env", task=name, steps=made, success=True)
