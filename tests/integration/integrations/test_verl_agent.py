"""Step rows of verl-agent: the same advantages whatever was duplicated, reordered or penalised in between."""

from __future__ import annotations

import random

import numpy as np
import pytest

from proas.envs import EnvSpec, open_world
from proas.envs.alfworld.data import sample_root
from proas.envs.collect import CollectSettings, collect
from proas.errors import DataError
from proas.graph_builders import build_graph, builder
from proas.integrations.verl_agent import rollouts_of_rows, shape_rows, stamp
from proas.rollouts import RolloutBatch
from proas.shaping import preset, shape
from proas.states import follower_for

ENV = "alfworld"


@pytest.fixture(scope="module")
def played():
    """Rollouts of real games by a policy that errs: groups with successes and failures."""
    world = open_world(EnvSpec(ENV, sample_root()))
    made = []
    for policy, size in (("noisy", 3), ("random", 2)):
        settings = CollectSettings(policy=policy, group_size=size, step_limit=25)
        for number, rollout in enumerate(collect(world, list(world.tasks)[:3], settings, follower_for)):
            made.append(rollout.model_copy(update={"id": f"{policy}-{number}"}))
    assert {r.success for r in made} == {True, False}
    return made


@pytest.fixture
def graph_of_games(graph):
    build_graph(ENV, builder(ENV), graph, data=sample_root())
    return graph


def step_rows(played):
    """Rows as the rollout loop of verl-agent gathers them, stamped while whole: dicts, with stragglers at the end."""
    gathered = []
    for rollout in played:
        rows, before = [], rollout.observation
        for step in rollout.steps:
            rows.append(
                {
                    "uid": f"group-{rollout.task}",
                    "traj_uid": rollout.id,
                    "anchor_obs": before,
                    "is_action_valid": True,
                    "active_masks": True,
                }
            )
            before = step.observation
        stamp(
            rows,
            task=rollout.task,
            actions=[s.action for s in rollout.steps],
            next_obs=[s.observation for s in rollout.steps],
            won=rollout.success,
            goal=rollout.goal,
        )
        gathered += rows
        if rows:
            gathered.append({**rows[-1], "active_masks": False, "proas_step": len(rows)})
    return gathered


def columns_of(rows):
    """As verl-agent collates rows: object arrays by name."""
    columns = {}
    for name in rows[0]:
        columns[name] = np.empty(len(rows), dtype=object)
        columns[name][:] = [row[name] for row in rows]
    return columns


def penalised(columns, returns, *, coefficient=0.1):
    """Row scores with the invalid-action penalty, and GRPO over the rows of each group, in single precision."""
    scores = np.array([returns[t] for t in columns["traj_uid"]], dtype=np.float32)
    scores -= coefficient * np.array([not valid for valid in columns["is_action_valid"]], dtype=np.float32)
    advantages = np.zeros_like(scores)
    for group in set(columns["uid"]):
        own = np.array([uid == group for uid in columns["uid"]])
        advantages[own] = (scores[own] - scores[own].mean()) / (scores[own].std(ddof=1) + np.float32(1e-6))
    return advantages


def returns_of(played):
    return {r.id: 10.0 * r.success for r in played}


def test_weights_do_not_depend_on_what_was_done_to_the_rows(played, graph_of_games):
    rng = random.Random(0)
    rows = step_rows(played)
    for row in rows:
        row["is_action_valid"] = rng.random() < 0.9
    plain = columns_of(rows)
    base = penalised(plain, returns_of(played))
    config = preset("paper")
    wanted = shape_rows(plain, base, env=ENV, graph=graph_of_games, config=config)
    assert 0 < (wanted.weights == 0).mean() < 1

    # Rows are duplicated to fill the batch, then balancing puts them in another order.
    order = [*range(len(rows)), *rng.choices(range(len(rows)), k=40)]
    rng.shuffle(order)
    moved = columns_of([rows[i] for i in order])
    got = shape_rows(moved, base[order], env=ENV, graph=graph_of_games, config=config)
    np.testing.assert_allclose(got.weights, wanted.weights[order], rtol=1e-6)
    np.testing.assert_allclose(got.advantages, wanted.advantages[order], rtol=1e-6)
    assert got.metrics["proas/steps"] == sum(len(r.steps) for r in played), "each step counts once"


def test_they_are_shaping_s_own(played, graph_of_games):
    columns = columns_of(step_rows(played))
    base = penalised(columns, returns_of(played))
    got = shape_rows(columns, base, env=ENV, graph=graph_of_games, config=preset("paper"))
    place = {(t, s): i for i, (t, s) in enumerate(zip(columns["traj_uid"], columns["proas_step"], strict=True))}
    given = [
        r.model_copy(
            update={
                "steps": tuple(
                    s.model_copy(update={"base_advantage": float(base[place[r.id, t]])}) for t, s in enumerate(r.steps)
                )
            }
        )
        for r in played
    ]
    labelled = graph_of_games.label(RolloutBatch(tuple(given)))
    for rollout in shape(labelled, preset("paper").updated({"algorithm": "given"})).batch:
        for t, step in enumerate(rollout.steps):
            assert got.advantages[place[rollout.id, t]] == pytest.approx(step.advantage, rel=1e-6, abs=1e-9)


def test_the_penalty_gives_one_trajectory_both_signs(played, graph_of_games):
    """A success with one malformed reply in a group of successes: that step is judged by its own sign."""
    won = [r for r in played if r.success and len(r.steps) > 3][:1]
    rows = step_rows(won)
    rows[1]["is_action_valid"] = False
    columns = columns_of(rows)
    base = penalised(columns, {won[0].id: 10.0})
    assert base[1] < 0 < base[0]
    got = shape_rows(columns, base, env=ENV, graph=graph_of_games, config=preset("paper"))
    steps = got.shaped.batch.rollouts[0].steps
    for t, step in enumerate(steps):
        if base[t] > 0:
            assert got.weights[t] == float(step.label.reasonable)
    assert steps[1].valid is False
    assert np.sign(got.advantages[1]) <= 0


def test_rows_that_are_not_active_pass(played, graph_of_games):
    columns = columns_of(step_rows(played))
    got = shape_rows(columns, np.ones(len(columns["uid"])), env=ENV, graph=graph_of_games, config=preset("paper"))
    idle = np.array([not active for active in columns["active_masks"]])
    assert (got.weights[idle] == 1).all()


def test_the_loop_mask_needs_no_graph(played):
    columns = columns_of(step_rows(played))
    config = preset("paper").updated({"verdicts": "loop_mask", "apr": "none"})
    got = shape_rows(columns, np.ones(len(columns["uid"])), env=ENV, graph=None, config=config)
    assert 0 < (got.weights == 0).mean() < 1


def test_a_trajectory_with_a_row_missing_passes_and_is_counted(played, graph_of_games):
    rows = step_rows(played)
    longest = max(played, key=lambda r: len(r.steps))
    rows = [row for row in rows if not (row["traj_uid"] == longest.id and row["proas_step"] == 1)]
    columns = columns_of(rows)
    got = shape_rows(columns, np.ones(len(rows)), env=ENV, graph=graph_of_games, config=preset("paper"))
    own = np.array([name == longest.id for name in columns["traj_uid"]])
    assert (got.weights[own] == 1).all()
    assert got.metrics["proas/unreadable_trajectories"] == 1
    assert "step 1 of" in got.rejects[0].reason


def test_what_was_shaped_can_be_learnt(played, graph_of_games):
    columns = columns_of(step_rows(played))
    got = shape_rows(columns, np.ones(len(columns["uid"])), env=ENV, graph=graph_of_games, config=preset("paper"))
    report = graph_of_games.evolve(got.shaped.batch)
    assert report.successes == sum(r.success for r in played)


def test_states_are_those_of_the_engine(played):
    """Text is all that a row has; the states agree with what the engine's facts say."""
    batch, _ = rollouts_of_rows(columns_of(step_rows(played)), env=ENV)
    for read, real in zip(batch, played, strict=True):
        assert read.state_keys == real.state_keys
        assert read.group == f"group-{real.task}"


@pytest.mark.parametrize("name", ["proas_step", "uid", "anchor_obs", "proas_won"])
def test_a_column_that_is_missing(played, name):
    columns = columns_of(step_rows(played))
    del columns[name]
    with pytest.raises(DataError, match=f"no column {name}.*stamp"):
        rollouts_of_rows(columns, env=ENV)


def test_rows_of_one_step_that_differ(played):
    rows = step_rows(played)
    columns = columns_of([*rows, {**rows[0], "proas_action": "dance"}])
    with pytest.raises(DataError, match=r"both step 0 of trajectory .* differ in proas_action"):
        rollouts_of_rows(columns, env=ENV)


def test_advantages_that_do_not_fit(played):
    columns = columns_of(step_rows(played))
    config = preset("paper").updated({"verdicts": "loop_mask"})
    for wrong in (np.ones(3), np.ones((len(columns["uid"]), 2)), np.full(len(columns["uid"]), np.inf)):
        with pytest.raises(DataError):
            shape_rows(columns, wrong, env=ENV, graph=None, config=config)


def test_duplicates_with_other_advantages(played):
    rows = step_rows(played)
    columns = columns_of([*rows, dict(rows[0])])
    values = np.ones(len(rows) + 1)
    values[-1] = 2.0
    config = preset("paper").updated({"verdicts": "loop_mask"})
    with pytest.raises(DataError, match="the advantages 1 and 2"):
        shape_rows(columns, values, env=ENV, graph=None, config=config)


def test_stamps_of_another_number():
    with pytest.raises(DataError, match="1 rows, 2 actions and 1 answers"):
        stamp([{}], task="t", actions=["a", "b"], next_obs=["x"], won=False)
