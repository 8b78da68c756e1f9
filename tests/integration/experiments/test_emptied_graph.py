"""The control ``graph_emptied``: a graph that holds one iteration's successes and what lies under it, no more."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from proas.envs import EnvSpec, open_world
from proas.envs.alfworld.generator import generate
from proas.envs.collect import CollectSettings, collect
from proas.graph import Connection, ReferenceGraph
from proas.rollouts import Rollout, RolloutBatch
from proas.shaping import preset
from proas.states import follower_for
from proas.training.graph_loop import GraphLoop


@pytest.fixture(scope="module")
def successes(tmp_path_factory: pytest.TempPathFactory) -> list[Rollout]:
    """One expert rollout of each of three games."""
    folder: Path = tmp_path_factory.mktemp("emptied")
    for trial in generate(3, seed=5):
        trial.write(folder)
    with closing(open_world(EnvSpec("alfworld", folder))) as world:
        played = collect(world, world.tasks, CollectSettings(group_size=1), follower_for)
        return [rollout for rollout in played if isinstance(rollout, Rollout)]


@pytest.fixture
def layer(graph: ReferenceGraph, connection: Connection, successes: list[Rollout]) -> Iterator[ReferenceGraph]:
    """A layer over a graph that knows the third game."""
    GraphLoop(graph, preset("membership"), "base").iterate(RolloutBatch((successes[2],)), 1)
    made = ReferenceGraph.create(connection, f"{graph.name}-layer", base=graph.name)
    yield made
    made.drop()


def coverage(loop: GraphLoop, rollout: Rollout) -> float:
    """Whether the graph knows a rollout's task."""
    return sum(label.label is not None for label in loop.graph.label(RolloutBatch((rollout,))).rollouts[0].steps[:1])


@pytest.mark.parametrize(("emptied", "remembered"), [(True, 0), (False, 1)])
def test_an_emptied_graph_knows_one_iteration_and_its_base(
    emptied: bool, remembered: int, layer: ReferenceGraph, successes: list[Rollout]
) -> None:
    loop = GraphLoop(layer, preset("membership"), "run", emptied=emptied)
    first, second, known = successes
    assert loop.iterate(RolloutBatch((first,)), 1).metrics["proas/graph/coverage"] == 1.0
    assert loop.iterate(RolloutBatch((second,)), 2).metrics["proas/graph/coverage"] == 1.0
    assert coverage(loop, first) == remembered
    assert (coverage(loop, second), coverage(loop, known)) == (1, 1)
    assert layer.info().version == 2


def test_an_emptied_graph_goes_back_as_any_other(layer: ReferenceGraph, successes: list[Rollout]) -> None:
    loop = GraphLoop(layer, preset("membership"), "run", emptied=True)
    for iteration, rollout in enumerate(successes[:2], start=1):
        loop.iterate(RolloutBatch((rollout,)), iteration)
    loop.go_back_to(1)
    again = loop.iterate(RolloutBatch((successes[1],)), 2)
    assert again.growth is not None
    assert (again.growth.version, again.metrics["proas/graph/coverage"]) == (2, 1.0)
