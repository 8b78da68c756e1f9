"""Uses of the graph beside labels: where rollouts begin, and what tasks without a graph take from others."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from proas.envs import EnvSpec, open_world
from proas.envs.collect import play
from proas.errors import UsageError
from proas.graph import Connection, ReferenceGraph
from proas.graph.fallback import LiftedReport, label_with_fallback
from proas.graph.records import TaskGraph
from proas.graph.rows import SuccessRow
from proas.graph.ways import shortest_ways
from proas.graph_builders import BuildOptions, build_graph, builder
from proas.graph_builders.lifting import lift_graph
from proas.rollouts import RolloutBatch
from proas.shaping import preset as shaping_preset
from proas.states import follower_for
from proas.states.lifting import LIFTED, lift_rollouts
from proas.training.checkpoint import Checkpoint, latest_checkpoint
from tests.integration.training.runs import Plug, Stop, run, settings, told


@pytest.fixture
def base(games: Path, connection: Connection, graph_name: str) -> Iterator[ReferenceGraph]:
    """The games' own graph, as a builder makes it."""
    made = ReferenceGraph.create(connection, f"{graph_name}-base")
    build_graph("alfworld", builder("alfworld"), made, data=games, options=BuildOptions(expand="optimal"))
    yield made
    made.drop(force=True)


def test_ways_lead_to_the_goal_through_base_and_layer(
    base: ReferenceGraph,
    connection: Connection,
    names: list[str],
    games: Path,
) -> None:
    layer = ReferenceGraph.create(connection, names[0], base=base.name)
    tasks = [task.key for task in base.tasks()]
    ways = shortest_ways(layer, [*tasks, "no such task"])
    assert ways == shortest_ways(base, tasks)
    assert set(ways) == set(tasks)
    for task, way in ways.items():
        graph = base.read(task)
        edges = {(t.source_state, t.action, t.target_state) for t in graph.transitions}
        here = graph.start.key
        for action, there in zip(way.actions, way.states, strict=True):
            assert (here, action, there) in edges
            here = there
        assert graph.subgoal_of[here] == graph.ladder.last


def test_a_run_with_starts_and_roles_resumes_to_the_bit_and_its_successes_are_whole(
    base: ReferenceGraph, games: Path, warm: Path, tmp_path: Path, connection: Connection, names: list[str]
) -> None:
    """Half of the tasks have a graph to start from; the others are labelled by roles."""
    known = ReferenceGraph.create(connection, names[2])
    known.add([graph for i, graph in enumerate(base.iter_task_graphs()) if i % 2])
    lift_graph(base, known)
    config = (
        settings(games, graph_base=known.name, tasks=4)
        .with_shaping(shaping_preset("membership").updated({"order": "label_then_evolve"}))
        .updated({"lifted": "uncovered", "starts.share": 0.5, "starts.failing": 0.9, "starts.distance": 2})
    )
    whole = run(config, tmp_path / "whole", warm, connection=connection, graph=names[0])
    with pytest.raises(Stop):
        run(config, tmp_path / "part", warm, connection=connection, graph=names[1], watcher=Plug(3))
    part = run(config, tmp_path / "part", warm, connection=connection, graph=names[1], resume=True)
    assert told(part) == told(whole)
    ours, theirs = (Checkpoint.read(latest_checkpoint(d.checkpoints)) for d in (part, whole))
    assert torch.equal(ours.weights, theirs.weights)
    assert ours.starts == theirs.starts != {}

    rows = told(whole)[1:]
    assert sum(row["starts/groups"] for row in rows) > 0
    assert all(row["starts/not_walked"] == 0 for row in rows)
    assert all(row["proas/graph/coverage"] == 1.0 for row in rows)
    assert any(0 < row["proas/lifted/rollouts"] < 1 for row in rows)

    layer = ReferenceGraph(connection, names[0])
    successes = list(layer.rows(SuccessRow))
    ground = [success for success in successes if not success.task.startswith(LIFTED)]
    assert {success.task for success in successes} - {success.task for success in ground} == {"lifted/pick"}
    assert len(successes) == 2 * len(ground)
    begun = [success for success in ground if success.rollout.rpartition("#")[2] in ("2", "3")]
    begun = [success for success in begun if success.task in {graph.task.key for graph in known.iter_task_graphs()}]
    assert begun, "no rollout that began part of the way succeeded: the test shows nothing"
    for success in begun:  # it is joined from the task's own start, what was given included
        start = layer.read(success.task).start.key
        leaving = {t.key for t in layer.read(success.task).transitions if t.source_state == start}
        assert leaving & set(success.transitions)
    assert [(v.rule, v.samples) for v in layer.verify().violations] == []


def test_evaluation_knows_no_starts(
    base: ReferenceGraph,
    games: Path,
    warm: Path,
    tmp_path: Path,
    connection: Connection,
    names: list[str],
) -> None:
    """At a rate of learning that moves nothing, both runs are measured as the policy that they start from."""
    still = {"iterations": 1, "evaluation.every": 1, "update.learning_rate": 1e-30}
    plain = told(run(settings(games, **still), tmp_path / "plain", warm))
    begun = told(
        run(
            settings(games, graph_base=base.name, **{**still, "starts.share": 1.0, "starts.failing": 1.0}),
            tmp_path / "begun",
            warm,
            connection=connection,
            graph=names[0],
        )
    )
    assert begun[1]["starts/rollouts"] == 1.0
    assert "proas/graph/coverage" not in begun[1]  # the graph is not asked for labels that nothing needs
    for one, other in zip(plain, begun, strict=True):
        measured = {name: value for name, value in one.items() if name.startswith("evaluation/")}
        assert measured
        assert measured == {name: value for name, value in other.items() if name.startswith("evaluation/")}


def test_an_empty_lifted_graph_masks_nothing(
    games: Path, warm: Path, tmp_path: Path, connection: Connection, names: list[str]
) -> None:
    """What is uncovered passes through: the run is the one without the graph, to the bit."""
    plain = settings(games, iterations=1, tasks=6)
    nothing = shaping_preset("membership").updated({"order": "label_then_evolve", "evolve": False})
    asked = plain.with_shaping(nothing).updated({"lifted": "uncovered"})
    without = run(plain, tmp_path / "plain", warm)
    empty = run(asked, tmp_path / "empty", warm, connection=connection, graph=names[0])
    row = told(empty)[-1]
    assert (row["proas/graph/coverage"], row["proas/lifted/steps"]) == (0, 0)
    start, one, other = (
        Checkpoint.read(latest_checkpoint(directory.checkpoints, k)).weights
        for directory, k in ((without, 0), (without, 1), (empty, 1))
    )
    assert not torch.equal(start, one), "the iteration taught nothing: the test shows nothing"
    assert torch.equal(one, other)


@pytest.mark.parametrize("use", ["uncovered", "always"])
def test_whose_verdict_a_step_takes(
    use: str,
    base: ReferenceGraph,
    connection: Connection,
    names: list[str],
    games: Path,
) -> None:
    both = ReferenceGraph.create(connection, names[0])
    graphs: list[TaskGraph] = list(base.iter_task_graphs())
    both.add(graphs[:6])  # the other six are uncovered
    lift_graph(base, both)
    world = open_world(EnvSpec("alfworld", games))
    env = world.environment(step_limit=25)
    walks = [
        play(env, world.policy("noisy", random.Random(i)), graph.task.key, i, follower_for(env))
        for i, graph in enumerate(graphs)
    ]
    batch = RolloutBatch(tuple(walks))
    roles = lift_rollouts(batch)
    plain = both.label(batch)
    by_roles = {roles.origin[r.id]: r for r in both.label(roles.batch)}
    assert use in ("uncovered", "always")
    found = label_with_fallback(both, batch, roles.batch, roles.origin, use)  # type: ignore[arg-type]
    taken = 0
    for own, got in zip(plain, found, strict=True):
        said = [step.label for step in by_roles[own.id].steps]
        labels = [step.label for step in got.steps]
        assert got.covered
        if not own.covered:
            assert all(label is not None and label.lifted for label in labels)
            assert [(x.reasonable, x.progress, x.drift) for x in labels if x] == [
                (x.reasonable, x.progress, x.drift) for x in said if x
            ]
            continue
        if use == "uncovered":
            assert got == own
            continue
        missed = 0
        for step, label, role in reversed(list(zip(own.steps, labels, said, strict=True))):
            assert step.label is not None
            assert label is not None
            assert role is not None
            assert label.reasonable == (step.label.reasonable or role.reasonable)
            assert bool(label.lifted) == (role.reasonable and not step.label.reasonable)
            taken += bool(label.lifted)
            missed += not label.progress
            assert label.drift == missed
    report = LiftedReport.of(found)
    assert report.by_roles == 6
    assert report.rollouts == 12
    assert report.lifted == taken + sum(len(w.steps) for w, o in zip(walks, plain, strict=True) if not o.covered)


def test_lifted_labels_are_asked_for_where_they_mean_something(games: Path, tmp_path: Path, warm: Path) -> None:
    with pytest.raises(UsageError, match="asks no graph for labels"):
        run(settings(games, lifted="always"), tmp_path / "run", warm)
