"""Builders by name, open to plug-ins, and the one that lets an environment's expert seed its graphs."""

from __future__ import annotations

import pytest

from proas import graph_builders
from proas.envs import EnvSpec
from proas.errors import UsageError
from proas.graph_builders import BuildOptions, Built, builder, builder_names, register, register_expert
from proas.graph_builders.expert import ExpertBuilder, merged
from proas.rollouts import Rollout, State, Step
from proas.subgoals import GOAL_REACHED


@pytest.fixture(autouse=True)
def table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graph_builders, "_BUILDERS", dict(graph_builders._BUILDERS))


def test_a_name_is_taken_once() -> None:
    register_expert("mine")
    assert "mine" in builder_names()
    assert isinstance(builder("mine"), ExpertBuilder)
    with pytest.raises(UsageError, match="'mine' is registered already"):
        register_expert("mine")
    with pytest.raises(UsageError, match="'webshop' is registered already"):
        register("webshop", lambda: ExpertBuilder(EnvSpec("webshop")))
    with pytest.raises(UsageError, match="no builder is called 'yours'"):
        builder("yours")


def test_the_expert_of_a_known_environment_builds_as_its_own_builder_does() -> None:
    """WebShop's lattice holds every order of the options; its expert's games are ways through it."""
    options = BuildOptions(limit=12, expand="optimal")
    lattice = {answer.task: answer for answer in builder("webshop").build(None, options)}
    played = list(ExpertBuilder(EnvSpec("webshop", options={"goals": "human"})).build(None, options))
    assert len(played) == 12
    shared = 0
    for answer in played:
        assert isinstance(answer, Built)
        assert answer.source == "plan"
        whole = lattice.get(answer.task)
        if isinstance(whole, Built):
            shared += 1
            assert answer.graph.start == whole.graph.start
            assert answer.graph.ladder == whole.graph.ladder
            assert {edge.key for edge in answer.graph.transitions} <= {edge.key for edge in whole.graph.transitions}
    assert shared >= 10


def test_an_environment_that_is_not_known_is_told() -> None:
    with pytest.raises(UsageError, match="no environment is called"):
        ExpertBuilder(EnvSpec("no-such-thing")).count(None, BuildOptions())


def _won(name: str, start: str) -> Rollout:
    states = [State.of("e", "t", facts) for facts in ((start,), (GOAL_REACHED,))]
    step = Step(action="go", canonical="go", state=states[1], valid=True)
    return Rollout(id=name, env="e", task="t", goal="g", start=states[0], steps=(step,), success=True)


def test_wins_are_merged_with_their_support() -> None:
    graph = merged([_won("1", "here"), _won("2", "here")])
    assert [(edge.support, edge.source) for edge in graph.transitions] == [(2, "plan")]
    assert (len(graph.states), graph.ladder.last) == (2, 1)
    with pytest.raises(ValueError, match="start in 2 different states"):
        merged([_won("1", "here"), _won("2", "there")])
