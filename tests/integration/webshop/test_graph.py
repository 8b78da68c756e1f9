"""Graphs of goals in a real database: whole, verified, and followed by rollouts."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path

import pytest

from proas.envs.webshop import Shop, WebShopEnv, WebShopGoal, open_shop
from proas.graph.store import ReferenceGraph
from proas.graph_builders import BuildOptions, build_graph, builder
from proas.graph_builders.webshop import WebShopBuilder
from proas.rollouts import Rollout, RolloutBatch, Step
from proas.states import attach_all


def _rollout(shop: Shop, goal: WebShopGoal, name: str, actions: list[str]) -> Rollout:
    """A rollout without states, as a trainer that sees only text hands it over."""
    env = WebShopEnv(shop)
    observation, _info = env.reset(goal)
    steps, won = [], False
    for action in actions:
        result = env.step(action)
        won = result.info.won
        steps.append(Step(action=action, observation=result.observation, reward=result.reward, valid=result.info.valid))
    return Rollout(
        id=name, env="webshop", task=goal.key, goal=goal.text, observation=observation, steps=tuple(steps), success=won
    )


def _two_options(goals: tuple[WebShopGoal, ...]) -> WebShopGoal:
    return next(goal for goal in goals if len(goal.target.wanted) == 2)


def test_the_samples_make_a_sound_graph(graph: ReferenceGraph) -> None:
    report = build_graph("webshop", builder("webshop"), graph, options=BuildOptions(limit=150))
    assert (report.tasks, report.rejects, report.considered) == (150, (), 150)
    assert graph.verify().ok
    assert graph.stats().tasks == 150
    again = build_graph("webshop", builder("webshop"), graph, options=BuildOptions(limit=150))
    assert (again.skipped, again.added_states, again.added_transitions) == (150, 0, 0)


@pytest.mark.slow
def test_real_goals_make_a_sound_graph(graph: ReferenceGraph, webshop_data: Path) -> None:
    report = build_graph(
        "webshop", WebShopBuilder(), graph, data=webshop_data, options=BuildOptions(limit=1000, expand="optimal")
    )
    assert (report.tasks, report.rejects) == (1000, ())
    assert graph.verify().ok


def test_every_order_of_options_is_progress(graph: ReferenceGraph) -> None:
    shop, goals = open_shop()
    goal = _two_options(goals)
    build_graph("webshop", WebShopBuilder(("human",)), graph)
    opened = [f"search[{goal.title}]", f"click[{goal.target.asin.lower()}]"]
    orders = list(permutations([f"click[{group.wanted}]" for group in goal.target.wanted]))
    rollouts = [
        _rollout(shop, goal, f"order-{number}", [*opened, *order, "click[buy now]"])
        for number, order in enumerate(orders)
    ]
    lingering = [
        *opened,
        "click[features]",
        "click[< prev]",
        orders[0][0],
        orders[0][0],
        orders[0][1],
        "click[buy now]",
    ]
    rollouts.append(_rollout(shop, goal, "lingering", lingering))
    assert [rollout.success for rollout in rollouts] == [True, True, True]
    labelled = graph.label(attach_all(RolloutBatch(tuple(rollouts))))
    first, second, third = ([step.label for step in rollout.steps if step.label is not None] for rollout in labelled)
    assert [label.progress for label in first] == [True] * 5
    assert [label.progress for label in second] == [True] * 5
    assert [label.progress for label in third] == [True, True, False, False, True, False, True, True]
    assert first[0].drift == second[0].drift == 0
    assert third[0].drift == 3


def test_another_product_is_no_progress(graph: ReferenceGraph) -> None:
    shop, goals = open_shop()
    goal = _two_options(goals)
    build_graph("webshop", WebShopBuilder(("human",)), graph)
    other = next(asin for asin in shop.ranking.search(goal.title) if asin != goal.target.asin)
    actions = [f"search[{goal.title}]", f"click[{other.lower()}]", "click[buy now]"]
    rollout = _rollout(shop, goal, "other", actions)
    assert not rollout.success
    (labelled,) = graph.label(attach_all(RolloutBatch((rollout,))))
    assert [step.label.reasonable for step in labelled.steps if step.label is not None] == [True, False, False]
