"""Environments out of rules: episodes, limits, rewards and policies that follow from a game alone."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass

import pytest

from proas.envs.base import Environment, RewardSettings, World
from proas.envs.collect import CollectSettings, collect
from proas.envs.games import Game, GameWorld, ShortestPolicy
from proas.errors import EnvironmentFailure, UsageError
from proas.rollouts import Rollout


@dataclass(frozen=True)
class Cell:
    """A place on a strip, and the flags taken up."""

    place: int = 0
    flags: frozenset[str] = frozenset()


class Strip(Game[Cell]):
    """Fetch both flags of a strip and come back; a hole at its far end swallows whoever steps into it."""

    start = Cell()

    def __init__(self, task: str) -> None:
        self.length = int(task)
        self.goal = f"fetch the flags of a strip of {task}"
        self.at = {"red": self.length // 3, "blue": -self.length // 3}

    def opening(self) -> str:
        return self.goal

    def admissible(self, now: Cell) -> list[str]:
        if now.place == self.length:
            return []
        return ["left", "right", *(f"take {x}" for x, place in self.at.items() if place == now.place)]

    def after(self, now: Cell, action: str) -> tuple[Cell, str] | None:
        if action not in self.admissible(now):
            return None
        if action.startswith("take "):
            return Cell(now.place, now.flags | {action[5:]}), "Taken."
        there = now.place + (1 if action == "right" else -1)
        return (Cell(there, now.flags), "You go.") if -self.length <= there else None

    def won(self, now: Cell) -> bool:
        return now.place == 0 and len(now.flags) == 2


@pytest.fixture
def world() -> GameWorld[Cell]:
    return GameWorld("strip", ["6", "9"], Strip, step_limit=40)


def test_it_is_a_world_of_environments(world: GameWorld[Cell]) -> None:
    env = world.environment()
    checked: World = world
    assert (checked.name, env.name, env.step_limit, tuple(checked.tasks)) == ("strip", "strip", 40, ("6", "9"))
    with pytest.raises(EnvironmentFailure, match="no episode"):
        env.step("left")
    with pytest.raises(EnvironmentFailure, match="no episode"):
        env.now  # noqa: B018
    with pytest.raises(UsageError, match="no strip task '7' among the 2 known"):
        env.reset("7")
    with pytest.raises(UsageError, match="not positive"):
        world.environment(step_limit=0)
    with pytest.raises(UsageError, match="no policy 'wise'"):
        world.policy("wise", random.Random(0))
    env.reset("6")
    assert isinstance(env, Environment)


def test_an_episode_pays_counts_and_ends(world: GameWorld[Cell]) -> None:
    env = world.environment(step_limit=4, rewards=RewardSettings(success=5.0, invalid=-1.0, step=-0.1))
    observation, info = env.reset("6")
    assert (observation, info.valid, info.won, info.steps) == ("fetch the flags of a strip of 6", True, False, 0)
    assert info.facts.as_tuples() == {("place", "0")}
    right = env.step("right")
    assert (right.observation, right.reward, right.done, env.now) == ("You go.", -0.1, False, Cell(1))
    wrong = env.step("take red")
    assert (wrong.observation, wrong.reward, wrong.info.valid, env.now) == ("Nothing happens.", -1.1, False, Cell(1))
    env.step("right")
    taken = env.step("take red")
    assert taken.info.facts.as_tuples() == {("place", "2"), ("flags", "red")}
    assert (taken.done, taken.info.truncated, taken.info.won) == (True, True, False)
    with pytest.raises(EnvironmentFailure, match="is over"):
        env.step("left")
    assert env.reset("9")[1].steps == 0


def test_the_expert_takes_a_shortest_way_and_any_of_several(world: GameWorld[Cell]) -> None:
    settings = CollectSettings(policy="expert", group_size=10)
    ways: Counter[tuple[str, ...]] = Counter()
    for made in collect(world, ["6"], settings):
        assert isinstance(made, Rollout)
        assert (made.success, len(made.steps), made.reward) == (True, 10, 10.0)
        ways[tuple(step.action for step in made.steps)] += 1
    assert len(ways) == 2


def test_the_expert_finds_its_way_again_and_says_where_there_is_none(world: GameWorld[Cell]) -> None:
    env = world.environment()
    env.reset("6")
    policy = ShortestPolicy(random.Random(0))
    policy.act(env)
    for _ in range(5):
        env.step("right")
    for _ in range(30):
        if env.info.won:
            break
        env.step(policy.act(env))
    assert env.info.won
    env.reset("6")
    for _ in range(6):
        env.step("right")
    with pytest.raises(EnvironmentFailure, match="nothing leads to the goal"):
        policy.act(env)


def test_the_noisy_one_makes_mixed_groups_by_its_seed(world: GameWorld[Cell]) -> None:
    def played(seed: int) -> list[Rollout]:
        settings = CollectSettings(policy="noisy", group_size=24, seed=seed)
        return [made for made in collect(world, world.tasks, settings) if isinstance(made, Rollout)]

    rollouts = played(1)
    assert rollouts == played(1) != played(2)
    assert 5 < sum(rollout.success for rollout in rollouts) < 43
    assert any(step.valid is False for rollout in rollouts for step in rollout.steps)
    assert {rollout.ended for rollout in rollouts} <= {"success", "step_limit", "error"}
