"""The table over temperatures, worked out on paper."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from proas.errors import DataError
from proas.experiments.plan import DiagnosisPlan, Plan
from proas.experiments.plan_files import load_plan
from proas.experiments.records import Results
from proas.experiments.schedule import arm_digest, run_place
from proas.experiments.statistics import Findings, findings
from proas.experiments.sweeps import sweep_tables
from tests.unit.experiments.conftest import MakeRecord

SEEDS = (0, 1, 2)
GRPO = [{0.4: 0.5, 1.0: 0.2}, {0.4: 0.6, 1.0: 0.2}, {0.4: 0.4, 1.0: 0.2}]
PROAS = [{0.4: 0.4, 1.0: 0.7}, {0.4: 0.4, 1.0: 0.9}, {0.4: 0.4, 1.0: 0.5}]


@pytest.fixture
def swept(plan: Plan) -> Plan:
    asked = DiagnosisPlan(arms=("grpo", "proas"), every_seed=True, kind="temperatures")
    return plan.with_seeds(SEEDS).model_copy(update={"diagnoses": (asked,)})


@pytest.fixture
def found(swept: Plan, record: MakeRecord) -> Findings:
    arms = ("grpo", "loop-mask", "proas")
    return findings(swept, Results(tuple(record(arm, seed, [0.1, 0.2]) for arm in arms for seed in SEEDS)))


def keep(
    kept: Path,
    plan: Plan,
    arm: str,
    seed: int,
    success: Mapping[float, float],
    *,
    games: str = "g1",
    name: str = "temperatures",
) -> None:
    place = kept / f"{arm}-s{seed}" / f"{name}.json"
    place.parent.mkdir(parents=True, exist_ok=True)
    run = f"runs/kitchen/{arm}-s{seed}-{run_place(arm_digest(plan, arm), games)}"
    rows = [{"temperature": t, "success": {"value": value}} for t, value in success.items()]
    document = {"run": run, "iteration": 3, "data": "games/valid-4.tar.xz", "tasks": 4, "rows": rows}
    place.write_text(json.dumps(document), encoding="utf-8")


def test_each_arm_at_its_own_best(swept: Plan, found: Findings, tmp_path: Path) -> None:
    for seed in SEEDS:
        keep(tmp_path, swept, "grpo", seed, GRPO[seed])
        keep(tmp_path, swept, "proas", seed, PROAS[seed])
    (table,) = sweep_tables(found, tmp_path)
    assert table.columns[:5] == ("arm", "seeds", "T=0.4", "T=1", "best at")
    # At their best: 0.7 - 0.5, 0.9 - 0.6, 0.5 - 0.4; mean 0.2, s = 0.1, t(2) = 4.303, over sqrt(3).
    assert table.rows == (
        ("grpo", "3", "50.0 ± 10.0", "20.0 ± 0.0", "0.4", "-", "-20.0 [-44.8, +4.8]"),
        ("proas", "3", "40.0 ± 0.0", "70.0 ± 20.0", "1", "+20.0 [-4.8, +44.8]", "-"),
    )


def test_what_another_run_gave_is_left_out(swept: Plan, found: Findings, tmp_path: Path) -> None:
    assert sweep_tables(found, tmp_path) == []
    keep(tmp_path, swept, "grpo", 0, GRPO[0], games="g2")
    keep(tmp_path, swept, "proas", 0, PROAS[0])
    keep(tmp_path, swept, "loop-mask", 0, PROAS[0])  # the plan does not ask for it
    (table,) = sweep_tables(found, tmp_path)
    assert [row[0] for row in table.rows] == ["proas"]


def test_what_is_no_result_is_named(swept: Plan, found: Findings, tmp_path: Path) -> None:
    keep(tmp_path, swept, "grpo", 0, GRPO[0])
    (tmp_path / "grpo-s0" / "temperatures.json").write_text("[]", encoding="utf-8")
    with pytest.raises(DataError, match=r"grpo-s0/temperatures.json is no result"):
        sweep_tables(found, tmp_path)


def test_a_sweep_over_a_split_is_a_table_of_its_own(swept: Plan, found: Findings, tmp_path: Path) -> None:
    split = [d.model_copy(update={"name": "valid", "options": {"split": "valid"}}) for d in swept.diagnoses]
    both = swept.model_copy(update={"diagnoses": (*swept.diagnoses, *split)})
    for seed in SEEDS:
        keep(tmp_path, swept, "grpo", seed, GRPO[seed])
        keep(tmp_path, swept, "grpo", seed, PROAS[seed], name="valid")
    own, other = sweep_tables(replace(found, plan=both), tmp_path)
    assert (own.title, other.title) == ("Over temperatures", "On valid")
    assert own.caption.startswith("Percent of the validation tasks that")
    assert other.caption.startswith("Percent of the 4 tasks of valid-4.tar.xz that")
    assert own.rows[0][2] == "50.0 ± 10.0"
    assert other.rows[0][2] == "40.0 ± 0.0"


def test_like_arms_of_two_plans_are_counted_together(swept: Plan, record: MakeRecord, tmp_path: Path) -> None:
    file = tmp_path / "again.toml"
    file.write_text(
        'question = "And again?"\npreset = "smoke"\nseeds = [7]\n[warm.other]\nseed = 1\n[graphs.plans]\n[arms.grpo]\n'
        '[arms.proas]\nshaping = "membership"\ngraph = "plans"\nsettings = { "shaping.apr" = "ramp" }\n'
        '[[diagnoses]]\narms = ["grpo", "proas"]\nevery_seed = true\nkind = "temperatures"\n',
        encoding="utf-8",
    )
    again = load_plan(str(file))
    there = {"experiment": again.name, "games": {"identity": "g2", "label": "other games"}}
    arms = ("grpo", "proas")
    records = [record(arm, seed, [0.1, 0.2]) for arm in arms for seed in SEEDS[:2]]
    records += [record(arm, 7, [0.1, 0.2], digest=arm_digest(again, arm), **there) for arm in arms]
    results = Results(tuple(records))
    plan = swept.model_copy(update={"together": (str(file), str(file))})  # plans may share runs
    for seed in SEEDS[:2]:
        keep(tmp_path, plan, "grpo", seed, GRPO[seed])
        keep(tmp_path, plan, "proas", seed, PROAS[seed])
    keep(tmp_path, again, "grpo", 7, {0.4: 0.1, 1.0: 0.5}, games="g2")
    keep(tmp_path, again, "proas", 7, {0.4: 0.7, 1.0: 0.2}, games="g2")
    alone, together = sweep_tables(findings(plan, results), tmp_path)
    assert [row[0] for row in alone.rows] == ["grpo", "proas"]
    assert together.columns == ("arm", "against", "pairs", "T=0.4", "T=1", "each at its best")
    # At 0.4: 0.4 - 0.5, 0.4 - 0.6, 0.7 - 0.1. At 1: 0.7 - 0.2, 0.9 - 0.2, 0.2 - 0.5. At their best: 0.7 - 0.5,
    # 0.9 - 0.6 and, in the other plan, 0.7 - 0.5.
    at_04, at_1, at_best = "+10.0 [-98.3, +118.3]", "+30.0 [-101.5, +161.5]", "+23.3 [+9.0, +37.7]"
    assert together.rows == (("proas", "grpo", "3", f"{at_04}, 1 of 3", f"{at_1}, 2 of 3", f"{at_best}, 3 of 3"),)
