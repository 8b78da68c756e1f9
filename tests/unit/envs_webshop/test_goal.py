"""Task keys: readable back, stable, and fit for a shell."""

from __future__ import annotations

import random
import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proas.envs.webshop import (
    OptionGroup,
    Shop,
    Target,
    WebShopEnv,
    WebShopGoal,
    bare_instruction,
    build_goals,
    product_prices,
)
from proas.envs.webshop.goals import goal_source, resolved
from proas.envs.webshop.policies import ExpertPolicy
from proas.errors import DataError, UsageError
from proas.states import follower_for, observer_for

names = st.text(min_size=1, max_size=20).filter(lambda text: not text.startswith("~"))


def _goal(groups: tuple[OptionGroup, ...], instruction: str = "find me a lamp") -> WebShopGoal:
    options = tuple(group.wanted for group in groups if group.wanted)
    return WebShopGoal(instruction, Target("P000000001", groups), ("oak",), options)


@given(st.lists(st.tuples(names, st.text(max_size=20).filter(lambda t: not t.startswith("~"))), max_size=4))
def test_a_key_gives_the_target_back(groups: list[tuple[str, str]]) -> None:
    goal = _goal(tuple(OptionGroup(name, wanted) for name, wanted in groups))
    key = goal.key
    assert re.fullmatch(r"[A-Za-z0-9%._~:=,-]+", key)
    assert len(key) <= 400
    found = Target.from_key(key)
    if not found.groups:  # names so long that they are left out
        return
    assert [group.name for group in found.groups] == [name for name, _wanted in groups]
    for kept, (_name, wanted) in zip(found.groups, groups, strict=True):
        assert kept.wanted == wanted or kept.wanted.startswith("~")


def test_a_key_is_short_whatever_the_page_says() -> None:
    names = [f"{number} \U0001f3b1 a name of an option group " for number in range(30)]
    goal = _goal(tuple(OptionGroup(name, "a value") for name in names))
    assert len(goal.key) < 40
    assert goal.told == Target("P000000001")
    assert goal.key != replace(goal, options=("another",)).key


def test_the_key_is_the_same_everywhere_and_forgets_the_price() -> None:
    goal = _goal((OptionGroup("color", "black"), OptionGroup("size")))
    assert goal.key == "P000000001:color=black,size=:" + goal.key[-12:]
    assert replace(goal, price_limit=50.0).key == goal.key
    assert replace(goal, instruction="another").key != goal.key


def test_long_values_are_digested_and_still_met() -> None:
    value = "a very long value " * 30
    goal = _goal((OptionGroup("style", value),))
    assert len(goal.key) < 100
    (group,) = Target.from_key(goal.key).groups
    assert group.met_by(value)
    assert not group.met_by("a very long value")


@pytest.mark.parametrize("key", ["", "webshop-17", "P000000001", "P000000001:color:0123456789ab", "a:b=c:xyz"])
def test_other_keys_are_refused(key: str) -> None:
    with pytest.raises(DataError, match="no key of a WebShop task"):
        Target.from_key(key)


def test_a_long_value_is_one_state_by_shop_and_by_text(opened: tuple[Shop, tuple[WebShopGoal, ...]]) -> None:
    """Neither may know the value better than the key tells it."""
    shop, goals = opened
    sold = next(goal for goal in goals if goal.target.wanted)
    product, name = shop.product(sold.target.asin), sold.target.wanted[0].name
    long = "a finish like that of an old table which has stood in the sun " * 10
    offered = replace(product, options={**product.options, name: (*product.options[name], long.strip())})
    bigger = Shop(
        replace(shop.catalogue, products={**shop.catalogue.products, product.asin: offered}), shop.prices, shop.ranking
    )
    groups = tuple(replace(g, wanted=long.strip()) if g.name == name else g for g in sold.target.groups)
    goal = replace(sold, target=Target(product.asin, groups), options=(long.strip(),))
    assert "=~" in goal.key
    env = WebShopEnv(bigger)
    observation, _info = env.reset(goal)
    follower, reader = follower_for(env), observer_for("webshop", goal.key)
    assert follower.begin(env, observation) == reader.begin(observation)
    policy, done, chosen = ExpertPolicy(random.Random(0)), False, 0
    while not done:
        action = policy.act(env)
        result = env.step(action)
        seen = follower.observe(env, action, result.observation, valid=True, won=result.info.won)
        assert seen == reader.observe(action, result.observation, valid=True, won=result.info.won)
        chosen += any(fact.startswith(f"chosen {name}: ~") for fact in seen.state.facts)
        done = result.done
    assert chosen


def test_the_price_clause() -> None:
    goal = replace(_goal(()), price_limit=40.0)
    assert goal.text == "find me a lamp, and price lower than 40.00 dollars"
    assert bare_instruction(goal.text) == goal.instruction


def test_goals_repeat_by_seed(opened: tuple[Shop, tuple[WebShopGoal, ...]]) -> None:
    catalogue = opened[0].catalogue
    prices = product_prices(catalogue)
    assert build_goals(catalogue, prices) == build_goals(catalogue, prices) == opened[1]
    other = build_goals(catalogue, prices, seed=1)
    assert [goal.key for goal in other] == [goal.key for goal in opened[1]]
    assert [goal.price_limit for goal in other] != [goal.price_limit for goal in opened[1]]


def test_price_limits_lie_just_above_the_price(opened: tuple[Shop, tuple[WebShopGoal, ...]]) -> None:
    shop, goals = opened
    for goal in goals:
        assert goal.price_limit is not None
        assert 0 < goal.price_limit - shop.prices[goal.target.asin] <= 40


def test_synthetic_goals_cover_every_combination(opened: tuple[Shop, tuple[WebShopGoal, ...]]) -> None:
    catalogue = opened[0].catalogue
    goals = build_goals(catalogue, opened[0].prices, "synthetic")
    for product in catalogue:
        count = 1
        for values in product.options.values():
            count *= len(values)
        assert sum(goal.target.asin == product.asin for goal in goals) == count


def test_wanted_values_find_their_groups(opened: tuple[Shop, tuple[WebShopGoal, ...]]) -> None:
    product = next(p for p in opened[0].catalogue if {"color", "size"} <= set(p.options) and len(p.options) == 2)
    colour, size = product.options["color"][0], product.options["size"][1]
    assert resolved(product, (size, colour)) == resolved(product, (colour, size))
    assert {g.name: g.wanted for g in resolved(product, (size, colour)).groups} == {"color": colour, "size": size}
    assert resolved(product, ("nothing of the kind",)).wanted == ()


def test_an_unknown_source_of_goals() -> None:
    assert goal_source("human") == "human"
    with pytest.raises(UsageError, match="unknown goals"):
        goal_source("robots")
