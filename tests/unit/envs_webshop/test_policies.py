"""The policies of the shop: the expert wins from anywhere, the noisy one as often as not, both by their seed alone."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator

import pytest

from proas.envs import EnvSpec, open_world
from proas.envs.collect import CollectSettings, collect
from proas.envs.webshop import Shop, WebShopEnv, WebShopGoal
from proas.envs.webshop.policies import ExpertPolicy, NoisyPolicy
from proas.envs.webshop.world import WebShopWorld
from proas.errors import EnvironmentFailure, UsageError
from proas.rollouts import Rollout

Opened = tuple[Shop, tuple[WebShopGoal, ...]]


def played(world: WebShopWorld, policy: str, tasks: int, size: int = 8, seed: int = 0) -> Iterator[Rollout]:
    settings = CollectSettings(policy=policy, group_size=size, seed=seed)
    for made in collect(world, world.tasks[:tasks], settings):
        assert isinstance(made, Rollout)
        yield made


@pytest.fixture(scope="module")
def world(opened: Opened) -> WebShopWorld:
    return WebShopWorld(*opened)


def test_the_world_names_its_policies() -> None:
    world = open_world(EnvSpec("webshop"))
    assert world.policies == ("expert", "noisy", "random")
    with pytest.raises(UsageError, match="no policy 'clever'"):
        world.policy("clever", random.Random(0))


def test_the_expert_wins_every_goal_without_a_wasted_step(world: WebShopWorld) -> None:
    for rollout in played(world, "expert", len(world.tasks), size=2):
        assert rollout.success, rollout.task
        assert all(step.valid for step in rollout.steps)
        assert len({step.action for step in rollout.steps} - {"click[next >]"}) >= len(rollout.steps) - 5


def test_the_expert_s_options_come_in_any_order(world: WebShopWorld) -> None:
    wanted = next(rollout.task for rollout in played(world, "expert", 40, 1) if rollout.task.count("=") > 1)
    place = world.tasks.index(wanted)
    orders = {
        tuple(step.action for step in made.steps)
        for made in collect(world, [world.tasks[place]], CollectSettings(policy="expert", group_size=12))
        if isinstance(made, Rollout)
    }
    assert len(orders) > 1


@pytest.mark.parametrize("seed", range(6))
def test_the_expert_wins_from_wherever_others_left_off(opened: Opened, seed: int) -> None:
    """A noisy walk first, then the expert: whatever page that is, whatever is chosen there."""
    shop, goals = opened
    rng = random.Random(seed)
    env = WebShopEnv(shop, step_limit=60)
    noisy, expert = NoisyPolicy(rng, skill=0.3), ExpertPolicy(rng)
    pages: Counter[str] = Counter()
    for goal in goals[:25]:
        _, info = env.reset(goal)
        for _ in range(rng.randrange(12)):
            action = noisy.act(env)
            if action != "click[buy now]":
                info = env.step(action).info
        pages[env.situation.page] += 1
        while not (info.won or info.truncated or env.situation.page == "done"):
            info = env.step(expert.act(env)).info
        assert info.won, goal.key
    assert len(pages) >= 3


def test_the_expert_says_so_where_no_search_finds_the_product(opened: Opened) -> None:
    shop, goals = opened
    blind = Shop(shop.catalogue, shop.prices, _Blind())
    env = WebShopEnv(blind)
    env.reset(goals[0])
    with pytest.raises(EnvironmentFailure, match="no search brings the product"):
        ExpertPolicy(random.Random(0)).act(env)
    assert env.step(NoisyPolicy(random.Random(0), skill=1.0).act(env)).info.steps == 1  # it stumbles on


class _Blind:
    def search(self, words: str) -> list[str]:
        return []


def test_the_noisy_policy_makes_mixed_groups(world: WebShopWorld) -> None:
    rollouts = list(played(world, "noisy", 30))
    wins = Counter(rollout.task for rollout in rollouts if rollout.success)
    mixed = sum(0 < wins[task] < 8 for task in {rollout.task for rollout in rollouts})
    assert mixed >= 24
    assert 0.3 < sum(wins.values()) / len(rollouts) < 0.8
    steps = [step for rollout in rollouts for step in rollout.steps]
    assert 0.05 < sum(step.valid is False for step in steps) / len(steps) < 0.3
    assert {rollout.ended for rollout in rollouts} == {"success", "stopped", "step_limit"}
    said = {step.action for step in steps}
    assert {"click[description]", "click[features]", "click[reviews]", "click[back to search]"} <= said


def test_a_rollout_depends_on_seed_task_and_number_alone(world: WebShopWorld) -> None:
    together = {rollout.id: rollout for rollout in played(world, "noisy", 6, seed=3)}
    alone = list(collect(world, [world.tasks[4]], CollectSettings(policy="noisy", group_size=8, seed=3)))
    assert [together[made.id] for made in alone if isinstance(made, Rollout)] == alone
    assert list(together.values()) != list(played(world, "noisy", 6, seed=4))


def test_skill_is_a_probability() -> None:
    with pytest.raises(UsageError, match="not a probability"):
        NoisyPolicy(random.Random(0), skill=1.5)
