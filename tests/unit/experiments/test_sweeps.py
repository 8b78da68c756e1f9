"""The table over temperatures, worked out on paper."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from proas.errors import DataError
from proas.experiments.plan import DiagnosisPlan, Plan
from proas.experiments.records import Results
from proas.experiments.schedule import arm_digest, run_place
from proas.experiments.statistics import Findings, findings
from proas.experiments.sweeps import sweep_table
from tests.unit.experiments.conftest import MakeRecord

SEEDS = (0, 1, 2)
GRPO = [{0.4: 0.5, 1.0: 0.2}, {0.4: 0.6, 1.0: 0.2}, {0.4: 0.4, 1.0: 0.2}]
PROAS = [{0.4: 0.4, 1.0: 0.7}, {0.4: 0.4, 1.0: 0.9}, {0.4: 0.4, 1.0: 0.5}]


@pytest.fixture
def swept(plan: Plan) -> Plan:
    asked = [DiagnosisPlan(arm=arm, every_seed=True, kind="temperatures") for arm in ("grpo", "proas")]
    return plan.with_seeds(SEEDS).model_copy(update={"diagnoses": tuple(asked)})


@pytest.fixture
def found(swept: Plan, record: MakeRecord) -> Findings:
    arms = ("grpo", "loop-mask", "proas")
    return findings(swept, Results(tuple(record(arm, seed, [0.1, 0.2]) for arm in arms for seed in SEEDS)))


def keep(kept: Path, plan: Plan, arm: str, seed: int, success: Mapping[float, float], *, games: str = "g1") -> None:
    place = kept / f"{arm}-s{seed}" / "temperatures.json"
    place.parent.mkdir(parents=True, exist_ok=True)
    run = f"runs/kitchen/{arm}-s{seed}-{run_place(arm_digest(plan, arm), games)}"
    rows = [{"temperature": t, "success": {"value": value}} for t, value in success.items()]
    place.write_text(json.dumps({"run": run, "iteration": 3, "rows": rows}), encoding="utf-8")


def test_each_arm_at_its_own_best(swept: Plan, found: Findings, tmp_path: Path) -> None:
    for seed in SEEDS:
        keep(tmp_path, swept, "grpo", seed, GRPO[seed])
        keep(tmp_path, swept, "proas", seed, PROAS[seed])
    table = sweep_table(found, tmp_path)
    assert table is not None
    assert table.columns[:5] == ("arm", "seeds", "T=0.4", "T=1", "best at")
    # At their best: 0.7 - 0.5, 0.9 - 0.6, 0.5 - 0.4; mean 0.2, s = 0.1, t(2) = 4.303, over sqrt(3).
    assert table.rows == (
        ("grpo", "3", "50.0 ± 10.0", "20.0 ± 0.0", "0.4", "-", "-20.0 [-44.8, +4.8]"),
        ("proas", "3", "40.0 ± 0.0", "70.0 ± 20.0", "1", "+20.0 [-4.8, +44.8]", "-"),
    )


def test_what_another_run_gave_is_left_out(swept: Plan, found: Findings, tmp_path: Path) -> None:
    assert sweep_table(found, tmp_path) is None
    keep(tmp_path, swept, "grpo", 0, GRPO[0], games="g2")
    keep(tmp_path, swept, "proas", 0, PROAS[0])
    keep(tmp_path, swept, "loop-mask", 0, PROAS[0])  # the plan does not ask for it
    table = sweep_table(found, tmp_path)
    assert table is not None
    assert [row[0] for row in table.rows] == ["proas"]


def test_what_is_no_result_is_named(swept: Plan, found: Findings, tmp_path: Path) -> None:
    keep(tmp_path, swept, "grpo", 0, GRPO[0])
    (tmp_path / "grpo-s0" / "temperatures.json").write_text("[]", encoding="utf-8")
    with pytest.raises(DataError, match=r"grpo-s0/temperatures.json is no result"):
        sweep_table(found, tmp_path)
