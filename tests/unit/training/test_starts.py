"""Rollouts that begin part of the way: history for the policy, no words of it, a baseline of their own."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from proas.envs.alfworld.data import Wording
from proas.envs.alfworld.env import AlfWorldEnv
from proas.envs.alfworld.generator import generate
from proas.envs.alfworld.policies import ExpertPolicy
from proas.envs.alfworld.world import AlfWorldWorld
from proas.envs.collect import play
from proas.graph.ways import Way
from proas.rollouts import Rollout, RolloutBatch
from proas.shaping import shape
from proas.states import follower_for
from proas.training.config import PolicySettings, preset
from proas.training.crew import Crew
from proas.training.episodes import TextLimits
from proas.training.play import PlaySettings, play_tasks
from proas.training.policy.base import LanguagePolicy
from proas.training.policy.load import policy_from_description
from proas.training.shard import ShardSpec
from proas.training.start import fresh_policy, starting_weights
from proas.training.starts import GivenWay, command_for, own_steps
from proas.training.update import signals_of

HOW = PlaySettings(group_size=4, seed=5, label="test", step_limit=12, limits=TextLimits(action=8))


@pytest.fixture(scope="module")
def described(demonstrations: list[Rollout]) -> dict[str, object]:
    torch.manual_seed(1)
    small = PolicySettings(width=32, heads=2, hidden=48, vocabulary=600)
    return fresh_policy(demonstrations, small, critic=False)


@pytest.fixture(scope="module")
def policy(described: dict[str, object]) -> LanguagePolicy:
    return policy_from_description(described)


@pytest.fixture(scope="module")
def ways(world: AlfWorldWorld) -> dict[str, Way]:
    """The expert's own ways; what a graph of them would give."""
    found = {}
    for task in world.tasks:
        env = world.environment()
        walk = play(env, world.policy("expert", random.Random(0)), task, 0, follower_for(env))
        assert walk.success
        found[task] = Way(tuple(step.canonical or "" for step in walk.steps), walk.state_keys[1:])
    return found


def given(way: Way, left: int, count: int = 2) -> GivenWay:
    cut = len(way) - left
    return GivenWay(way.actions[:cut], way.states[:cut], left, count)


def test_the_policy_takes_over_where_the_way_is_left(
    world: AlfWorldWorld, policy: LanguagePolicy, ways: dict[str, Way]
) -> None:
    task = world.tasks[0]
    plain = play_tasks(world, policy, [task], HOW, follower_for).episodes
    some = play_tasks(world, policy, [task], replace(HOW, given={task: given(ways[task], 1)}), follower_for).episodes
    assert [e.given for e in some] == [0, 0, len(ways[task]) - 1, len(ways[task]) - 1]
    for one, other in zip(plain[:2], some[:2], strict=True):
        assert one.tokens.tolist() == other.tokens.tolist()  # those from the task's own start are as ever
    for episode in some[2:]:
        rollout, steps = episode.rollout, episode.given
        assert rollout.start == plain[0].rollout.start
        assert rollout.state_keys[1 : steps + 1] == ways[task].states[:steps]
        assert all(step.valid and step.tokens == 0 for step in rollout.steps[:steps])
        assert len(episode.starts) == len(episode.counts) == len(rollout.steps) - steps
        assert len(rollout.steps) <= 12  # what is given counts
        read = policy.read(rollout.steps[steps - 1].observation, HOW.limits.observation)
        before = episode.tokens[: episode.starts[0]].tolist()
        assert before[-len(read) :] == list(read)
        said = policy.read_action(rollout.steps[0].action)
        assert any(before[i : i + len(said)] == list(said) for i in range(len(before)))


def test_log_probabilities_are_those_of_the_whole_sequence(
    world: AlfWorldWorld, policy: LanguagePolicy, ways: dict[str, Way]
) -> None:
    task = world.tasks[1]
    how = replace(HOW, given={task: given(ways[task], 2)})
    with torch.inference_mode():
        for episode in play_tasks(world, policy, [task], how, follower_for).episodes[2:]:
            places = torch.from_numpy(episode.action_places.astype(np.int64))
            tokens = torch.from_numpy(episode.tokens.astype(np.int64))
            scores, _ = policy.score(tokens.unsqueeze(0), torch.zeros_like(places), places)
            logprobs = torch.log_softmax(scores, dim=-1).gather(1, tokens[places + 1].unsqueeze(1)).squeeze(1)
            np.testing.assert_allclose(logprobs.numpy(), episode.logprobs, atol=2e-5)


def test_a_way_that_the_environment_does_not_follow_is_no_start(
    world: AlfWorldWorld, policy: LanguagePolicy, ways: dict[str, Way]
) -> None:
    task = world.tasks[0]
    way = given(ways[task], 1)
    plain = play_tasks(world, policy, [task], HOW, follower_for).episodes
    elsewhere = replace(way, states=("0" * 32, *way.states[1:]))
    unheard = replace(way, actions=("dance", *way.actions[1:]))
    for bad in (elsewhere, unheard):
        done = play_tasks(world, policy, [task], replace(HOW, given={task: bad}), follower_for).episodes
        assert [e.tokens.tolist() for e in done] == [e.tokens.tolist() for e in plain]
        assert [e.given for e in done] == [0, 0, 0, 0]


@pytest.mark.parametrize("wording", ["put", "move"])
def test_canonical_actions_are_said_in_the_game_s_own_wording(wording: Wording) -> None:
    game = next(generate(1, seed=33, kinds=("two",))).game(wording)
    env = AlfWorldEnv({game.key: game})
    walk = play(env, ExpertPolicy(), game.key, 0, follower_for(env))
    env.reset(game.key)
    for step in walk.steps:
        said = command_for(env, step.canonical or "")
        assert said == step.action
        env.step(said)
    assert env.info.won
    env.reset(game.key)
    assert command_for(env, "dance") == "dance"


def test_only_own_steps_are_shaped_and_their_baseline_is_their_own(
    world: AlfWorldWorld, policy: LanguagePolicy, ways: dict[str, Way]
) -> None:
    task = world.tasks[0]
    how = replace(HOW, given={task: given(ways[task], 1)})
    episodes = play_tasks(world, policy, [task], how, follower_for).episodes
    config = preset("smoke")
    won = {"success": True, "ended": "success", "reward": 1.0}
    rollouts = [
        # One of those on the way solves the task, so that their baseline, and theirs alone, has two sides.
        own_steps(e.rollout.model_copy(update=won if i == 2 else {"reward": 0.0}), e.given)
        for i, e in enumerate(episodes)
    ]
    assert [r.group for r in rollouts] == ["", ""] + [f"{task} after {episodes[2].given} given steps"] * 2
    for rollout, episode in zip(rollouts, episodes, strict=True):
        assert len(rollout.steps) == len(episode.starts)
        assert Rollout.model_validate(rollout.model_dump()).state_keys == episode.rollout.state_keys[episode.given :]
    shaped = shape(RolloutBatch(tuple(rollouts)), config.base_shaping.updated({"invalid_penalty": 0.0})).batch
    signs = [{np.sign(step.advantage or 0.0) for step in rollout.steps} for rollout in shaped]
    assert signs[:2] == [{0.0}, {0.0}]
    assert signs[2:] == [{1.0}, {-1.0}]
    signals = signals_of(shaped.rollouts, config)
    assert {name: len(signal.advantages) for name, signal in signals.items()} == {
        r.id: len(r.steps) for r in rollouts[2:]
    }


def test_a_crew_plays_alike_with_any_number_of_hands(
    games: Path, world: AlfWorldWorld, described: dict[str, object], ways: dict[str, Way]
) -> None:
    spec = ShardSpec("alfworld", games, games, {}, described, HOW.limits, 4096)
    how = replace(HOW, given={task: given(ways[task], 1) for task in world.tasks[:3]})
    reports = []
    for workers in (1, 2):
        with Crew(spec, starting_weights(described, 0, None), workers) as crew:
            reports.append(crew.play("train", world.tasks[:4], how, keep=True))
    one, two = reports
    assert one.rollouts == two.rollouts
    assert one.given == two.given
    assert [bool(steps) for steps in one.given] == [False, False, True, True] * 3 + [False] * 4
