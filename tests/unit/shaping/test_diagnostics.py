"""The diagnostics against counts made by hand, and their three forms against each other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from pathlib import Path

import pytest

from proas.rollouts import Rollout, RolloutBatch
from proas.shaping import Diagnostics, Growth, ShapingConfig, preset, shape

Build = Callable[..., Rollout]
DOCS = Path(__file__).resolve().parents[3] / "docs" / "shaping.md"


@pytest.fixture
def labelled(rollout: Build) -> RolloutBatch:
    return RolloutBatch(
        (
            rollout("won", [0, 1, 2, 1, 3], won=True, reasonable="1001", seeks="0100"),
            rollout("lost", [0, 0, 1, 2, 2], reasonable="0110", progress="0100", valid="0110"),
            rollout("far", [0, 1], task="unknown", covered=False),
            rollout("away", [0], task="unknown", covered=False),
        )
    )


def test_by_hand(labelled: RolloutBatch) -> None:
    found = shape(labelled, preset("paper"), growth=Growth(states=4, transitions=6, version=3)).diagnostics
    assert (found.rollouts, found.steps, found.tasks, found.empty_rollouts) == (4, 9, 2, 1)
    assert (found.groups, found.groups_all_won, found.groups_all_failed, found.groups_single) == (2, 0, 1, 0)
    assert found.groups_without_signal == 1
    assert found.success_rate == 1 / 4
    assert (found.coverage, found.task_coverage, found.uncovered_rollouts) == (1 / 2, 1 / 2, 2)
    assert (found.invalid_share, found.seeks_share) == (2 / 9, 1 / 9)
    assert (found.unreasonable_in_positive, found.unreasonable_in_won) == (2 / 4, 2 / 4)
    assert (found.nonprogress_in_negative, found.nonprogress_in_failed) == (3 / 4, 3 / 4)
    assert found.mask_rate == 2 / 4
    # PA = 0 1 0 0: D = 3, 2, 2, 1; T = 0, 2, 3: mean 2: weights 3/2, 1, 1, 1/2; their deviation is sqrt(1/8).
    assert found.weight_min == pytest.approx(0.5, rel=1e-5)
    assert found.weight_max == pytest.approx(1.5, rel=1e-5)
    assert found.weight_std == pytest.approx(0.125**0.5, rel=1e-5)
    # Four steps each at +a and -a; two of the positive ones are masked.
    assert found.negative_to_positive_base == pytest.approx(1)
    assert found.negative_to_positive == pytest.approx(2, rel=1e-5)
    assert (found.growth_states, found.growth_transitions, found.growth_version) == (4, 6, 3)


def test_the_records_alone_tell_the_same(labelled: RolloutBatch) -> None:
    shaped = shape(labelled, preset("paper"))
    again = Diagnostics.of(shaped.batch).metrics()
    differing = {"proas/label_faults", "proas/filtered_groups", "proas/filtered_rollouts"}
    assert again == {name: value for name, value in shaped.metrics.items() if name not in differing}


def test_before_shaping_and_before_labelling(labelled: RolloutBatch, rollout: Build) -> None:
    found = Diagnostics.of(labelled)
    assert found.unreasonable_in_won == 2 / 4
    assert found.mask_rate is None
    raw = Diagnostics.of(RolloutBatch((rollout("r", [0, 1], covered=None),)))
    assert raw.coverage is None
    assert raw.nonprogress_in_failed is None
    assert raw.invalid_share == 0


def test_an_empty_batch_has_counts_and_no_shares() -> None:
    metrics = Diagnostics.of(RolloutBatch(())).metrics()
    assert metrics["proas/rollouts"] == 0
    assert "proas/success_rate" not in metrics


def test_the_mask_in_force_is_what_is_measured(labelled: RolloutBatch) -> None:
    """Under an ablation the shares are those of the labels that acted; without Eq. 7, those of the records."""
    pruned = shape(labelled, preset("paper").updated({"prune_edges": 1.0})).diagnostics
    assert (pruned.unreasonable_in_positive, pruned.mask_rate) == (1, 1)
    plain = shape(labelled, preset("paper").updated({"mui": False, "apr": "none"})).diagnostics
    assert (plain.unreasonable_in_positive, plain.mask_rate) == (2 / 4, 0)


def test_metrics_and_rows_hold_every_field(labelled: RolloutBatch) -> None:
    found = shape(labelled, preset("paper")).diagnostics
    rows = found.rows()
    assert [row.metric for row in rows] == [item.name for item in fields(Diagnostics)]
    assert all(row.meaning for row in rows)
    values = {row.metric: row.value for row in rows}
    assert (values["coverage"], values["rollouts"], values["growth_states"]) == ("0.5", "4", "-")
    metrics = found.metrics()
    assert all(name.startswith("proas/") and type(value) is float for name, value in metrics.items())
    assert set(metrics) == {f"proas/{row.metric}" for row in rows if row.value != "-"}


def test_the_docs_name_every_setting_and_every_metric() -> None:
    text = DOCS.read_text(encoding="utf-8")
    names = [*ShapingConfig.model_fields, *(item.name for item in fields(Diagnostics))]
    assert [name for name in names if f"`{name}`" not in text] == []
