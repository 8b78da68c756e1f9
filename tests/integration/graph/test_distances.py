"""Distances to the goal: on a real server, against answers known by heart and against a search in Python."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest

from proas.errors import UsageError
from proas.graph.client import Client
from proas.graph.records import Task, TaskGraph, Transition
from proas.graph.store import ReferenceGraph
from proas.graph.verification import distances_to
from proas.rollouts import RolloutBatch, State
from proas.subgoals import GOAL_REACHED, SEARCHING, generic_ladder


def _far(graph, ask, corridor, task="t"):
    """Distance by place, as the graph itself stores it."""
    rows = ask("MATCH (s:State {graph: $g, task: $t}) RETURN s.key AS k, s.distance AS d", g=graph.name, t=task)
    places = {corridor.state(task, place).key: place for place in range(corridor.length)}
    return {places[row["k"]]: row["d"] for row in rows}


def _violations(graph):
    return graph.verify().violations


def test_a_build_measures(graph, corridor, ask):
    graph.add([corridor.graph("t"), corridor.graph("u", stride=7)])
    assert _far(graph, ask, corridor) == {place: 29 - place for place in range(30)}
    assert _far(graph, ask, corridor, "u") == {0: 5, 7: 4, 14: 3, 21: 2, 28: 1, 29: 0}
    assert not _violations(graph)


def test_more_levels_than_one_statement_spreads_over(graph, ask):
    states = [State.of("line", "long", [f"at {i}"] if i else [GOAL_REACHED]) for i in range(100)]
    edges = tuple(Transition(states[i].key, "on", states[i - 1].key, "plan") for i in range(1, 100))
    task = Task("long", "line", "arrive")
    graph.add([TaskGraph(task, generic_ladder("arrive"), states[99], {s.key: s for s in states}, edges)])
    rows = ask("MATCH (s:State {graph: $g}) RETURN s.key AS k, s.distance AS d", g=graph.name)
    assert {row["k"]: row["d"] for row in rows} == {state.key: i for i, state in enumerate(states)}


def test_a_shortcut_brings_what_lies_before_it_nearer(graph, corridor, ask):
    graph.add([corridor.graph("t")])
    graph.evolve(RolloutBatch((corridor.rollout("r", "t", [0, 5, 29], success=True),)))
    found = _far(graph, ask, corridor)
    assert [found[place] for place in (0, 4, 5, 6, 28)] == [2, 2, 1, 23, 1]
    assert not _violations(graph)


def test_a_layer_brings_states_of_its_base_nearer_and_leaves_the_base_alone(graph, corridor, ask, connection):
    graph.add([corridor.graph("t"), corridor.graph("u")])
    before = _far(graph, ask, corridor)
    layer = ReferenceGraph.create(connection, f"{graph.name}-layer", base=graph.name)
    try:
        layer.evolve(RolloutBatch((corridor.rollout("r", "t", [0, 5, 29], success=True),)))
        assert _far(graph, ask, corridor) == before
        assert not _violations(layer)
        # A walk over states of the base alone reads them nearer, through the layer only.
        walk = RolloutBatch((corridor.rollout("w", "t", [2, 3, 4, 5]), corridor.rollout("v", "u", [2, 3])))
        seen, other = layer.label(walk).rollouts
        assert [(s.distance_before, s.distance) for s in seen.steps] == [(4, 3), (3, 2), (2, 1)]
        assert [(s.distance_before, s.distance) for s in other.steps] == [(27, 26)]
        first, _ = graph.label(walk).rollouts
        assert [(s.distance_before, s.distance) for s in first.steps] == [(27, 26), (26, 25), (25, 24)]
        assert layer.stats().own_states == 0  # copies count as nothing new
        layer.promote()
        assert _far(graph, ask, corridor)[2] == 4
        assert not _violations(graph)
    finally:
        layer.drop()


def test_a_layer_that_learns_nothing_new_still_knows_the_distances(graph, corridor, connection):
    """Its copies of the base's states and transitions, made to count its own support, hide nothing."""
    graph.add([corridor.graph("t", stride=2)])
    layer = ReferenceGraph.create(connection, f"{graph.name}-same", base=graph.name)
    try:
        won = RolloutBatch((corridor.win("a", "t"),))
        assert layer.evolve(won).added_transitions == 0
        for version in (0, 1):
            assert [step.distance for step in layer.label(won, version=version).rollouts[0].steps] == [
                *range(14, -1, -1)
            ]
        assert not _violations(layer)
    finally:
        layer.drop()


def test_a_state_that_leads_nowhere_or_is_unknown_has_no_distance(graph, corridor):
    graph.add([corridor.graph("t", stride=2)])
    labelled = graph.label(RolloutBatch((corridor.rollout("r", "t", [0, 2, 3, 4]),))).rollouts[0]
    assert [(s.distance_before, s.distance) for s in labelled.steps] == [(15, 14), (14, None), (None, 13)]


def test_no_distance_reaches_through_a_state_of_search(graph):
    far = State.of("room", "t", [SEARCHING, "at a"])
    blind = State.of("room", "t", [SEARCHING, "at b"])
    seen = State.of("room", "t", ["seen"])
    goal = State.of("room", "t", [GOAL_REACHED])
    states = [far, blind, seen, goal]
    edges = tuple(Transition(a.key, "go", b.key, "plan") for a, b in pairwise(states))
    task = Task("t", "room", "find")
    graph.add([TaskGraph(task, generic_ladder("find"), far, {s.key: s for s in states}, edges)])
    found = graph.measure()
    assert (found.states, found.measured, found.farthest, found.changed) == (4, 2, 1, 0)
    assert not _violations(graph)


def test_time_travel_gives_what_has_not_changed_since(graph, corridor):
    graph.add([corridor.graph("t")])
    graph.evolve(RolloutBatch((corridor.rollout("r", "t", [0, 5, 29], success=True),)))
    walk = RolloutBatch((corridor.rollout("w", "t", [0, 1, 6, 7]),))
    now = graph.label(walk).rollouts[0].steps
    assert [s.distance for s in now] == [5, 23, 22]
    then = graph.label(walk, version=0).rollouts[0].steps
    assert [s.distance for s in then] == [None, 23, 22]  # place 1 was 28 away; only the current distance is stored


@pytest.mark.parametrize("layered", [False, True])
def test_a_rewind_takes_distances_back(graph, corridor, ask, connection, layered):
    graph.add([corridor.graph("t")])
    run = ReferenceGraph.create(connection, f"{graph.name}-run", base=graph.name) if layered else graph
    try:
        run.evolve(RolloutBatch((corridor.rollout("a", "t", [0, 20, 21, 22, 29], success=True),)))
        before = _far(run, ask, corridor)
        kept = before if not layered else {p: d for p, d in before.items() if d is not None}
        run.evolve(RolloutBatch((corridor.rollout("b", "t", [0, 3, 29], success=True),)))
        assert _far(run, ask, corridor)[0] == 2
        run.rewind(1)
        after = _far(run, ask, corridor)
        assert {place: after[place] for place in kept} == kept
        assert not _violations(run)
    finally:
        if layered:
            run.drop()


def test_measuring_again_changes_nothing_and_mends_what_is_missing(graph, corridor, ask):
    graph.add([corridor.graph("t"), corridor.graph("u")])
    assert graph.measure().changed == 0
    ask("MATCH (s:State {graph: $g}) WHERE s.distance > 3 REMOVE s.distance, s.distance_since", g=graph.name)
    assert {v.rule for v in _violations(graph)} == {"distance"}
    report = graph.measure()
    assert (report.tasks, report.states, report.measured, report.farthest) == (2, 60, 60, 29)
    assert report.changed == 2 * 26
    assert not _violations(graph)


def test_a_wrong_distance_is_found(graph, corridor, ask):
    graph.add([corridor.graph("t")])
    ask("MATCH (s:State {graph: $g}) WHERE s.distance = 7 SET s.distance = 6", g=graph.name)
    assert [v.rule for v in _violations(graph)] == ["distance"]


def test_random_graphs_agree_with_a_search(graph, ask, connection):
    """Bases and layers with cycles, dead ends and shortcuts; every state's distance is that of a search in Python."""
    rng = random.Random(7)
    layer = None
    graphs = []
    for number in range(6):
        task = f"t{number}"
        states = [State.of("maze", task, [f"at {i}"]) for i in range(25)] + [State.of("maze", task, [GOAL_REACHED])]
        pairs = {(rng.randrange(25), rng.randrange(26)) for _ in range(45)}
        edges = [Transition(states[a].key, "go", states[b].key, "plan") for a, b in sorted(pairs) if a != b]
        graphs.append((task, states, edges))
    try:
        for part in (0, 1):
            target = graph
            if part:
                target = layer = ReferenceGraph.create(connection, f"{graph.name}-more", base=graph.name)
            target.add(
                TaskGraph(Task(task, "maze", "out"), generic_ladder("out"), states[0], {s.key: s for s in states}, some)
                for task, states, edges in graphs
                if (some := tuple(edges[part::2]))
            )
        assert layer is not None
        assert {v.rule for shown in (graph, layer) for v in _violations(shown)} <= {"goal-reachable"}
        for task, states, edges in graphs:
            for shown, some in ((graph, edges[0::2]), (layer, edges)):
                true = distances_to({states[-1].key}, [(e.source_state, e.target_state) for e in some], ())
                rows = Client(connection).rows(
                    "label_batch",
                    graph=shown.name,
                    version=None,
                    min_support=1,
                    tasks=[{"key": task, "transitions": [], "places": [s.key for s in states], "rollouts": []}],
                )
                found = {states[i].key: far for i, far in rows[0]["labels"][0][0]}
                assert found == true
    finally:
        if layer is not None:
            layer.drop()


def test_labels_by_support(graph, corridor, connection):
    graph.add([corridor.graph("t", stride=2)])
    layer = ReferenceGraph.create(connection, f"{graph.name}-votes", base=graph.name)
    try:
        layer.evolve(RolloutBatch((corridor.win("a", "t"),)))
        layer.evolve(RolloutBatch((corridor.rollout("b", "t", [0, 1, 2, 29], success=True),)))
        walk = RolloutBatch((corridor.rollout("w", "t", [0, 2, 29, 1, 2]),))

        def reasonable(support):
            one = layer.label(walk, min_support=support).rollouts[0]
            return one.covered and [step.label.reasonable for step in one.steps]

        assert reasonable(1) == [True, True, False, True]
        assert reasonable(2) == [True, False, False, False]  # seen by the plan and by a success of the layer
        assert reasonable(3) is False  # nothing is left of the task: it passes unchanged
        with pytest.raises(UsageError):
            layer.label(walk, min_support=0)
    finally:
        layer.drop()
