"""Surroundings and knowledge in the database: distances, labels, and what learning from them sees."""

from __future__ import annotations

import pytest

from proas.envs import EnvSpec, open_world
from proas.envs.alfworld import generate
from proas.envs.collect import CollectSettings, collect
from proas.graph_builders import BuildOptions, build_graph
from proas.graph_builders.alfworld import AlfWorldBuilder
from proas.rollouts import Rollout, RolloutBatch
from proas.shaping import preset, shape
from proas.states import follower_for, ladder_of_rollout
from proas.states.alfworld import FACTS, KNOWLEDGE
from proas.subgoals import SEARCHING


@pytest.fixture(scope="module")
def games(tmp_path_factory):
    root = tmp_path_factory.mktemp("games")
    for trial in generate(6, seed=3):
        trial.write(root)
    return root


def _played(games, env, policy="noisy"):
    world = open_world(EnvSpec(env, games))
    rows = collect(world, list(world.tasks), CollectSettings(policy=policy, group_size=4, seed=2), follower_for)
    return RolloutBatch(tuple(row for row in rows if isinstance(row, Rollout)))


def _shares(batch):
    steps = [step for rollout in batch for step in rollout.steps]
    known = [s for s in steps if s.distance is not None and s.distance_before is not None]
    return len(known) / len(steps), known


def test_surroundings_make_most_distances_known(games, graph, connection):
    report = build_graph("alfworld", AlfWorldBuilder(), graph, data=games, options=BuildOptions("optimal"))
    assert report.tasks == 6
    batch = _played(games, "alfworld")
    before = graph.label(batch)
    build_graph("alfworld", AlfWorldBuilder(), graph, data=games, options=BuildOptions("around"))
    assert not graph.verify().violations
    after = graph.label(batch)
    # Known ground is no way: the verdicts are those of the solutions alone.
    assert [s.label for r in after for s in r.steps] == [s.label for r in before for s in r.steps]
    assert _shares(after)[0] > max(0.6, _shares(before)[0])
    assert all(s.valid is not False or s.distance == s.distance_before for s in _shares(after)[1])
    # A success that takes such a step makes it one.
    report = graph.evolve(batch, purification="loop_erased")
    assert report.successes
    learnt = graph.label(batch)
    reasonable = [sum(s.label.reasonable for r in some for s in r.steps) for some in (after, learnt)]
    assert reasonable[1] > reasonable[0]
    assert not graph.verify().violations


def test_a_shortest_solution_comes_nearer_with_every_step(games, graph):
    build_graph("alfworld", AlfWorldBuilder(), graph, data=games, options=BuildOptions("around"))
    labelled = graph.label(_played(games, "alfworld", "expert"))
    for rollout in labelled:
        assert rollout.success
        distances = [rollout.steps[0].distance_before, *(step.distance for step in rollout.steps)]
        assert distances == list(range(len(rollout.steps), -1, -1))


def test_all_failed_groups_get_a_signal(games, graph):
    build_graph("alfworld", AlfWorldBuilder(), graph, data=games, options=BuildOptions("around"))
    batch = _played(games, "alfworld", "random")
    lost = RolloutBatch(tuple(r.model_copy(update={"success": False, "reward": 0.0}) for r in graph.label(batch)))
    without = shape(lost, preset("membership"))
    assert without.diagnostics.groups_failed_with_signal == 0
    gaining = shape(lost, preset("membership").updated({"distance": "potential"}))
    assert gaining.diagnostics.groups_failed_with_signal == 6
    signs = {(s.advantage > 0) - (s.advantage < 0) for r in gaining.batch for s in r.steps}
    assert signs == {-1, 0, 1}


def test_no_distance_tells_what_the_agent_cannot_know(games, graph):
    build_graph("alfworld", AlfWorldBuilder(KNOWLEDGE), graph, data=games, options=BuildOptions("around"))
    assert not graph.verify().violations
    batch = _played(games, "alfworld-knowledge")
    labelled = graph.label(batch)
    _share, known = _shares(labelled)
    assert known
    for rollout in labelled:
        states = [rollout.start, *(step.state for step in rollout.steps)]
        for t, step in enumerate(rollout.steps):
            if SEARCHING in states[t].facts:
                assert step.distance_before is None
    # Neither does a gain: while the search goes on, and at the step that ends it, nothing is earned.
    config = preset("membership").updated({"distance": "potential", "mui": "false"})
    plain = preset("membership").updated({"mui": "false"})
    gained, base = shape(labelled, config).batch, shape(labelled, plain).batch
    for rollout, other in zip(gained, base, strict=True):
        states = [rollout.start, *(step.state for step in rollout.steps)]
        searched = [t for t, state in enumerate(states[:-1]) if SEARCHING in state.facts]
        for t in searched:
            assert rollout.steps[t].advantage == pytest.approx(other.steps[t].advantage)


def test_first_looks_are_as_good_as_the_informed_walk(games, graph):
    build_graph("alfworld", AlfWorldBuilder(KNOWLEDGE), graph, data=games)
    labelled = graph.label(_played(games, "alfworld-knowledge", "random"))
    first = [r.steps[0] for r in labelled if r.steps[0].canonical.startswith("go to ")]
    assert first
    assert all(step.label.reasonable for step in first)


@pytest.mark.parametrize("noting", [FACTS, KNOWLEDGE])
def test_a_layer_learns_over_surroundings(games, graph, connection, noting):
    build_graph("alfworld", AlfWorldBuilder(noting), graph, data=games, options=BuildOptions("around"))
    layer = type(graph).create(connection, f"{graph.name}-run", base=graph.name)
    try:
        batch = _played(games, noting.env)
        layer.evolve(batch, purification="loop_erased", ladder_of=ladder_of_rollout)
        assert not layer.verify().violations
        assert _shares(layer.label(batch))[0] >= _shares(graph.label(batch))[0]
    finally:
        layer.drop()
