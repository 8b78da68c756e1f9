"""What tables say, worked out on paper."""

from __future__ import annotations

from pathlib import Path

import pytest

from proas.experiments.plan import Plan
from proas.experiments.plan_files import load_plan
from proas.experiments.records import Results
from proas.experiments.schedule import arm_digest
from proas.experiments.statistics import Findings, findings
from proas.experiments.tables import Table, all_tables
from tests.unit.experiments.conftest import MakeRecord

# Evaluations at iterations 0, 5, ..., 20; early is the mean of 5 to 15, late of 10 to 20.
GRPO = ([0.1, 0.2, 0.3, 0.4, 0.5], [0.1, 0.3, 0.4, 0.5, 0.6])
PROAS = ([0.1, 0.4, 0.5, 0.6, 0.7], [0.1, 0.5, 0.8, 0.8, 0.8])


@pytest.fixture
def found(plan: Plan, record: MakeRecord) -> Findings:
    records = [record("grpo", seed, GRPO[seed]) for seed in (0, 1)]
    records += [record("proas", seed, PROAS[seed]) for seed in (0, 1)]
    return findings(plan, Results(tuple(records)))


def table(found: Findings, name: str) -> Table:
    return next(one for one in all_tables(found) if one.name == name)


def row(found: Findings, name: str, arm: str) -> dict[str, str]:
    one = table(found, name)
    return dict(zip(one.columns, next(cells for cells in one.rows if cells[0] == arm), strict=True))


def test_early_late_and_last_success(found: Findings) -> None:
    cells = row(found, "success", "grpo")
    assert cells["early, T=0.4"] == "35.0 ± 7.1"  # 0.30 and 0.40
    assert cells["late, T=0.4"] == "45.0 ± 7.1"  # 0.40 and 0.50
    assert cells["last, T=0.4"] == "55.0 ± 7.1"
    assert cells["late, T=1"] == "22.5 ± 3.5"
    assert cells["rollouts, late"] == "55.0 ± 7.1"
    assert "score, T=0.4" not in cells  # 10 for a success and -0.1 for each of 10 invalid steps: no more than success


def test_how_they_play_late(plan: Plan, record: MakeRecord) -> None:
    values = {
        "success": [0.0] * 4,
        "reward": [0.0] * 4,
        "steps": [40.0, 30.0, 20.0, 10.0],
        "invalid": [0.9, 0.1, 0.3, 0.5],
    }
    other = values | {"invalid": [0.9, 0.2, 0.4, 0.6]}
    records = [
        record("grpo", seed, [0.0] * 4, evaluations={"0.4": of, "1": values}) for seed, of in enumerate((values, other))
    ]
    cells = row(findings(plan, Results(tuple(records))), "play", "grpo")
    assert (cells["steps, T=0.4"], cells["invalid, T=0.4"]) == ("20.0", "35.0 ± 7.1")  # 0.3 and 0.4
    assert cells["invalid, T=1"] == "30.0 ± 0.0"


def test_a_score_that_says_more_than_success_is_shown(plan: Plan, record: MakeRecord) -> None:
    part = {
        t: {"success": [0.0, 0.2], "reward": [4.0, 5.0], "steps": [10.0, 10.0], "invalid": [0.0, 0.1]}
        for t in ("0.4", "1")
    }
    one = record("grpo", 0, [0.0, 0.2], evaluations=part)
    cells = row(findings(plan, Results((one,))), "success", "grpo")
    assert cells["score, T=0.4"] == "45.5"  # mean of 4.0 and 5.0 + 0.1, of 10


def test_differences_are_paired_by_seed(plan: Plan, record: MakeRecord) -> None:
    third = {"grpo": GRPO[0], "proas": [0.1, 0.3, 0.5, 0.5, 0.5]}
    records = [record(arm, seed, of[seed]) for arm, of in (("grpo", GRPO), ("proas", PROAS)) for seed in (0, 1)]
    records += [record(arm, 2, success) for arm, success in third.items()]
    found = findings(plan.with_seeds((0, 1, 2)), Results(tuple(records)))
    cells = row(found, "differences at T=0.4", "proas")
    # Late: 0.6 - 0.4, 0.8 - 0.5 and 0.5 - 0.4; mean 0.2, s = 0.1, t(2) = 4.303, over sqrt(3).
    assert cells["late, against grpo"] == "+20.0 [-4.8, +44.8]"
    assert cells["late, higher in"] == "-"  # that of the second reference, which has no records
    own = next(c for c in table(found, "differences at T=0.4").rows if c[0] == "proas")
    # Over the run: 0.55 - 0.35, 0.725 - 0.45 and 0.45 - 0.35; mean 0.1917, s = 0.0878.
    # The last alone: 0.7 - 0.5, 0.8 - 0.6 and 0.5 - 0.5; mean 0.1333, s = 0.1155.
    assert own[2:4] == ("+19.2 [-2.6, +41.0]", "+13.3 [-15.4, +42.0]")
    assert own[5] == "3 of 3"
    # The records solve half as much at the other temperature.
    assert row(found, "differences at T=1", "proas")["late, against grpo"] == "+10.0 [-2.4, +22.4]"


def test_like_arms_of_two_plans_are_counted_together(plan: Plan, record: MakeRecord, tmp_path: Path) -> None:
    file = tmp_path / "again.toml"
    file.write_text(
        'question = "And again?"\npreset = "smoke"\nseeds = [7]\n[warm.other]\nseed = 1\n[graphs.plans]\n[arms.grpo]\n'
        '[arms.loop-mask]\nshaping = "paper"\n'  # the same name, another thing
        '[arms.proas]\nnote = "in other words"\nshaping = "membership"\ngraph = "plans"\n'
        'settings = { "shaping.apr" = "ramp" }\n',
        encoding="utf-8",
    )
    again = load_plan(str(file))
    there = {"experiment": again.name, "games": {"identity": "g2", "label": "other games"}}
    records = [record(arm, seed, of[seed]) for arm, of in (("grpo", GRPO), ("proas", PROAS)) for seed in (0, 1)]
    records += [record("loop-mask", seed, GRPO[seed]) for seed in (0, 1)]
    for arm, success in {"grpo": GRPO[0], "loop-mask": GRPO[0], "proas": [0.1, 0.3, 0.5, 0.5, 0.5]}.items():
        records.append(record(arm, 7, success, digest=arm_digest(again, arm), **there))
    twice = (str(file), str(file))  # plans may share runs
    found = findings(plan.model_copy(update={"together": twice}), Results(tuple(records)))
    one = next(t for t in all_tables(found) if t.name == "together")
    assert [cells[:4] for cells in one.rows] == [("proas", "grpo", "0.4", "3"), ("proas", "grpo", "1", "3")]
    # The late differences of the test above, one of them from the other plan.
    assert one.rows[0][4] == "+20.0 [-4.8, +44.8]"
    assert one.rows[0][7] == "3 of 3"


def test_two_seeds_have_no_interval(found: Findings) -> None:
    assert row(found, "differences at T=0.4", "proas")["late, against grpo"] == "+25.0"


def test_targets_reached_or_not(found: Findings) -> None:
    grpo, proas = row(found, "speed at T=0.4", "grpo"), row(found, "speed at T=0.4", "proas")
    assert (grpo["50 % after"], proas["50 % after"]) == ("17.5", "7.5")  # 20 and 15; 10 and 5
    assert next(c for c in table(found, "speed at T=0.4").rows if c[0] == "proas")[2] == "2.33"
    assert proas["90 % after"] == "> 20.0 (0 of 2)"
    assert proas["speed-up"] == "-"


def test_a_baseline_that_does_not_get_there_bounds_the_speed_up(plan: Plan, record: MakeRecord) -> None:
    records = (
        record("grpo", 0, [0.1, 0.2, 0.3]),
        record("grpo", 1, [0.1, 0.5, 0.5]),
        record("proas", 0, [0.1, 0.6, 0.6]),
        record("proas", 1, [0.1, 0.6, 0.6]),
    )
    found = findings(plan, Results(records))
    assert (
        row(found, "speed at T=0.4", "grpo")["50 % after"] == "> 7.5 (1 of 2)"
    )  # 10, which is the run's length, and 5
    assert next(c for c in table(found, "speed at T=0.4").rows if c[0] == "proas")[2] == "≥ 1.50"


def test_the_bootstrap_over_tasks(plan: Plan, record: MakeRecord) -> None:
    flat = [0.1, 0.5, 0.5]
    records = [record("grpo", seed, flat, outcomes="0000") for seed in (0, 1)]
    records += [record("proas", seed, flat, outcomes="3333") for seed in (0, 1)]
    difference = {a.name: a for a in findings(plan, Results(tuple(records))).arms}["proas"].against["0.4"]["grpo"]
    assert difference.over_tasks == (1.0, 1.0)  # every task, in every draw
    mixed = [record("proas", seed, flat, outcomes="3003") for seed in (0, 1)]
    found = findings(plan, Results((*records[:2], *mixed)))
    low, high = {a.name: a for a in found.arms}["proas"].against["0.4"]["grpo"].over_tasks or (0, 0)
    assert 0.0 <= low < 0.5 < high <= 1.0  # four tasks, two of them solved: 0.5 on average


def test_without_outcomes_in_each_seed_there_is_no_bootstrap(plan: Plan, record: MakeRecord) -> None:
    flat = [0.1, 0.5, 0.5]
    records = (record("grpo", 0, flat, outcomes="00"), record("proas", 0, flat))
    found = findings(plan, Results(records))
    assert {a.name: a for a in found.arms}["proas"].against["0.4"]["grpo"].over_tasks is None


def test_one_seed_has_no_interval(plan: Plan, record: MakeRecord) -> None:
    found = findings(plan, Results((record("grpo", 0, GRPO[0]), record("proas", 0, PROAS[0]))))
    assert row(found, "differences at T=0.4", "proas")["late, against grpo"] == "+20.0"
    assert set(found.missing) == {"grpo-s1", "loop-mask-s0", "loop-mask-s1", "proas-s1"}


def test_diagnostics_compare_the_first_and_the_last_quarter(found: Findings) -> None:
    cells = row(found, "diagnostics", "proas")
    assert cells["mask rate"] == "0.5 → 0.3"


def test_records_of_other_settings_and_other_games_are_left_out(plan: Plan, record: MakeRecord) -> None:
    records = (
        record("grpo", 0, GRPO[0]),
        record("grpo", 1, GRPO[1]),
        record("proas", 0, PROAS[0], digest="stale"),
        record("proas", 1, PROAS[1], games={"identity": "other", "label": ""}),
    )
    found = findings(plan, Results(records))
    assert [arm.name for arm in found.arms] == ["grpo"]
    assert any("other settings" in note and "proas-s0" in note for note in found.notes)
    assert any("other games" in note for note in found.notes)


def test_an_arm_shares_the_records_of_another_plan(plan: Plan, record: MakeRecord) -> None:
    elsewhere = record("grpo", 0, GRPO[0], experiment="main")
    found = findings(plan, Results((elsewhere,)))
    assert [arm.name for arm in found.arms] == ["grpo"]


def test_without_records_there_are_no_tables(plan: Plan) -> None:
    assert all_tables(findings(plan, Results(()))) == ()
