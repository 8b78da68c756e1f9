"""Rewinding: a graph that went back is the graph that it was."""

from __future__ import annotations

from dataclasses import replace

import pytest

from proas.errors import GraphConflict, GraphNotFound
from proas.graph.records import Task
from proas.graph.store import ReferenceGraph
from proas.rollouts import RolloutBatch


def _content(graph: ReferenceGraph) -> list[object]:
    """All that the graph says of itself, but for the time of day."""
    stats = graph.stats()
    versions = tuple(replace(version, at="") for version in stats.versions)
    return [replace(stats, versions=versions), graph.info().version, *graph.iter_task_graphs(), *graph.tasks()]


def _walk(corridor, name, task, places):
    return corridor.rollout(name, task, places, success=True)


@pytest.fixture
def layer(graph, connection, corridor):
    graph.add([corridor.graph("seeded")])
    return ReferenceGraph.create(connection, f"{graph.name}.run", base=graph.name)


def test_it_is_what_it_was(layer, corridor):
    strides = [*range(0, 29, 2), 29]
    layer.evolve(
        RolloutBatch((_walk(corridor, "a", "seeded", strides), _walk(corridor, "b", "new", strides))), version=1
    )
    before = _content(layer)
    one = range(30)
    layer.evolve(RolloutBatch((_walk(corridor, "c", "seeded", strides), _walk(corridor, "d", "new", one))), version=2)
    layer.evolve(RolloutBatch((_walk(corridor, "e", "newest", one), _walk(corridor, "f", "seeded", one))), version=5)
    assert _content(layer) != before
    report = layer.rewind(1)
    assert (report.version_before, report.version, report.successes) == (5, 1, 4)
    assert report.transitions > 0
    assert _content(layer) == before
    assert layer.verify().ok


def test_what_was_forgotten_can_be_learnt_again(layer, corridor):
    batch = RolloutBatch((_walk(corridor, "a", "new", range(30)),))
    layer.evolve(batch, version=1)
    learnt = _content(layer)
    layer.rewind(0)
    assert Task("new", "corridor", "reach the end") not in list(layer.tasks())
    report = layer.evolve(batch, version=1)
    assert (report.successes, report.known) == (1, 0)
    assert _content(layer) == learnt


def test_to_the_version_that_it_has_changes_nothing(layer, corridor):
    layer.evolve(RolloutBatch((_walk(corridor, "a", "new", range(30)),)))
    before = _content(layer)
    report = layer.rewind(1)
    assert (report.successes, report.states, report.transitions) == (0, 0, 0)
    assert _content(layer) == before


def test_a_version_that_is_not_there(layer):
    for version in (-1, 1):
        with pytest.raises(GraphNotFound, match="no version"):
            layer.rewind(version)


def test_not_under_a_layer(graph, layer):
    with pytest.raises(GraphConflict, match="has the layers"):
        graph.rewind(0)


def test_a_graph_that_went_back_is_not_whole_any_more(graph, corridor):
    assert not graph.info().whole
    graph.evolve(RolloutBatch((_walk(corridor, "a", "new", range(30)),)))
    graph.mark_whole()
    graph.rewind(1)
    assert graph.info().whole
    graph.rewind(0)
    assert not graph.info().whole


def test_only_a_graph_that_is_there_is_marked(connection, graph_name):
    with pytest.raises(GraphNotFound):
        ReferenceGraph(connection, graph_name).mark_whole()
