"""Demonstrations, and imitation of them."""

from __future__ import annotations

import random
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
import torch

from proas.envs.alfworld.world import AlfWorldWorld
from proas.errors import DataError, UsageError
from proas.rollouts import Rollout
from proas.training.config import PolicySettings, WarmStartSettings, preset
from proas.training.crew import Crew
from proas.training.episodes import TextLimits
from proas.training.evaluation import Evaluation, Evaluator, kind_of
from proas.training.imitation import (
    Demonstrator,
    collect_demonstrations,
    expert_verbs,
    imitate,
    outside_window,
    verbs_of,
)
from proas.training.play import PlaySettings
from proas.training.shard import ShardSpec
from proas.training.start import fresh_policy, starting_weights


def test_demonstrations_are_successes_one_a_task_and_the_same_for_a_seed(world: AlfWorldWorld) -> None:
    settings = WarmStartSettings(demonstrations=15, skill=0.9)
    found = list(collect_demonstrations(world, world.tasks, settings, seed=4, step_limit=50))
    assert len(found) == 15
    assert all(rollout.success for rollout in found)
    assert len({rollout.id for rollout in found}) == 15
    assert found == list(collect_demonstrations(world, world.tasks, settings, seed=4, step_limit=50))
    assert found != list(collect_demonstrations(world, world.tasks, settings, seed=5, step_limit=50))


def test_skill_decides_how_straight_they_are(world: AlfWorldWorld) -> None:
    def steps(skill: float) -> float:
        settings = WarmStartSettings(demonstrations=12, skill=skill)
        found = list(collect_demonstrations(world, world.tasks, settings, seed=4, step_limit=50))
        return sum(len(rollout.steps) for rollout in found) / 12

    assert steps(1.0) < steps(0.5)


def test_a_world_without_an_expert_is_refused(world: AlfWorldWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(world), "policies", ("random",))
    with pytest.raises(UsageError, match="no expert"):
        Demonstrator(world, random.Random(0), 0.5)


def test_imitation_lowers_the_loss_and_stops_in_the_window(world: AlfWorldWorld, games: Path) -> None:
    config = preset("smoke").updated(
        {
            "data": str(games),
            "warm_start.demonstrations": 24,
            "warm_start.skill": 1.0,
            "warm_start.epochs": 4,
            "warm_start.checks": 1,
            "warm_start.low": 0.98,
            "warm_start.high": 0.99,
        }
    )
    demonstrations = list(collect_demonstrations(world, world.tasks, config.warm_start, seed=0, step_limit=30))
    small = PolicySettings(width=32, heads=2, hidden=48, vocabulary=600)
    policy = fresh_policy(demonstrations, small, critic=False)
    how = PlaySettings(group_size=1, step_limit=4, limits=TextLimits(action=6))
    spec = ShardSpec("alfworld", games, games, {}, policy, how.limits, 8192)
    with Crew(spec, starting_weights(policy, 0, None), 1) as crew:
        evaluator = Evaluator(crew, world.tasks[:2], how)
        losses = [step.loss for step in imitate(crew, demonstrations, config, evaluator)]
        assert len(losses) == 4
        assert losses == sorted(losses, reverse=True)
        easy = config.updated({"warm_start.low": 0.0, "warm_start.high": 1.0})
        assert len(list(imitate(crew, demonstrations, easy, evaluator))) == 1


def test_demonstrations_that_never_succeed_end_early_and_are_told_meanwhile(world: AlfWorldWorld) -> None:
    settings = WarmStartSettings(demonstrations=2000, skill=1.0)
    told: list[tuple[int, int]] = []
    with pytest.raises(DataError, match=r"only 0 of 150 demonstrations succeeded within 1 steps.*step_limit"):
        list(
            collect_demonstrations(
                world,
                world.tasks,
                settings,
                seed=4,
                step_limit=1,
                progress=lambda found, tried: told.append((found, tried)),
            )
        )
    assert told == [(0, tried) for tried in range(1, 151)]


def test_failures_that_are_wanted_end_nothing(world: AlfWorldWorld) -> None:
    settings = WarmStartSettings(demonstrations=310, skill=1.0, successes_only=False)
    assert len(list(collect_demonstrations(world, world.tasks, settings, seed=4, step_limit=1))) == 310


def test_no_tasks_cannot_be_demonstrated(world: AlfWorldWorld) -> None:
    with pytest.raises(DataError, match="no alfworld tasks"):
        list(collect_demonstrations(world, (), WarmStartSettings(), seed=4, step_limit=1))


class Steady:
    """A crew and its evaluator, whose checks come to what they are told."""

    def __init__(self, *successes: float) -> None:
        self.weights = torch.zeros(2)
        self._left = list(successes)

    def take(self, rollouts: object) -> None:
        pass

    def gradient(self, names: object, order: object) -> tuple[torch.Tensor, SimpleNamespace]:
        return torch.ones(2), SimpleNamespace(weight=1.0, loss=1.0)

    def measure(self, temperature: float) -> Evaluation:
        played = [Rollout(id=str(n), env="e", task=str(n), success=n < 100 * self._left[0]) for n in range(100)]
        self._left.pop(0)
        return Evaluation.of(played, temperature)


@pytest.mark.parametrize(
    ("successes", "ended", "says"),
    [
        ((0.05, 0.3), 0.3, ""),
        ((0.95,), 0.95, "ended at 95%, above its window of 20% to 45% (warm_start.low, warm_start.high)"),
        ((0.05, 0.6), 0.6, "raise warm_start.checks (now 2), or lower warm_start.learning_rate"),
        ((0.02, 0.95), 0.02, "from 2% to 95% between two checks; the weights before the leap are taken: raise warm_st"),
        ((0.02, 0.03, 0.04, 0.05), 0.05, "ended at 5%, below its window of 20% to 45%"),
    ],
)
def test_a_warm_start_outside_its_window_says_what_helps(
    successes: tuple[float, ...], ended: float, says: str, demonstrations: list[Rollout]
) -> None:
    config = preset("full").updated({"warm_start.epochs": 2})
    steady = cast("Any", Steady(*successes))
    last = list(imitate(steady, demonstrations, config, steady))[-1]
    assert last.evaluation.success == pytest.approx(ended)
    advice = outside_window(last, config.warm_start)
    assert says in advice
    assert bool(says) == bool(advice)
    assert ("warm_start.epochs" in advice) == (ended == 0.05)


def test_kinds_are_read_off_keys() -> None:
    assert kind_of("pick_heat_then_place_in_recep-Egg-None-Fridge-2/trial_T1") == "pick_heat_then_place_in_recep"
    assert kind_of("17") == ""
    assert Evaluation.of([], 0.4).success == 0.0


def test_the_score_of_an_evaluation_counts_what_was_met_in_part() -> None:
    played = [
        Rollout(id=str(n), env="shop", task=str(n), success=success, score=score)
        for n, (success, score) in enumerate([(True, None), (False, None), (False, 0.5), (True, 1.0)])
    ]
    found = Evaluation.of(played, 1.0)
    assert (found.success, found.score) == (0.5, 0.625)


def test_the_wording_of_tasks_shows_in_what_the_expert_does(world: AlfWorldWorld) -> None:
    settings = WarmStartSettings(demonstrations=12, skill=1.0)
    shown = verbs_of(collect_demonstrations(world, world.tasks, settings, seed=4, step_limit=50))
    assert {"go", "take", "move"} <= shown
    assert "put" not in shown
    assert expert_verbs(world, world.tasks[:6]) <= shown
