"""What is done to a trainer's advantages before shaping agrees with what ``proas.shaping`` does by itself."""

from __future__ import annotations

import random

import numpy as np
import pytest

from proas.integrations.base_advantages import gigpo_step_advantages, lone_penalties, settled
from proas.rollouts import RolloutBatch
from proas.shaping import preset, shape


def batch_of(rollout, rng, *, groups=4, size=4, lose_first=True):
    made = []
    for g in range(groups):
        for i in range(size):
            walk = [0, *(rng.randrange(4) for _ in range(rng.randrange(1, 9)))]
            valid = "".join(rng.choice("0111") for _ in walk[1:])
            won = rng.random() < 0.5 and not (g == 0 and lose_first)
            rewards = [0.0 if ok == "1" else -0.1 for ok in valid]
            rewards[-1] += 10.0 * won
            made.append(
                rollout(f"{g}-{i}", walk, won=won, valid=valid, task=f"task{g}", rewards=rewards, reward=sum(rewards))
            )
    return RolloutBatch(tuple(made))


@pytest.mark.parametrize("penalty_only", ["keep", "drop"])
@pytest.mark.parametrize("normalise", ["mean_std", "mean"])
def test_gigpo_on_top_of_grpo_is_gigpo(rollout, penalty_only, normalise):
    batch = batch_of(rollout, random.Random(3))
    settings = {"penalty_only_groups": penalty_only, "normalise": normalise, "invalid_penalty": "recorded"}
    unshaped = {**settings, "mui": False, "apr": "none"}
    config = preset("paper").updated(unshaped)
    steps = gigpo_step_advantages(batch, config)
    grpo = shape(batch, config)
    gigpo = shape(batch, config.updated({"algorithm": "gigpo"}))
    base = np.array([s.base_advantage for r in grpo.batch for s in r.steps])
    wanted = np.array([s.base_advantage for r in gigpo.batch for s in r.steps])
    assert np.abs(steps).max() > 0.1
    np.testing.assert_allclose(base + steps, wanted, rtol=0, atol=1e-12)


def test_groups_of_penalties_alone(rollout):
    batch = batch_of(rollout, random.Random(4))
    config = preset("paper").updated({"invalid_penalty": "recorded"})
    dropped = lone_penalties(batch, config)
    kept = shape(batch, config.updated({"penalty_only_groups": "keep"})).batch
    zero = shape(batch, config.updated({"penalty_only_groups": "drop"})).batch
    assert dropped[:4].all()
    for flag, before, after in zip(dropped, kept, zero, strict=True):
        if flag:
            assert after.advantage == 0
        else:
            assert before.advantage == after.advantage


def test_no_rollouts():
    assert lone_penalties(RolloutBatch(()), preset("membership")).size == 0
    assert gigpo_step_advantages(RolloutBatch(()), preset("paper")).size == 0


def test_rounding_of_single_precision_makes_no_clusters():
    values = np.array([1.0, -0.7071067, -0.70710674, 0.5, -0.7071068, 0.0, 0.5000001, -0.7072])
    made = settled(values)
    assert len(set(made.tolist())) == 5
    np.testing.assert_allclose(made, values, rtol=2e-6)
    assert settled(np.empty(0)).size == 0


@pytest.mark.parametrize("value", [0.0, -0.0, 1e-30, -1e30])
def test_alike_values_stay(value):
    assert settled(np.full(5, value)).tolist() == [value] * 5
