"""Runs side by side, from metrics written by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from proas.errors import UsageError
from proas.shaping import preset as shaping_preset
from proas.training.comparison import Interval, Spread, compare_runs, first_at
from proas.training.config import TrainConfig
from proas.training.report import write_report
from proas.training.run_directory import RunDirectory

PLAIN = TrainConfig(iterations=4)
SHAPED = PLAIN.with_shaping(shaping_preset("membership"))


def made(folder: Path, name: str, config: TrainConfig, seed: int, success: list[float]) -> RunDirectory:
    directory = RunDirectory(folder / name)
    directory.begin(config.model_copy(update={"seed": seed}), graph="", init="")
    for iteration, value in enumerate(success):
        row = {"iteration": float(iteration), "evaluation/t0.4/success": value, "evaluation/t1/success": value / 2}
        if iteration:
            row |= {"rollout/success": value, "seconds/total": 10.0, "seconds/environment": 1.0, "seconds/update": 4.0}
        directory.append(row)
    return directory


@pytest.fixture
def runs(tmp_path: Path) -> list[RunDirectory]:
    return [
        made(tmp_path, "g0", PLAIN, 0, [0.2, 0.3, 0.4, 0.6, 0.7]),
        made(tmp_path, "g1", PLAIN, 1, [0.2, 0.2, 0.4, 0.5, 0.6]),
        made(tmp_path, "p0", SHAPED, 0, [0.2, 0.6, 0.7, 0.8, 0.9]),
        made(tmp_path, "p1", SHAPED, 1, [0.2, 0.5, 0.6, 0.7, 0.8]),
    ]


def test_an_iteration_reaches_a_target_once() -> None:
    assert first_at({0: 0.2, 5: 0.6, 10: 0.5, 15: 0.7}, 0.6) == 5
    assert first_at({0: 0.2}, 0.6) is None


def test_intervals_by_hand() -> None:
    found = Interval.of([0.1, 0.2, 0.3])
    # s = 0.1, s / sqrt(3) = 0.0577, t(2) = 4.303
    assert (found.mean, found.low, found.high) == pytest.approx((0.2, 0.2 - 0.2484, 0.2 + 0.2484), abs=1e-4)
    for few in ([0.1], [0.1, 0.3]):
        assert Interval.of(few).low is None
    assert Spread.of([0.5]).deviation is None


def test_arms_are_pooled_paired_and_timed(runs: list[RunDirectory]) -> None:
    found = compare_runs(runs, target=0.6)
    plain, shaped = found.arms
    assert (plain.name, shaped.name) == ("grpo", "grpo+proas-membership")
    assert plain.seeds == shaped.seeds == (0, 1)
    assert plain.final[0.4].mean == pytest.approx((0.5666667 + 0.5) / 2)  # the last three of each
    assert plain.final[1.0].mean == pytest.approx(plain.final[0.4].mean / 2)
    assert plain.difference is None
    assert shaped.difference is not None
    assert shaped.difference.mean == pytest.approx(((0.8 - 0.5666667) + (0.7 - 0.5)) / 2)
    assert shaped.difference.pairs == 2
    assert (plain.iterations_to_target, shaped.iterations_to_target) == (3.5, 1.5)
    assert shaped.speed_up == pytest.approx(3.5 / 1.5)
    assert plain.shares["environment"] == pytest.approx(0.1)
    assert plain.curves["T=0.4"].mean == pytest.approx((0.2, 0.25, 0.4, 0.55, 0.65))
    assert found.warnings == ()


def test_a_target_that_a_seed_never_reached_has_no_speed_up(runs: list[RunDirectory]) -> None:
    plain, shaped = compare_runs(runs, target=0.65).arms
    assert plain.iterations_to_target is None
    assert shaped.speed_up is None


def test_another_baseline_can_be_chosen(runs: list[RunDirectory]) -> None:
    found = compare_runs(runs, target=0.6, baseline="grpo+proas-membership")
    assert found.arms[0].name == "grpo+proas-membership"
    with pytest.raises(UsageError, match="no run is of the arm 'ppo'"):
        compare_runs(runs, target=0.6, baseline="ppo")


def test_unlike_runs_are_compared_with_a_warning(tmp_path: Path) -> None:
    one = made(tmp_path, "a", PLAIN, 0, [0.1, 0.2])
    other = made(tmp_path, "b", SHAPED.updated({"tasks": 4}), 0, [0.1])
    found = compare_runs([one, other], target=0.5)
    assert [warning.split(",")[0] for warning in found.warnings] == [
        "the runs differ in tasks",
        "the runs are of different length: 0",
    ]


def test_faults_are_named(tmp_path: Path, runs: list[RunDirectory]) -> None:
    with pytest.raises(UsageError, match="twice"):
        compare_runs([runs[0], runs[0]], target=0.5)
    with pytest.raises(UsageError, match="holds no run"):
        compare_runs([RunDirectory(tmp_path / "nowhere")], target=0.5)
    empty = RunDirectory(tmp_path / "empty")
    empty.begin(PLAIN, graph="", init="")
    with pytest.raises(UsageError, match="no metrics"):
        compare_runs([empty], target=0.5)


def test_the_report_holds_table_runs_and_a_figure_that_is_the_same_twice(
    runs: list[RunDirectory], tmp_path: Path
) -> None:
    found = compare_runs(runs, target=0.6)
    files = {file.name: file for file in write_report(found, tmp_path / "report")}
    text = files["report.md"].read_text(encoding="utf-8")
    assert "| grpo+proas-membership | 0, 1 |" in text
    assert all(run.path.name in text for run in runs)
    drawn = files["curves.svg"].read_bytes()
    write_report(found, tmp_path / "report")
    assert files["curves.svg"].read_bytes() == drawn


def test_metrics_that_were_cut_off_and_later_ones_are_left_out(runs: list[RunDirectory]) -> None:
    directory = runs[0]
    with (directory.path / "metrics.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"iteration": 5.0, "rollo')
    directory.forget_after(2)
    assert [row["iteration"] for row in directory.metrics()] == [0.0, 1.0, 2.0]


def test_a_run_is_not_begun_twice(runs: list[RunDirectory]) -> None:
    runs[0].begin(SHAPED, graph="", init="")  # it has no checkpoint: there is nothing to go on with
    assert list(runs[0].metrics()) == []
    assert runs[0].document()["arm"] == SHAPED.arm
    with runs[0].held(), pytest.raises(UsageError, match="another process trains"):
        runs[0].begin(PLAIN, graph="", init="")
    (runs[0].checkpoints / "iteration-000000.pt").write_bytes(b"")
    with pytest.raises(UsageError, match="holds a run already"):
        runs[0].begin(PLAIN, graph="", init="")
    document = runs[1].document()
    assert document["arm"] == "grpo"
    assert document["software"]["proas"]


def test_two_processes_do_not_train_in_one_folder(runs: list[RunDirectory]) -> None:
    with runs[0].held(), pytest.raises(UsageError, match="another process trains"), RunDirectory(runs[0].path).held():
        pass
    with runs[0].held():
        pass
