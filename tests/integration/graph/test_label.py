"""Labels: equal to their definition, as of a version, in one round trip."""

from __future__ import annotations

import pickle
import random

import pytest

from proas.errors import GraphNotFound, GraphUnavailable
from proas.graph.client import Transaction
from proas.graph.connect import Connection
from proas.graph.reports import LabelReport
from proas.graph.store import ReferenceGraph
from proas.rollouts import Label, Rollout, RolloutBatch


def by_definition(rollout: Rollout, edges: set[str]) -> list[Label]:
    """Re, PA and D word for word as they are defined."""
    states, keys = rollout.state_keys, rollout.transition_keys
    re = [key in edges for key in keys]
    pa = [re[t] and states[t + 1] not in set(states[: t + 1]) for t in range(len(keys))]
    return [Label(reasonable=re[t], progress=pa[t], drift=sum(not p for p in pa[t:])) for t in range(len(keys))]


def labels(rollout: Rollout) -> list[Label]:
    return [step.label for step in rollout.steps if step.label is not None]


def test_a_worked_example(graph, corridor):
    graph.add([corridor.graph("t1")])
    walk = corridor.rollout("r", "t1", [0, 1, 1, 2, 1, 2, 3, 9])
    [labelled] = graph.label(RolloutBatch((walk,)))
    assert labelled.covered
    assert (labelled.graph, labelled.version) == (graph.name, 0)
    said = [(label.reasonable, label.progress, label.drift) for label in labels(labelled)]
    assert said == [
        (True, True, 4),  # 0 to 1: an edge, new
        (False, False, 4),  # stays
        (True, True, 3),  # 1 to 2
        (False, False, 3),  # 2 to 1 is no edge
        (True, False, 2),  # 1 to 2 again: an edge, but visited
        (True, True, 1),  # 2 to 3
        (False, False, 1),  # 3 to 9 is no edge
    ]


def test_labels_are_their_definition(graph, corridor):
    rng = random.Random(7)
    tasks = [f"t{i}" for i in range(5)]
    graph.add([corridor.graph(task, stride) for stride in (1, 2) for task in tasks[:4]])
    edges = {t.key for task in tasks[:4] for t in graph.read(task).transitions}
    walks = []
    for i in range(60):
        places = [0]
        for _ in range(rng.randrange(40)):
            near = (places[-1] + rng.choice((0, 1, 1, 2, -1))) % corridor.length
            places.append(near if rng.random() < 0.8 else rng.randrange(corridor.length))
        walks.append(corridor.rollout(f"r{i}", rng.choice(tasks), places))
    batch = RolloutBatch(tuple(walks))
    labelled = graph.label(batch)
    assert [r.id for r in labelled] == [r.id for r in batch]
    for rollout in labelled:
        assert rollout.covered is (rollout.task != "t4")
        assert labels(rollout) == (by_definition(rollout, edges) if rollout.covered else [])
    report = LabelReport.of(labelled)
    assert report.rollouts == 60
    assert report.covered + report.uncovered == 60
    assert report.reasonable == sum(label.reasonable for r in labelled for label in labels(r))


def test_one_statement_for_the_whole_batch(graph, corridor, monkeypatch):
    graph.add([corridor.graph(f"t{i}") for i in range(4)])
    graph.exists()
    asked = []
    rows = Transaction.rows
    monkeypatch.setattr(Transaction, "rows", lambda tx, name, **p: asked.append(name) or rows(tx, name, **p))
    graph.label(RolloutBatch(tuple(corridor.win(f"r{i}", f"t{i % 4}") for i in range(12))))
    assert asked == ["label_batch"]


def test_a_batch_may_be_empty_and_so_may_a_rollout(graph, corridor):
    graph.add([corridor.graph("t1")])
    assert len(graph.label(RolloutBatch(()))) == 0
    [still] = graph.label(RolloutBatch((corridor.rollout("r", "t1", [0]),)))
    assert still.covered
    assert still.steps == ()


def test_rollouts_that_cannot_be_labelled_are_marked_and_counted(graph, corridor):
    graph.add([corridor.graph("t1")])
    bare = Rollout.model_validate(
        {"id": "bare", "env": "corridor", "task": "t1", "steps": [{"action": "x"}], "success": False}, strict=False
    )
    unknown = corridor.win("unknown", "never seen")
    labelled = graph.label(RolloutBatch((bare, unknown, corridor.win("known", "t1"))))
    assert [r.covered for r in labelled] == [False, False, True]
    assert [labels(r) for r in labelled][:2] == [[], []]
    report = LabelReport.of(labelled)
    assert (report.covered, report.uncovered, report.stateless) == (1, 2, 1)
    assert report.metrics()["proas/graph/coverage"] == pytest.approx(1 / 3)


def test_labels_as_of_a_version(graph, corridor):
    graph.add([corridor.graph("t1")])
    win = corridor.win("w", "t1")
    graph.evolve(RolloutBatch((win,)))
    old, new = (graph.label(RolloutBatch((win,)), version=k).rollouts[0] for k in (0, 1))
    assert [label.reasonable for label in labels(old)] == [False] * 14 + [True]
    assert all(label.reasonable for label in labels(new))
    assert graph.label(RolloutBatch((win,))).rollouts[0].version == 1
    for wrong in (2, -1):
        with pytest.raises(GraphNotFound, match="no version"):
            graph.label(RolloutBatch((win,)), version=wrong)


def test_a_task_is_uncovered_before_the_version_that_brought_it(graph, corridor):
    win = corridor.win("w", "t1")
    graph.evolve(RolloutBatch((win,)))
    assert [graph.label(RolloutBatch((win,)), version=k).rollouts[0].covered for k in (0, 1)] == [False, True]


def test_no_such_graph(connection, corridor):
    with pytest.raises(GraphNotFound, match="nowhere"):
        ReferenceGraph(connection, "nowhere").label(RolloutBatch((corridor.win("w", "t1"),)))


def test_no_server(corridor, connection):
    nobody = Connection("bolt://127.0.0.1:9", connection.password, connect_deadline=0.2)
    graph = ReferenceGraph(nobody, "g")
    batch = RolloutBatch((corridor.win("w", "t1"),))
    with pytest.raises(GraphUnavailable, match=r"127\.0\.0\.1:9"):
        graph.label(batch)
    passed = graph.label(batch, on_failure="passthrough")
    assert [r.covered for r in passed] == [False]
    assert LabelReport.of(passed).passed_through
    assert LabelReport.of(passed).metrics()["proas/graph/passed_through"] == 1.0


def test_a_graph_object_travels_to_a_worker(graph, corridor):
    graph.add([corridor.graph("t1")])
    there = pickle.loads(pickle.dumps(graph))
    assert there.label(RolloutBatch((corridor.win("w", "t1"),))).rollouts[0].covered


def test_a_very_long_rollout(graph, corridor):
    graph.add([corridor.graph("t1")])
    places = [0, *([1, 2] * 10_000)]
    [labelled] = graph.label(RolloutBatch((corridor.rollout("long", "t1", places),)))
    assert labels(labelled)[0] == Label(reasonable=True, progress=True, drift=19_998)
    assert labels(labelled)[-1].drift == 1
