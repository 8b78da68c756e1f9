"""verl's arrays in, verl's arrays out: token advantages are what ``proas.shaping`` says, to 1e-6."""

from __future__ import annotations

import random

import numpy as np
import pytest

from proas.errors import DataError
from proas.integrations.credit import CreditRun, CreditSettings
from proas.integrations.verl.rows import carried
from proas.integrations.verl.shaping_step import TokenRows, shape_tokens
from proas.rollouts import RolloutBatch
from proas.shaping import grpo, preset, shape
from proas.shaping.frame import Frame


def stock(batch, *, std=True):
    """What verl's estimator makes of the returns, in its precision."""
    frame = Frame.of(batch)
    return grpo(np.array([r.reward for r in batch]), frame.groups, std=std).astype(np.float32)


def token_rows(batch, *, form, rng, padding=2, std=True):
    """The rows that verl would hold: tokens of the environment between steps of various lengths."""
    rows = []
    for rollout, value in zip(batch, stock(batch, std=std), strict=True):
        lengths = [rng.randrange(1, 6) for _ in rollout.steps]
        if form == "steps":
            for t, length in enumerate(lengths):
                field = carried(rollout, first=t, count=1, spans=[(0, length)])
                rows.append((np.full(length, value), np.ones(length), field, False))
            continue
        spans, mask = [], []
        for length in lengths:
            spans.append((len(mask), len(mask) + length))
            mask += [1] * length + [0] * rng.randrange(4)
        field = carried(rollout, first=0, count=len(spans), spans=spans)
        rows.append((np.array(mask, dtype=np.float32) * value, np.array(mask), field, False))
    rng.shuffle(rows)
    rows += [(np.full(1, 9.0), np.zeros(1), rows[0][2], True)] * padding
    return TokenRows(
        advantages=np.concatenate([row[0] for row in rows]).astype(np.float32),
        mask=np.concatenate([row[1] for row in rows]),
        offsets=np.cumsum([0, *(len(row[0]) for row in rows)]).tolist(),
        fields=[row[2] for row in rows],
        padding=[row[3] for row in rows],
    )


def expected_tokens(rows, batch, wanted):
    """The advantages of the wanted steps, on the tokens that the rows say are theirs."""
    steps = {(r.id, t): s.advantage for r in wanted for t, s in enumerate(r.steps)}
    expected = rows.advantages.astype(np.float64)
    seen = 0
    for row, (field, fills) in enumerate(zip(rows.fields, rows.padding, strict=True)):
        if fills:
            continue
        rollout = next(r for r in batch if f'"{r.id}"' in field["rollout"])
        for j, (a, b) in enumerate(field["spans"]):
            expected[rows.offsets[row] + a : rows.offsets[row] + b] = steps[rollout.id, field["first"] + j]
            seen += 1
    assert seen == batch.steps
    return expected


def settings(graph, **more):
    values = {"graph": graph.name, "run": f"{graph.name}.run", "uri": graph.connection.uri, **more}
    return CreditSettings.of(values)


@pytest.fixture
def opened(seeded, monkeypatch):
    """Opens runs over the test's graph, and closes them."""
    monkeypatch.setenv("NEO4J_PASSWORD", seeded.connection.password.get_secret_value())
    monkeypatch.setenv("NEO4J_USERNAME", seeded.connection.username)
    monkeypatch.setenv("NEO4J_DATABASE", seeded.connection.database)
    runs = []

    def open_run(**more):
        run = CreditRun(settings(seeded, **more))
        run.open(iterations_done=0)
        runs.append(run)
        return run

    yield open_run
    for run in runs:
        run.close()


@pytest.mark.parametrize("form", ["trajectory", "steps"])
@pytest.mark.parametrize("estimator", ["stock", "gigpo"])
@pytest.mark.parametrize("name", ["paper", "membership"])
def test_tokens_have_their_steps_advantages(opened, seeded, rollouts, form, estimator, name):
    batch = RolloutBatch(tuple(rollouts))
    run = opened(preset=name, estimator=estimator)
    rows = token_rows(batch, form=form, rng=random.Random(2))
    shaped = shape_tokens(rows, run, 1)
    run.wait()

    config = preset(name).updated({"algorithm": "gigpo" if estimator == "gigpo" else "grpo"})
    config = config.updated({"invalid_penalty": "recorded"})
    # The layer as it was when the labels were asked for: before, or after, this batch's successes joined it.
    version = 0 if name == "paper" else 1
    wanted = shape(run.layer.label(batch, version=version), config)
    expected = expected_tokens(rows, batch, wanted.batch)
    np.testing.assert_allclose(shaped.advantages, expected, rtol=1e-6, atol=1e-6)
    assert shaped.advantages.dtype == np.float32
    assert not np.array_equal(shaped.advantages, rows.advantages)
    assert {r.covered for r in shaped.batch if r.task == "unknown"} == {name == "membership" and _won(batch)}


@pytest.mark.parametrize("form", ["trajectory", "steps"])
@pytest.mark.parametrize("normalise", ["mean_std", "mean"])
def test_gigpo_without_proas(rollouts, form, normalise):
    """The baseline presets' settings: the step level on top of the trainer's, nothing weighed, no graph asked."""
    batch = RolloutBatch(tuple(rollouts))
    plain = {"mui": False, "apr": "none", "normalise": normalise}
    run = CreditRun(CreditSettings.of({"estimator": "gigpo", "settings": plain}))
    run.open(iterations_done=0)
    assert run.layer is None
    rows = token_rows(batch, form=form, rng=random.Random(2), std=normalise == "mean_std")
    shaped = shape_tokens(rows, run, 1)
    config = preset("paper").updated({"algorithm": "gigpo", "invalid_penalty": "recorded", **plain})
    wanted = shape(batch, config)
    assert wanted.batch.rollouts[0].steps[0].label is None
    expected = expected_tokens(rows, batch, wanted.batch)
    np.testing.assert_allclose(shaped.advantages, expected, rtol=1e-6, atol=1e-6)
    assert not np.allclose(shaped.advantages, rows.advantages), "steps of one trajectory differ"
    assert "proas/graph/version" not in shaped.metrics


def _won(batch):
    return any(r.success for r in batch if r.task == "unknown")


def test_metrics_say_what_was_done(opened, rollouts):
    batch = RolloutBatch(tuple(rollouts))
    run = opened()
    rows = token_rows(batch, form="trajectory", rng=random.Random(2))
    metrics = shape_tokens(rows, run, 1).metrics
    shown = ("mask_rate", "coverage", "drift_mean", "drift_std", "weight_std", "graph/version", "evolve/owed")
    for name in (*shown, "time/label", "time/shape", "time/total", "rows", "rejected_rollouts"):
        assert f"proas/{name}" in metrics, name
    assert all(isinstance(value, float) for value in metrics.values())
    second = shape_tokens(rows, run, 2).metrics
    assert second["proas/growth_transitions"] > 0, "what the first batch taught shows in the second's metrics"
    assert second["proas/evolve/known"] == 0
    assert second["proas/graph/version"] == 1


def test_rows_of_other_loops_pass(opened, rollouts):
    rows = token_rows(RolloutBatch(tuple(rollouts)), form="trajectory", rng=random.Random(2))
    blank = TokenRows(rows.advantages, rows.mask, rows.offsets, [None] * len(rows.fields), rows.padding)
    shaped = shape_tokens(blank, opened(), 1)
    assert np.array_equal(shaped.advantages, rows.advantages)
    assert shaped.metrics["proas/rows_without_rollout"] == len(rows.fields) - 2


def test_advantages_that_are_no_numbers(opened, rollouts):
    rows = token_rows(RolloutBatch(tuple(rollouts)), form="steps", rng=random.Random(2))
    rows.advantages[3] = np.nan
    with pytest.raises(DataError, match="not finite"):
        shape_tokens(rows, opened(), 1)
