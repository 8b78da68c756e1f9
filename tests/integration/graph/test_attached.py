"""Rollouts attached to a graph: tied to what they visited, counted once, and unseen by everything else."""

from __future__ import annotations

from typing import Any

import pytest

from proas.errors import GraphNotFound, UsageError
from proas.graph.attached import MOST_STEPS
from proas.graph.client import Client
from proas.graph.painting import paint, tasks_to_look_at, unpaint
from proas.graph.rows import ORDER
from proas.graph.store import ReferenceGraph
from proas.rollouts import Label, Rollout, RolloutBatch

pytestmark = pytest.mark.neo4j

# Names as the paths of files, with quotes, back-ticks and line breaks.
TASK = "walk/`a`\n\"b\" 'c'"


@pytest.fixture
def walked(graph: ReferenceGraph, corridor) -> list[Rollout]:
    """A graph of one way in strides of three, and three labelled rollouts: along it, off it, and nowhere."""
    graph.add([corridor.graph(TASK, 3)])
    batch = RolloutBatch(
        (
            corridor.win(f"{TASK}#0", TASK, 3),
            corridor.rollout(f"{TASK}#1", TASK, [0, 3, 4, 5, 4, 5, 6, 9, 6, 6], invalid=[8]),
            corridor.rollout(f"{TASK}#2", TASK, [0]),
        )
    )
    return list(graph.label(batch))


def everything(graph: ReferenceGraph) -> dict[str, Any]:
    """All that exports, counts and verification read."""
    rows = {kind.__name__: list(graph.rows(kind)) for kind in ORDER}
    report = graph.verify()
    return {"rows": rows, "stats": graph.stats(), "ok": report.ok, "tasks": list(graph.iter_task_graphs())}


def test_steps_point_at_the_states_that_they_reached(graph, walked, ask):
    report = graph.attach(walked, run="first")
    assert (report.rollouts, report.known, report.rejected) == (3, 0, ())
    assert report.steps == sum(len(rollout.steps) for rollout in walked)
    for rollout in walked:
        found = ask(
            "MATCH (:Rollout {graph: $graph, id: $id})-[s]->(p) "
            "RETURN type(s) AS type, s {.*} AS s, p.key AS place, labels(p)[0] AS label ORDER BY s.t",
            graph=graph.name,
            id=rollout.id,
        )
        assert [row["place"] for row in found] == list(rollout.state_keys)
        assert [row["s"]["t"] for row in found] == list(range(len(rollout.steps) + 1))
        assert found[0]["type"] == "STEP_START"
        for step, row in zip(rollout.steps, found[1:], strict=True):
            assert step.label is not None
            said = Label(reasonable=row["s"]["re"], progress=row["s"]["pa"], drift=row["s"]["drift"])
            assert said == Label(reasonable=step.label.reasonable, progress=step.label.progress, drift=step.label.drift)
            kind = "PROGRESS" if said.progress else "AGAIN" if said.reasonable else "ASTRAY"
            assert row["type"] == f"STEP_{kind}"
            assert row["s"]["action"] == step.canonical


def test_states_off_the_graph_are_strays_and_ways_off_it_are_counted(graph, walked, corridor, ask):
    assert graph.attach(walked).strays == 2
    strays = ask(
        "MATCH (p:Stray {graph: $graph}) RETURN p.name AS name, p.task AS task ORDER BY name", graph=graph.name
    )
    assert [row["name"] for row in strays] == ["at place 4", "at place 5"]
    ways = ask(
        "MATCH (a)-[d:DETOUR {graph: $graph}]->(b) RETURN a.name AS a, d.action AS action, b.name AS b, d.times AS n, "
        "d.rollouts AS rollouts ORDER BY a, b",
        graph=graph.name,
    )
    assert [(way["a"], way["b"], way["n"], way["rollouts"]) for way in ways] == [
        ("at place 3", "at place 4", 1, 1),
        ("at place 4", "at place 5", 2, 1),
        ("at place 5", "at place 4", 1, 1),
        ("at place 5", "at place 6", 1, 1),
        ("at place 9", "at place 6", 1, 1),
    ]  # the refused step from 6 to 6 is none


def test_attaching_again_changes_nothing_and_new_labels_take_the_place(graph, walked, ask):
    def stored() -> list[dict[str, Any]]:
        return ask(
            "MATCH (r:Rollout {graph: $graph}) OPTIONAL MATCH (r)-[s]->(p) WITH r, s, p ORDER BY s.t "
            "RETURN r.key AS key, collect([type(s), s.t, p.key]) AS steps, "
            "COUNT { MATCH ()-[d:DETOUR {graph: $graph}]->() } AS ways, "
            "COLLECT { MATCH ()-[d:DETOUR {graph: $graph}]->() RETURN d.times ORDER BY d.key } AS times ORDER BY key",
            graph=graph.name,
        )

    graph.attach(walked)
    before = stored()
    again = graph.attach(walked)
    assert (again.rollouts, again.known) == (0, 3)
    assert stored() == before
    relabelled = [rollout.model_copy(update={"version": 7}) for rollout in walked]
    newer = graph.attach(relabelled)
    assert (newer.rollouts, newer.replaced, newer.known) == (3, 3, 0)
    assert stored() == before
    assert {one.version for one in graph.attached()} == {7}


def test_it_is_bounded(graph, walked, corridor):
    report = graph.attach(walked, most=2)
    assert (report.rollouts, report.left_out) == (2, 1)
    assert graph.attach(walked, most=2).left_out == 1
    long = graph.label(RolloutBatch((corridor.rollout("long", TASK, [0, 1] * (MOST_STEPS // 2 + 1)),)))
    (reject,) = graph.attach(list(long)).rejected
    assert str(f"{MOST_STEPS:,}") in reject.reason


def test_what_cannot_be_attached_is_kept_aside_with_its_reason(graph, walked, corridor):
    bare = corridor.win("bare", TASK)
    elsewhere = next(iter(graph.label(RolloutBatch((corridor.win("elsewhere", "unknown task"),)))))
    stateless = Rollout(id="stateless", env="corridor", task=TASK, success=False)
    claimed = elsewhere.model_copy(update={"id": "claimed", "covered": True, "steps": ()})
    report = graph.attach([bare, elsewhere, stateless, claimed])
    assert report.rollouts == 0
    assert {reject.id: reject.reason for reject in report.rejected} == {
        "bare": "a step carries no label: label it first",
        "elsewhere": "the graph does not know its task",
        "stateless": "it carries no states",
        "claimed": "the graph does not know its task",
    }
    with pytest.raises(GraphNotFound):
        ReferenceGraph(graph.connection, "nobody-made-this").attach(walked)


def test_pruning_leaves_what_others_reach(graph, walked, corridor, ask):
    other = list(graph.label(RolloutBatch((corridor.rollout("other", TASK, [0, 3, 4, 7]),))))
    graph.attach(walked)
    graph.attach([one.model_copy(update={"version": 3}) for one in other])
    with pytest.raises(UsageError):
        graph.prune()
    with pytest.raises(UsageError):
        graph.prune(keep=1, everything=True)
    report = graph.prune(before=3)
    assert (report.rollouts, report.left) == (3, 1)
    ways = ask("MATCH (a)-[d:DETOUR {graph: $graph}]->(b) RETURN d.times AS n, b.name AS b", graph=graph.name)
    assert sorted((way["b"], way["n"]) for way in ways) == [("at place 4", 1), ("at place 7", 1)]
    strays = ask("MATCH (p:Stray {graph: $graph}) RETURN p.name AS name ORDER BY name", graph=graph.name)
    assert [row["name"] for row in strays] == ["at place 4", "at place 7"]
    graph.attach(walked)
    assert graph.prune(keep=2).left == 2
    assert graph.prune(everything=True).left == 0
    assert ask("MATCH (n:Rollout|Stray {graph: $graph}) RETURN n", graph=graph.name) == []
    assert ask("MATCH ()-[d:DETOUR {graph: $graph}]->() RETURN d", graph=graph.name) == []


def test_a_layer_s_rollouts_hang_on_the_base_and_go_with_the_layer(graph, graph_name, walked, corridor, ask):
    layer = ReferenceGraph.create(graph.connection, f"{graph_name}-run", base=graph.name)
    before = everything(graph)
    layer.evolve(RolloutBatch((corridor.win("new", TASK, 2),)))
    labelled = list(layer.label(RolloutBatch(tuple(walked)), version=1))
    layer.attach(labelled)
    homes = ask(
        "MATCH (:Rollout {graph: $layer})-->(s:State) RETURN DISTINCT s.graph AS graph ORDER BY graph", layer=layer.name
    )
    assert [row["graph"] for row in homes] == sorted([graph.name, layer.name])
    assert everything(graph) == before
    layer.drop()
    left = ask("MATCH (n {graph: $layer}) RETURN n", layer=layer.name)
    left += ask("MATCH ()-[d:DETOUR {graph: $layer}]->() RETURN d", layer=layer.name)
    assert left == []
    assert everything(graph) == before


def test_labels_evolution_verification_counts_and_exports_do_not_see_it(graph, graph_name, walked, corridor, client):
    """Two graphs, one with rollouts and paint: whatever is done to both comes out the same."""
    twin = ReferenceGraph.create(graph.connection, f"{graph_name}-twin")
    twin.add([corridor.graph(TASK, 3)])
    try:
        graph.attach(walked)
        painted = paint(client, graph.name, tasks_to_look_at(client, graph.name))
        assert painted.marks == sum(1 for task in twin.iter_task_graphs() for _ in task.transitions)
        for k in range(3):
            one, other = everything(graph), everything(twin)
            for seen in (one, other):
                seen["rows"].pop("VersionRow")  # made at another moment
                seen["rows"].pop("GraphRow")
                seen["stats"] = (seen["stats"].states, seen["stats"].transitions, seen["stats"].successes)
            assert one == other
            batch = RolloutBatch((corridor.win(f"w{k}", TASK, k + 1), *walked))
            assert [r.model_dump(exclude={"graph"}) for r in graph.label(batch.__class__((batch.rollouts[0],)))] == [
                r.model_dump(exclude={"graph"}) for r in twin.label(batch.__class__((batch.rollouts[0],)))
            ]
            made, same = graph.evolve(batch), twin.evolve(batch)
            assert (made.version, made.added_states, made.added_transitions) == (
                same.version,
                same.added_states,
                same.added_transitions,
            )
        graph.rewind(1)
        twin.rewind(1)
        assert [r.key for r in graph.rows(ORDER[5])] == [r.key for r in twin.rows(ORDER[5])]
        assert graph.verify().ok
    finally:
        twin.drop(force=True)


def test_paint_tells_order_source_age_and_support_and_comes_off(graph, corridor, client: Client, ask):
    graph.add([corridor.graph("t", 3), corridor.graph("u", 5)])
    for k in range(5):
        graph.evolve(RolloutBatch((corridor.win(f"a{k}", "t", 3),)))
    graph.evolve(RolloutBatch((corridor.win("b", "t", 2),)))
    before = everything(graph)
    sizes = tasks_to_look_at(client, graph.name)
    assert [size.key for size in sizes] == ["t", "u"]
    for _ in range(2):
        report = paint(client, graph.name, sizes)
        orders = ask(
            "MATCH (m:Subgoal {graph: $graph, task: 't'}) RETURN labels(m) AS labels ORDER BY m.index", graph=graph.name
        )
        assert [min(row["labels"]) for row in orders] == ["Order0", "Order1", "Order2", "OrderGoal"]
        marks = ask(
            "MATCH (a:State {graph: $graph})-[x]->() WHERE x.marks IS NOT NULL "
            "RETURN type(x) AS type, x.since AS since, x.support AS support, x.task AS task",
            graph=graph.name,
        )
        assert len(marks) == report.marks == graph.stats().transitions
        assert {row["type"] for row in marks if row["task"] == "u"} == {"BUILT_ONCE"}
        assert {row["type"] for row in marks if row["task"] == "t"} == {"BUILT_OFTEN", "NEWEST_ONCE"}
        assert everything(graph) == before
    sources = ask("MATCH (s:State:FromRollout {graph: $graph}) RETURN count(s) AS n", graph=graph.name)
    assert sources[0]["n"] == sum(1 for row in graph.rows(ORDER[4]) if row.source == "rollout")
    assert len(paint(client, graph.name, sizes, most=1).tasks) == 1
    unpaint(client, graph.name)
    bare = ask("MATCH (n {graph: $graph}) WHERE size(labels(n)) > 1 RETURN n", graph=graph.name)
    assert bare == []
    assert not ask("MATCH (:State {graph: $graph})-[x]->() WHERE x.marks IS NOT NULL RETURN x", graph=graph.name)
    assert everything(graph) == before
