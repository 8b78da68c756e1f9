"""The worked example, checked as its page says that one checks one's own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from proas.conformance import CHECKS, Conformance
from proas.envs import EnvSpec, env_names, open_world
from proas.envs.collect import CollectSettings, collect
from proas.graph_builders import BuildOptions, Built, builder, builder_names
from proas.rollouts import Rollout
from proas.states import follower_for
from proas.subgoals import GOAL_REACHED
from tests.support.plugins import EXAMPLES, plugged


@pytest.fixture(scope="module")
def suite() -> Iterator[Conformance]:
    with plugged("vault"), Conformance("vault", tasks=6) as made:
        yield made


@pytest.mark.parametrize("name", CHECKS)
def test_the_example_conforms(suite: Conformance, name: str) -> None:
    suite.require(name)


def test_it_takes_less_than_a_hundred_lines() -> None:
    lines = (EXAMPLES / "vault.py").read_text(encoding="utf-8").splitlines()
    assert len(lines) < 100
    assert max(map(len, lines)) <= 120


def test_nothing_of_a_plug_in_stays_behind() -> None:
    before = env_names(), builder_names()
    with plugged("broken_vaults", folders=(Path(__file__).parent, EXAMPLES)):
        assert "sound-vault" in env_names()
    assert (env_names(), builder_names()) == before


def test_either_gem_first_is_the_same_ladder(suite: Conformance) -> None:
    """Order-free subgoals: the expert takes the gems in either order, and every step of either is on the graph."""
    world = open_world(EnvSpec("vault"))
    settings = CollectSettings(policy="expert", group_size=12)
    firsts = set()
    for made in collect(world, world.tasks[:3], settings, follower_for):
        assert isinstance(made, Rollout)
        taken = [step.canonical for step in made.steps if step.canonical in ("take pearl", "take ruby")]
        firsts.add(taken[0])
        assert made.steps[-1].state is not None
        assert GOAL_REACHED in made.steps[-1].state.facts
    assert firsts == {"take pearl", "take ruby"}


def test_its_expert_seeds_graphs(suite: Conformance) -> None:
    made = builder("vault")
    assert made.count(None, BuildOptions(limit=5)) == 5
    plans = list(made.build(None, BuildOptions(limit=5)))
    every = list(made.build(None, BuildOptions(limit=5, expand="optimal")))
    for plan, more in zip(plans, every, strict=True):
        assert isinstance(plan, Built)
        assert isinstance(more, Built)
        assert set(plan.graph.states) <= set(more.graph.states)
        assert more.tallies == {"attempts": 8, "wins": 8}
        assert max(edge.support for edge in more.graph.transitions) >= 4
        assert more.graph.ladder.last == 3
        climbs = [plan.graph.subgoal_of[edge.target_state] for edge in plan.graph.transitions]
        assert climbs == sorted(climbs)
    assert sum(len(one.graph.transitions) for one in every if isinstance(one, Built)) > sum(
        len(one.graph.transitions) for one in plans if isinstance(one, Built)
    )
