"""Rollouts of the environment on the graphs of the builder: one task key, an expert whose every step is progress."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from proas.envs import EnvSpec, open_world
from proas.envs.collect import CollectSettings, collect
from proas.envs.webshop import WebShopGoal, build_goals
from proas.envs.webshop.original import original_goal
from proas.envs.webshop.world import WebShopWorld
from proas.graph.store import ReferenceGraph
from proas.graph_builders import BuildOptions, build_graph
from proas.graph_builders.webshop import WebShopBuilder
from proas.rollouts import Rollout, RolloutBatch
from proas.states import follower_for, ladder_of_rollout


def played(world: WebShopWorld, policy: str, tasks: int, size: int = 2) -> Iterator[Rollout]:
    settings = CollectSettings(policy=policy, group_size=size)
    for made in collect(world, world.tasks[:tasks], settings, follower_for):
        assert isinstance(made, Rollout)
        yield made


def opened(data: Path | None, **options: str) -> WebShopWorld:
    world = open_world(EnvSpec("webshop", data, options))
    assert isinstance(world, WebShopWorld)
    return world


@pytest.mark.parametrize("goals", ["human", "synthetic"])
@pytest.mark.parametrize("options", [{}, {"price-seed": "7", "observations": "text_rich"}], ids=["usual", "others"])
def test_every_step_of_the_expert_is_progress(graph: ReferenceGraph, goals: str, options: dict[str, str]) -> None:
    """Neither the wording nor the prices are part of a task: the graph that was built with the usual ones serves."""
    build_graph("webshop", WebShopBuilder((goals,)), graph, options=BuildOptions(limit=60, expand="optimal"))
    world = opened(None, goals=goals, **options)
    built = {task.key for task in graph.tasks()}
    played_ = [rollout for rollout in played(world, "expert", 60) if rollout.task in built]
    assert len({rollout.task for rollout in played_}) >= 59
    labelled = graph.label(RolloutBatch(tuple(played_)))
    for rollout in labelled:
        assert rollout.covered
        labels = [step.label for step in rollout.steps]
        assert all(label is not None and label.reasonable and label.progress for label in labels), rollout.id
        assert [label.drift for label in labels if label is not None] == [0] * len(labels)


def test_the_noisy_policy_wastes_steps_and_its_wins_evolve_the_graph(graph: ReferenceGraph) -> None:
    build_graph("webshop", WebShopBuilder(("human",)), graph, options=BuildOptions(limit=30))
    world = opened(None, goals="human")
    rollouts = RolloutBatch(tuple(played(world, "noisy", 30, size=6)))
    labels = [step.label for rollout in graph.label(rollouts) for step in rollout.steps]
    told = Counter((label.reasonable, label.progress) for label in labels if label is not None)
    assert told[True, True] > 150
    assert told[False, False] > 150
    report = graph.evolve(rollouts, purification="loop_erased", ladder_of=ladder_of_rollout, run="noisy")
    assert report.successes == sum(rollout.success for rollout in rollouts)
    assert report.rejected == ()
    assert graph.verify().ok
    again = graph.label(rollouts)
    won = [step.label for rollout in again for step in rollout.steps if rollout.success]
    kept = sum(label.reasonable for label in won if label is not None)
    assert kept > sum(label.reasonable for label in labels if label is not None) / 2


def test_the_expert_wins_a_thousand_real_goals(webshop_data: Path) -> None:
    wins = 0
    for goals, number in (("human", 13), ("synthetic", 987)):
        world = opened(webshop_data, goals=goals)
        wins += sum(rollout.success for rollout in played(world, "expert", number, size=1))
    assert wins == 1000


def test_goals_of_a_running_original_have_the_keys_of_those_built_here(webshop_data: Path) -> None:
    """All 6,923 goals of the small set, as the original makes them of the same files."""
    world = opened(webshop_data)
    shop = world.shop
    seen: set[str] = set()
    for source in ("human", "synthetic"):
        for goal in build_goals(shop.catalogue, shop.prices, source):
            seen.add(original_goal(_held(goal, source), shop.product(goal.target.asin).options).key)
    assert seen == set(world.tasks)
    assert len(seen) == 6914


def _held(goal: WebShopGoal, source: str) -> dict[str, object]:
    chosen = {group.name: group.wanted for group in goal.target.wanted}
    return {
        "asin": goal.target.asin,
        "instruction_text": goal.text,
        "attributes": list(goal.attributes),
        "goal_options": chosen if source == "synthetic" else list(goal.options),
        "price_upper": goal.price_limit or 1000000,
    }
