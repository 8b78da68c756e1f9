"""Demonstrations, and imitation of them."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from proas.envs.alfworld.world import AlfWorldWorld
from proas.errors import UsageError
from proas.rollouts import Rollout
from proas.training.config import PolicySettings, WarmStartSettings, preset
from proas.training.crew import Crew
from proas.training.episodes import TextLimits
from proas.training.evaluation import Evaluation, Evaluator, kind_of
from proas.training.imitation import Demonstrator, collect_demonstrations, expert_verbs, imitate, verbs_of
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
