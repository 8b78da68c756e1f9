"""Layers: own what they add, see a fixed base, and give back what they learnt once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from proas.errors import GraphConflict, GraphNotFound, UsageError
from proas.graph.rows import StateRow, SubgoalRow, SuccessRow, TaskRow, TransitionRow, VersionRow
from proas.graph.store import ReferenceGraph, list_graphs
from proas.rollouts import Rollout, RolloutBatch


def batch(*rollouts: Rollout) -> RolloutBatch:
    return RolloutBatch(tuple(rollouts))


def everything(graph: ReferenceGraph) -> list[list[object]]:
    kinds = (TaskRow, SubgoalRow, StateRow, TransitionRow, SuccessRow, VersionRow)
    return [list(graph.rows(kind)) for kind in kinds]


@pytest.fixture
def layer(connection, graph, corridor, graph_name):
    graph.add([corridor.graph("t1"), corridor.graph("t2")])
    return ReferenceGraph.create(connection, f"{graph_name[:80]}-run", base=graph.name)


@pytest.fixture
def second(connection, layer, graph, graph_name):
    return ReferenceGraph.create(connection, f"{graph_name[:80]}-run2", base=graph.name)


def test_a_new_layer_reads_its_base(graph, layer):
    assert list(layer.tasks()) == list(graph.tasks())
    assert layer.read("t1") == graph.read("t1")
    assert (layer.info().base, layer.info().base_version, layer.info().version) == (graph.name, 0, 0)
    assert graph.info().layers == (layer.name,)
    stats = layer.stats()
    assert (stats.tasks, stats.states, stats.transitions, stats.subgoals) == (2, 60, 58, 8)
    assert (stats.own_states, stats.own_transitions, stats.base) == (0, 0, graph.name)


def test_evolving_a_layer_leaves_the_base_as_it_is(graph, layer, corridor):
    before = everything(graph)
    report = layer.evolve(batch(corridor.win("w", "t1"), corridor.win("n", "new")))
    assert (report.new_tasks, report.added_transitions) == (1, 14 + 15)
    assert report.added_states == 16
    assert everything(graph) == before
    assert [task.key for task in graph.tasks()] == ["t1", "t2"]
    assert [task.key for task in layer.tasks()] == ["new", "t1", "t2"]
    assert len(layer.read("t1").transitions) == 29 + 14
    stats = layer.stats()
    assert (stats.states, stats.transitions) == (60 + 16, 58 + 29)
    assert (stats.own_states, stats.own_transitions) == (16, 29)
    assert layer.verify().ok
    assert graph.verify().ok


def test_support_of_a_layer_adds_to_that_of_its_base(graph, layer, corridor):
    layer.evolve(batch(corridor.win("w", "t1", 1)))
    assert {edge.support for edge in layer.read("t1").transitions} == {2}
    assert {edge.support for edge in graph.read("t1").transitions} == {1}
    assert layer.verify().ok


def test_layers_do_not_see_each_other(layer, second, corridor):
    layer.evolve(batch(corridor.win("a", "t1", 2)))
    second.evolve(batch(corridor.win("b", "t1", 3)))
    ours, theirs = ({edge.key for edge in one.read("t1").transitions} for one in (layer, second))
    assert len(ours) == 29 + 14
    assert len(theirs) == 29 + 10
    assert ours & theirs == {edge.key for edge in corridor.graph("t1").transitions}


def test_labels_of_a_layer_come_from_the_union(graph, layer, second, corridor):
    walk = corridor.rollout("r", "t1", [0, 1, 3, 5])
    layer.evolve(batch(corridor.rollout("w", "t1", [0, 1, *range(3, corridor.length, 2)], success=True)))
    reasonable = {
        name: [step.label.reasonable for step in one.label(batch(walk)).rollouts[0].steps]
        for name, one in (("base", graph), ("layer", layer), ("second", second))
    }
    assert reasonable == {"base": [True, False, False], "layer": [True, True, True], "second": [True, False, False]}
    at_start = layer.label(batch(walk), version=0).rollouts[0]
    assert [step.label.reasonable for step in at_start.steps] == [True, False, False]


def test_a_layer_keeps_seeing_the_base_of_its_making(graph, layer, corridor):
    def view() -> list[tuple[list[str], set[str]]]:
        read = [layer.read(key) for key in ("t1", "t2")]
        return [(list(one.states), {edge.key for edge in one.transitions}) for one in read]

    seen = view()
    graph.evolve(batch(corridor.win("w", "t1")))
    graph.add([corridor.graph("t3"), corridor.graph("t2", 3)])
    assert view() == seen
    assert [task.key for task in layer.tasks()] == ["t1", "t2"]
    with pytest.raises(GraphNotFound):
        layer.read("t3")
    assert layer.verify().ok
    assert graph.verify().ok


def test_adding_to_a_base_that_a_layer_sees_opens_a_new_version(graph, layer, corridor):
    report = graph.add([corridor.graph("t3")])
    assert report.added_tasks == 1
    assert graph.info().version == 1
    assert len(list(layer.tasks())) == 2
    assert graph.verify().ok


def test_task_graphs_can_be_added_to_a_layer(graph, layer, corridor):
    same = layer.add([corridor.graph("t1")])
    assert (same.added_tasks, same.added_states, same.added_transitions) == (0, 0, 0)
    report = layer.add([corridor.graph("t1", 2), corridor.graph("t9")])
    assert (report.added_tasks, report.added_states, report.added_transitions) == (1, 30, 14 + 29)
    assert layer.verify().ok
    assert len(graph.read("t1").transitions) == 29


def test_promotion_gives_the_base_the_union(graph, layer, corridor):
    layer.evolve(batch(corridor.win("w", "t1"), corridor.win("n", "new")), run="run-1")
    union = {edge.key for edge in layer.read("t1").transitions}
    report = layer.promote()
    assert (report.version_before, report.version) == (0, 1)
    assert (report.added_tasks, report.added_states, report.added_transitions, report.successes) == (1, 16, 29, 2)
    assert {edge.key for edge in graph.read("t1").transitions} == union
    assert {edge.since for edge in graph.read("new").transitions} == {1}
    assert graph.stats(version=0).transitions == 58
    last = graph.read("t1").transitions
    supports = {edge.key: edge.support for edge in last}
    assert supports[corridor.key("t1", 0, 1)] == 1
    assert supports[corridor.key("t1", 28, 29)] == 2
    assert graph.verify().ok
    assert layer.verify().ok


def test_promoting_twice_counts_once(graph, layer, corridor):
    layer.evolve(batch(corridor.win("a", "t1", 1)))
    layer.promote()
    before = everything(graph)
    again = layer.promote()
    assert everything(graph) == before
    assert (again.version_before, again.version, again.successes) == (1, 1, 0)
    layer.evolve(batch(corridor.win("b", "t1", 1)))
    assert layer.promote().successes == 1
    assert {edge.support for edge in graph.read("t1").transitions} == {3}


def test_promotion_keeps_what_builders_added_to_the_layer(graph, layer, corridor):
    layer.add([corridor.graph("t9", source="search")])
    layer.evolve(batch(corridor.win("w", "t9", 1)))
    layer.promote(run="hand-over")
    assert {(edge.source, edge.support) for edge in graph.read("t9").transitions} == {("search", 2)}
    assert [version.run for version in graph.stats().versions] == ["build", "hand-over"]
    assert graph.verify().ok


def test_two_trainers_on_one_base_end_with_the_right_union(graph, layer, second, corridor):
    def train(worker: int) -> None:
        mine = (layer, second)[worker]
        for k in range(5):
            wins = [corridor.win(f"w{worker}-{k}-{task}", task, 2 + worker) for task in ("t1", "t2", f"own{worker}")]
            mine.evolve(batch(*wins), version=k + 1)
        mine.promote()

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(train, range(2)))
    stats = graph.stats()
    assert (stats.tasks, stats.successes, stats.version) == (4, 30, 2)
    assert len(graph.read("t1").transitions) == 29 + 14 + 10 - 0
    support = {edge.key: edge.support for edge in graph.read("t1").transitions}
    assert support[corridor.key("t1", 0, 2)] == 5
    assert support[corridor.key("t1", 0, 3)] == 5
    assert all(one.verify().ok for one in (graph, layer, second))


def test_a_base_with_layers_is_dropped_only_when_forced(graph, layer):
    with pytest.raises(GraphConflict, match=layer.name):
        graph.drop()
    report = graph.drop(force=True)
    assert report.graphs == (layer.name, graph.name)
    assert not layer.exists()


def test_dropping_a_layer_leaves_the_base(graph, layer, corridor):
    layer.evolve(batch(corridor.win("w", "t1")))
    before = everything(graph)
    layer.drop()
    assert everything(graph) == before
    assert graph.info().layers == ()


def test_what_cannot_be_a_layer(connection, graph, layer, graph_name):
    with pytest.raises(UsageError, match="itself a layer"):
        ReferenceGraph.create(connection, f"{graph_name[:80]}-x", base=layer.name)
    assert f"{graph_name[:80]}-x" not in {info.name for info in list_graphs(connection)}
    with pytest.raises(GraphNotFound, match="no-such-base"):
        ReferenceGraph.create(connection, f"{graph_name[:80]}-x", base="no-such-base")
    other = ReferenceGraph.create(connection, f"{graph_name[:80]}-x")
    with pytest.raises(GraphConflict, match="base graph"):
        ReferenceGraph.create(connection, other.name, base=graph.name)
    other.drop()
    with pytest.raises(UsageError, match="over itself"):
        ReferenceGraph.create(connection, graph.name, base=graph.name)
    with pytest.raises(UsageError, match="not a layer"):
        graph.promote()
    assert ReferenceGraph.create(connection, layer.name, base=graph.name).info().base == graph.name


def test_many_making_one_layer_make_one(connection, graph, corridor, graph_name, ask):
    graph.add([corridor.graph("t1")])
    name = f"{graph_name[:80]}-run"

    def make(_: int) -> str:
        return ReferenceGraph.create(connection, name, base=graph.name).info().base

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(make, range(8))) == {graph.name}
    count = "MATCH (g:ARG {name: $n})-[r:LAYER_OF]->() RETURN count(DISTINCT g) AS graphs, count(r) AS over"
    assert ask(count, n=name) == [{"graphs": 1, "over": 1}]
    assert [row.k for row in ReferenceGraph(connection, name).rows(VersionRow)] == [0]
