"""Steps put into a history: the situation is the same to the last bit, and the text says what was done."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

if find_spec("torch") is None:
    pytest.skip("torch is not installed (extra `train`)", allow_module_level=True)

import random

import torch

from proas.envs.alfworld.world import AlfWorldWorld
from proas.envs.collect import play
from proas.rollouts import Rollout
from proas.states import follower_for
from proas.training.config import PolicySettings
from proas.training.episodes import Episode, TextLimits, episode_of
from proas.training.interventions.histories import (
    Composer,
    Habits,
    Unit,
    as_long,
    chosen,
    fingerprint,
    harmless_units,
    junction_of,
    wasteful_units,
)
from proas.training.policy.base import LanguagePolicy
from proas.training.policy.load import policy_from_description
from proas.training.start import fresh_policy

LIMITS = TextLimits()


@pytest.fixture(scope="module")
def policy(demonstrations: list[Rollout]) -> LanguagePolicy:
    torch.manual_seed(1)
    small = PolicySettings(width=32, heads=2, hidden=48, vocabulary=600)
    return policy_from_description(fresh_policy(demonstrations, small, critic=False))


@pytest.fixture(scope="module")
def episodes(policy: LanguagePolicy, world: AlfWorldWorld) -> list[Episode]:
    """Noisy play, which errs as policies do."""
    env = world.environment()
    found = []
    for task in world.tasks[:4]:
        for number in range(2):
            noisy = world.policy("noisy", random.Random(number + 5))
            found.append(episode_of(play(env, noisy, task, number, follower_for(env)), policy, LIMITS))
    return found


@pytest.mark.parametrize("place", ["state", "start"])
def test_the_situation_is_the_same_and_the_text_tells_the_steps(
    place: str, policy: LanguagePolicy, world: AlfWorldWorld, episodes: list[Episode]
) -> None:
    habits = Habits(episodes)
    kinds: set[tuple[int, bool]] = set()
    for episode in episodes[::2]:
        step = len(episode.starts) // 2
        junction = junction_of(world, episode, step)
        composer = Composer(world, policy, LIMITS, junction, step if place == "state" else 0)
        plain = composer.with_steps(())
        assert plain is not None
        assert (plain.tokens, plain.added) == (junction.tokens, 0)
        units = wasteful_units(world, junction, composer.before, habits)
        kinds |= {(len(unit.actions), unit.own) for unit in units}
        sequence = chosen(units, (1, 2, 4, 8), episode.rollout.id)
        assert sequence is not None
        actions = [action for unit in sequence for action in unit.actions]
        assert len(actions) == 8
        for k in (1, 2, 4, 8):
            made = composer.with_steps(actions[:k])
            assert made is not None, (actions[:k], episode.rollout.id)
            assert len(made.actions) == step + k
            assert len(made.tokens) == len(junction.tokens) + made.added
            env = world.environment()
            env.reset(episode.rollout.task)
            for action in made.actions:
                env.step(action)
            assert fingerprint(env) == junction.situation
            assert env.engine.snapshot() == _snapshot(world, episode, step)
        harmless = harmless_units(world, junction, composer.before)
        assert {("look",), ("inventory",)} <= {unit.actions for unit in harmless}
    if place == "state":
        assert {1, 2} == {length for length, _own in kinds}
    assert True in {own for _length, own in kinds}


def _snapshot(world: AlfWorldWorld, episode: Episode, step: int) -> object:
    env = world.environment()
    env.reset(episode.rollout.task)
    for each in episode.rollout.steps[:step]:
        env.step(each.action)
    return env.engine.snapshot()


def test_steps_that_change_something_are_no_history(
    policy: LanguagePolicy, world: AlfWorldWorld, episodes: list[Episode]
) -> None:
    episode = episodes[0]
    junction = junction_of(world, episode, 0)
    composer = Composer(world, policy, LIMITS, junction, 0)
    env = world.environment()
    env.reset(episode.rollout.task)
    going = next(action for action in env.info.admissible if action.startswith("go to"))
    assert composer.with_steps((going,)) is None
    assert composer.with_steps(("dance",)) is not None


def test_the_text_is_what_an_episode_with_those_steps_would_hold(
    policy: LanguagePolicy, world: AlfWorldWorld, episodes: list[Episode]
) -> None:
    """Carried out and read from the beginning, the longer episode has the same tokens."""
    episode = episodes[2]
    junction = junction_of(world, episode, 2)
    made = Composer(world, policy, LIMITS, junction, 1).with_steps(("dance", "look"))
    assert made is not None
    env = world.environment()
    observation, _ = env.reset(episode.rollout.task)
    rollout = episode.rollout.model_copy(update={"observation": observation, "steps": ()})
    steps = []
    for action in (*made.actions, "look"):
        result = env.step(action)
        steps.append(episode.rollout.steps[0].model_copy(update={"action": action, "observation": result.observation}))
    whole = episode_of(rollout.model_copy(update={"steps": tuple(steps)}), policy, LIMITS)
    assert made.tokens == tuple(whole.tokens[: whole.starts[len(made.actions)]].tolist())


def test_choices_add_up_and_repeat_themselves() -> None:
    one, two = Unit(("dance",), own=True), Unit(("go to a", "go to b"), own=False)
    for seed in "abcdef":
        taken = chosen([one, two], (1, 2, 4, 8), seed)
        assert taken == chosen([one, two], (1, 2, 4, 8), seed)
        assert taken is not None
        lengths = [len(unit.actions) for unit in taken]
        reached = [sum(lengths[: i + 1]) for i in range(len(lengths))]
        assert {1, 2, 4, 8} <= set(reached)
    assert chosen([two], (2, 4), "a") == [two, two]
    assert chosen([two], (1,), "a") is None
    assert len({tuple(unit.actions for unit in chosen([one, two], (8,), seed) or ()) for seed in "abcdef"}) > 1


def test_harmless_steps_keep_up_in_length() -> None:
    short, long = Unit(("inventory",), own=False), Unit(("look",), own=False)
    # 7 is nearer to 6 than to 10; then 1 + 7 = 8 tokens are owed: 10 and 6 are as near, and the first wins.
    assert as_long([7, 7, 20], [short, long], [6, 10]) == [short, short, long]
