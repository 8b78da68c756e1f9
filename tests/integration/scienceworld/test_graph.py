"""Graphs of planned solutions in a real database: whole, verified, and followed by rollouts."""

from __future__ import annotations

from contextlib import closing

import pytest

from proas.envs.collect import CollectSettings, collect
from proas.envs.scienceworld import ScienceWorldWorld
from proas.graph.store import ReferenceGraph
from proas.graph_builders import BuildOptions, build_graph
from proas.graph_builders.base import Built
from proas.graph_builders.scienceworld import ScienceWorldBuilder, build_task
from proas.rollouts import Rollout, RolloutBatch
from proas.states import follower_for


def test_planned_solutions_make_a_sound_graph(graph: ReferenceGraph, world: ScienceWorldWorld) -> None:
    builder = ScienceWorldBuilder("find-non-living-thing", 3)
    assert builder.count(None, BuildOptions()) == 3
    report = build_graph("scienceworld", builder, graph, options=BuildOptions(limit=2))
    assert (report.tasks, report.rejects, report.considered) == (2, (), 2)
    assert graph.verify().ok
    again = build_graph("scienceworld", builder, graph, options=BuildOptions(limit=2))
    assert (again.skipped, again.added_states, again.added_transitions) == (2, 0, 0)
    keys = [f"find-non-living-thing/{number}" for number in range(2)]
    played = {
        policy: [
            rollout
            for rollout in collect(world, keys, CollectSettings(policy=policy, group_size=2), follower_for)
            if isinstance(rollout, Rollout)
        ]
        for policy in ("expert", "random")
    }
    share = {}
    for policy, rollouts in played.items():
        steps = [step for rollout in graph.label(RolloutBatch(tuple(rollouts))) for step in rollout.steps]
        share[policy] = sum(step.seeks or (step.label is not None and step.label.reasonable) for step in steps) / len(
            steps
        )
    assert share["expert"] == 1.0
    assert share["random"] < 0.7


@pytest.mark.parametrize(
    "key",
    [
        "find-animal/4",  # its plan depends on the order of a set
        pytest.param("test-conductivity/1", marks=pytest.mark.slow),  # its plan walks through the rooms
    ],
)
def test_a_graph_does_not_depend_on_what_was_built_before(world: ScienceWorldWorld, key: str) -> None:
    build_task(world, "find-plant/1")
    first = build_task(world, key)
    with closing(ScienceWorldWorld()) as fresh:
        second = build_task(fresh, key)
    assert isinstance(first, Built)
    assert first == second
