"""Advantages by the form of the action."""

from __future__ import annotations

from pathlib import Path

import pytest

from proas.errors import DataError, UsageError
from proas.rollout_files import write_rollouts
from proas.rollouts import Rollout, Step
from proas.training.interventions.credit import OTHERS, action_form, measure_credit


@pytest.mark.parametrize(
    ("action", "form"),
    [
        ("take mug 1 from desk 2", "take … from …"),
        ("take mug 1", "take …"),
        ("put soap bar 1 in/on desk 2", "put … in/on …"),
        ("Go to desk 2", "go to …"),
        ("inventory", "inventory"),
        ("search[red shoes from Spain]", "search[…]"),
        ("click[Buy Now]", "click[…]"),
        ("move(desk, lamp)", "move(…)"),
        ("  ", "(empty)"),
        ("from", "from"),
    ],
)
def test_what_stays_of_an_action(action: str, form: str) -> None:
    assert action_form(action) == form


def rollout(name: str, *steps: tuple[str, bool | None, float | None, float | None], success: bool = False) -> Rollout:
    taken = tuple(Step(action=a, valid=v, base_advantage=before, advantage=after) for a, v, before, after in steps)
    return Rollout(id=name, env="alfworld", task="t", goal="g", steps=taken, success=success)


def test_sums_by_hand(tmp_path: Path) -> None:
    kept = tmp_path / "run" / "rollouts"
    kept.mkdir(parents=True)
    good = ("take mug 1 from desk 1", True, 1.0, 1.5)
    bad = ("take pen 1 from desk 1", False, -1.0, -1.0)
    write_rollouts(
        kept / "00002.jsonl",
        [
            rollout("a", good, bad, ("look", True, 1.0, 0.0), success=True),
            rollout("b", bad, ("dance", None, -0.5, None)),
            rollout("c"),
        ],
    )
    write_rollouts(kept / "00010.jsonl", [rollout("d", bad, ("dance", None, None, -0.5))])
    with (kept / "00010.jsonl").open("a", encoding="utf-8") as file:
        file.write("{}\n")
    report = measure_credit(tmp_path / "run")
    assert [sample.name for sample in report.samples] == ["00002", "00010"]
    assert sum(report.aside.values()) == 3
    assert (report.aside["no steps"], report.aside["steps without an advantage"]) == (1, 1)
    first, second = report.samples
    assert (first.rollouts, first.success) == (1, 1.0)
    take, look = first.rows
    assert (take.form, take.steps, take.share, take.applied) == ("take … from …", 2, pytest.approx(2 / 3), 0.5)
    assert (take.before, take.after, take.gained, take.lost) == (0.0, 0.5, 1.5, -1.0)
    assert (look.form, look.before, look.after) == ("look", 1.0, 0.0)
    dance = second.rows[1]
    assert (dance.form, dance.applied, dance.before, dance.after) == ("dance", None, -0.5, -0.5)
    for alone in (measure_credit(tmp_path / "run", iterations=[10]), measure_credit(kept / "00010.jsonl")):
        assert set(alone.samples[0].rows) == set(second.rows)


def test_rare_forms_are_one_row(tmp_path: Path) -> None:
    steps = [("go to desk 1", True, 1.0, 1.0)] * 3 + [(word, True, 0.5, 0.5) for word in ("look", "wait", "jump")]
    write_rollouts(tmp_path / "r.jsonl", [rollout("a", *steps)])
    rows = measure_credit(tmp_path, most=1).samples[0].rows
    assert [(row.form, row.steps, row.after) for row in rows] == [("go to …", 3, 3.0), (OTHERS, 3, 1.5)]
    assert OTHERS not in measure_credit(tmp_path, most=3).forms, "a single form is no others"


def test_nothing_to_read_is_said(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no"):
        measure_credit(tmp_path / "nosuch")
    with pytest.raises(UsageError, match="holds no rollouts"):
        measure_credit(tmp_path)
    (tmp_path / "config.json").write_text("{}", encoding="utf-8")
    (tmp_path / "metrics.jsonl").write_text("{}\n", encoding="utf-8")
    with pytest.raises(UsageError, match="rollouts_every"):
        measure_credit(tmp_path)
    write_rollouts(tmp_path / "00001.jsonl", [rollout("a", ("look", True, None, None))])
    with pytest.raises(UsageError, match="iteration 3"):
        measure_credit(tmp_path / "00001.jsonl", iterations=[3])
    with pytest.raises(DataError, match="steps without an advantage: 1"):
        measure_credit(tmp_path / "00001.jsonl")
