"""Rollouts in batch: what is recorded is what was drawn, and no rollout depends on another."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from proas.envs.alfworld.world import AlfWorldWorld
from proas.rollouts import Rollout
from proas.states import follower_for
from proas.training.config import PolicySettings
from proas.training.episodes import TextLimits, episode_of
from proas.training.play import PlaySettings, play_tasks
from proas.training.policy.base import LanguagePolicy
from proas.training.policy.load import policy_from_description
from proas.training.start import fresh_policy

HOW = PlaySettings(group_size=2, seed=5, label="test", step_limit=6, limits=TextLimits(action=8))


@pytest.fixture(scope="module")
def policy(demonstrations: list[Rollout]) -> LanguagePolicy:
    torch.manual_seed(1)
    small = PolicySettings(width=32, heads=2, hidden=48, vocabulary=600)
    return policy_from_description(fresh_policy(demonstrations, small, critic=True))


def test_episodes_are_whole_records_and_their_tokens_say_the_same(policy: LanguagePolicy, world: AlfWorldWorld) -> None:
    done = play_tasks(world, policy, world.tasks[:3], HOW, follower_for)
    assert [e.rollout.id for e in done.episodes] == [f"test/{task}#{n}" for task in world.tasks[:3] for n in (0, 1)]
    for episode in done.episodes:
        rollout = episode.rollout
        assert rollout.has_states
        assert rollout.ended == "step_limit"
        assert len(rollout.steps) == len(episode.starts) == len(episode.values) == 6
        assert rollout.reward == pytest.approx(sum(step.reward for step in rollout.steps))
        for step, start, count in zip(rollout.steps, episode.starts, episode.counts, strict=True):
            assert policy.write(episode.tokens[start : start + count].tolist()) == step.action
            assert step.tokens == count <= 8
        read = episode_of(rollout, policy, HOW.limits)
        assert len(read.starts) == 6
    assert done.environment_seconds > 0
    assert done.policy_seconds > 0


def test_recorded_log_probabilities_are_those_of_the_whole_sequence(
    policy: LanguagePolicy, world: AlfWorldWorld
) -> None:
    how = replace(HOW, temperature=0.7)
    with torch.inference_mode():
        for episode in play_tasks(world, policy, world.tasks[:2], how).episodes:
            places = torch.from_numpy(episode.action_places.astype(np.int64))
            tokens = torch.from_numpy(episode.tokens.astype(np.int64))
            scores, values = policy.score(tokens.unsqueeze(0), torch.zeros_like(places), places)
            logprobs = torch.log_softmax(scores / 0.7, dim=-1).gather(1, tokens[places + 1].unsqueeze(1)).squeeze(1)
            np.testing.assert_allclose(logprobs.numpy(), episode.logprobs, atol=2e-5)
            first = np.cumsum(episode.counts) - episode.counts
            np.testing.assert_allclose(values.numpy()[first], episode.values, atol=2e-5)


def test_a_rollout_does_not_depend_on_its_company(policy: LanguagePolicy, world: AlfWorldWorld) -> None:
    alone = play_tasks(world, policy, world.tasks[2:3], HOW).episodes
    among = play_tasks(world, policy, world.tasks[:4], HOW).episodes[4:6]
    assert [e.tokens.tolist() for e in alone] == [e.tokens.tolist() for e in among]


def test_seed_label_and_number_decide_what_is_drawn(policy: LanguagePolicy, world: AlfWorldWorld) -> None:
    def tokens(how: PlaySettings) -> list[list[int]]:
        return [e.tokens.tolist() for e in play_tasks(world, policy, world.tasks[:1], how).episodes]

    one, other = tokens(HOW)
    assert one != other
    assert tokens(HOW) == [one, other]
    assert tokens(replace(HOW, seed=6)) != [one, other]
    assert tokens(replace(HOW, label="other")) != [one, other]


def test_the_likeliest_words_need_no_luck(policy: LanguagePolicy, world: AlfWorldWorld) -> None:
    one, other = play_tasks(world, policy, world.tasks[:1], replace(HOW, temperature=0.0)).episodes
    assert one.tokens.tolist() == other.tokens.tolist()


def test_an_episode_that_outgrows_its_text_has_failed(policy: LanguagePolicy, world: AlfWorldWorld) -> None:
    limits = TextLimits(action=8, episode=len(policy.read("a " * 300, 256)) + 30, prompt=64)
    how = replace(HOW, step_limit=50, limits=replace(limits, episode=110))
    done = play_tasks(world, policy, world.tasks[:2], how)
    assert all(e.rollout.ended == "stopped" and not e.rollout.success for e in done.episodes)
    assert all(len(e.tokens) <= 110 for e in done.episodes)


def test_nothing_to_play_is_fine(policy: LanguagePolicy, world: AlfWorldWorld) -> None:
    assert play_tasks(world, policy, [], HOW).episodes == []
