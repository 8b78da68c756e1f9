"""Runs side by side, from metrics written by hand."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from proas.errors import DataError, UsageError
from proas.shaping import preset as shaping_preset
from proas.training.comparison import compare_runs
from proas.training.config import TrainConfig
from proas.training.over_seeds import SpeedUp
from proas.training.report import measurements, write_report
from proas.training.run_directory import RunDirectory

PLAIN = TrainConfig(iterations=4)
SHAPED = PLAIN.with_shaping(shaping_preset("membership"))


def made(
    folder: Path, name: str, config: TrainConfig, seed: int, success: list[float], *, init: str = ""
) -> RunDirectory:
    directory = RunDirectory(folder / name)
    directory.begin(config.model_copy(update={"seed": seed}), graph="", init=init and str(folder / init))
    for iteration, value in enumerate(success):
        evaluated = {
            f"evaluation/t{t:g}/success": value if t < 1 else value / 2 for t in config.evaluation.temperatures
        }
        row = {"iteration": float(iteration), **evaluated}
        if iteration and config.algorithm != "sft":
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


def test_arms_are_pooled_paired_and_timed(runs: list[RunDirectory]) -> None:
    found = compare_runs(runs, target=0.6)
    plain, shaped = found.arms
    assert (plain.name, shaped.name) == ("grpo", "grpo+proas-membership")
    assert plain.seeds == shaped.seeds == (0, 1)
    assert plain.final[0.4].mean == pytest.approx((0.5666667 + 0.5) / 2)  # the last three of each
    assert plain.final[1.0].mean == pytest.approx(plain.final[0.4].mean / 2)
    assert not plain.difference
    assert not plain.speed_up
    assert shaped.difference[0.4].mean == pytest.approx(((0.8 - 0.5666667) + (0.7 - 0.5)) / 2)
    assert shaped.difference[1.0].mean == pytest.approx(shaped.difference[0.4].mean / 2)
    assert shaped.difference[0.4].pairs == 2
    assert (plain.reached[0.4].iterations, shaped.reached[0.4].iterations) == (3.5, 1.5)
    assert shaped.speed_up[0.4] == SpeedUp(3.5 / 1.5, at_least=False)
    assert plain.shares["environment"] == pytest.approx(0.1)
    assert plain.shares["graph"] is None  # it was not timed
    assert plain.curves["T=0.4"].mean == pytest.approx((0.2, 0.25, 0.4, 0.55, 0.65))
    assert found.warnings == ()


def test_a_baseline_that_does_not_get_there_bounds_the_speed_up(runs: list[RunDirectory]) -> None:
    plain, shaped = compare_runs(runs, target=0.65).arms
    assert plain.reached[0.4].shown() == "> 4.0 (1 of 2)"  # at 4 in one seed, and not by 4 in the other
    assert shaped.speed_up[0.4] == SpeedUp(4 / 2.5, at_least=True)  # at 2 and at 3
    assert shaped.speed_up[0.4].shown() == "≥ 1.60"
    assert 1.0 not in shaped.speed_up  # at most 45 %: it does not get there itself


def test_a_target_that_all_have_before_training_says_so(runs: list[RunDirectory]) -> None:
    found = compare_runs(runs, target=0.2)
    assert 0.4 not in found.arms[1].speed_up
    assert found.warnings == ("success at T=0.4 is 20% or more before training: a higher target tells the speed-up",)


def test_difference_and_speed_up_at_each_temperature_that_both_have(tmp_path: Path) -> None:
    cold = PLAIN.updated({"evaluation.temperatures": "[0.4]"})
    made(tmp_path, "plain", PLAIN, 0, [0.2, 0.4, 0.8])
    made(tmp_path, "cold", cold.with_shaping(shaping_preset("membership")), 0, [0.2, 0.8, 0.8])
    found = compare_runs([RunDirectory(tmp_path / name) for name in ("plain", "cold")], target=0.4)
    assert found.temperatures == (0.4, 1.0)
    plain, other = found.arms
    assert set(plain.final) == {0.4, 1.0}
    assert set(other.final) == set(other.difference) == set(other.speed_up) == {0.4}
    assert measurements(other, found) == [
        ("T=0.4", "60.0", "+13.3", "1.0", "1.00"),
        ("T=1", "-", "-", "-", "-"),
        ("rollouts", "80.0", "-", "-", "-"),
    ]
    document = json.loads(json.dumps(found.to_dict()))
    assert document["arms"][1]["speed_up"] == {"0.4": {"factor": 1.0, "at_least": False}}
    assert list(document["arms"][1]["difference"]) == ["0.4"]
    assert "evaluation.temperatures ([0.4, 1.0], [0.4])" in found.warnings[0]


def test_what_was_not_measured_has_no_number(tmp_path: Path) -> None:
    warm = made(tmp_path, "warm", PLAIN.updated({"algorithm": "sft"}), 0, [0.2])
    found = compare_runs([warm, made(tmp_path, "plain", PLAIN, 0, [0.2, 0.3])], target=0.5)
    imitated = found.arms[0]
    assert (imitated.rollouts, imitated.seconds) == (None, None)
    assert set(imitated.shares.values()) == {None}
    assert imitated.curves["rollouts"].iterations == ()
    assert imitated.curves["T=0.4"].deviation is None  # one run has no spread
    text = write_report(found, tmp_path / "report")[1].read_text(encoding="utf-8")
    assert "| sft | 0 | rollouts | - | - | - | - |" in text
    assert "| sft | - | - | - | - | - | - | - |" in text


def test_an_evaluation_that_some_runs_lack_is_told(runs: list[RunDirectory]) -> None:
    file = runs[1].path / "metrics.jsonl"
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    kept = [{name: value for name, value in row.items() if "t1" not in name} for row in rows]
    file.write_text("".join(json.dumps(row) + "\n" for row in kept), encoding="utf-8")
    found = compare_runs(runs, target=0.6)
    assert found.warnings == ("grpo: success at T=1 is that of 1 of 2 runs, the others have none",)
    assert (found.arms[0].reached[1.0].seeds, found.arms[1].difference[1.0].pairs) == (1, 1)


def names_of(*runs: RunDirectory) -> list[str]:
    return [name for _, name, _ in compare_runs(runs, target=0.5).runs]


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        ({"update.learning_rate": 0.1, "update.kl": 0.1}, "grpo update.learning_rate=0.1 update.kl=0.1"),
        ({"graph_base": "plans"}, "grpo graph=plans"),
        ({"graph_emptied": True}, "grpo graph_emptied=true"),
        ({"estimator.gamma": 0.5}, "grpo estimator.gamma=0.5"),
        ({"warm_start.skill": 0.9}, "grpo warm_start.skill=0.9"),
        ({"policy.width": 64}, "grpo policy.width=64"),
        ({"shaping.rows": "trajectory"}, "grpo shaping.rows=trajectory"),
        ({"workers": 2, "checkpoint_every": 1, "rollouts_every": 1, "update.micro_batch_tokens": 99}, "grpo"),
    ],
)
def test_runs_that_differ_in_what_decides_the_result_are_arms_of_their_own(
    tmp_path: Path, settings: Mapping[str, object], name: str
) -> None:
    usual = made(tmp_path, "usual", PLAIN, 0, [0.2, 0.3])
    assert names_of(usual, made(tmp_path, "other", PLAIN.updated(settings), 2, [0.2, 0.3])) == ["grpo", name]


def test_one_seed_with_two_graphs_is_two_arms_without_a_warning(tmp_path: Path) -> None:
    empty = made(tmp_path, "empty", SHAPED, 0, [0.2, 0.3])
    seeded = made(tmp_path, "seeded", SHAPED.updated({"graph_base": "plans"}), 0, [0.2, 0.5])
    found = compare_runs([empty, seeded], target=0.5, baseline="grpo+proas-membership")
    assert [arm.name for arm in found.arms] == ["grpo+proas-membership", "grpo+proas-membership graph=plans"]
    assert found.arms[1].difference[0.4].mean == pytest.approx(0.1)
    assert found.warnings == ()


def test_an_arm_is_named_by_what_differs_from_its_preset(tmp_path: Path) -> None:
    tiny = PLAIN.updated({"preset": "tiny-alfworld", "update.minibatches": 4})
    usual, fewer = made(tmp_path, "usual", tiny, 0, [0.2]), tiny.updated({"update.minibatches": 2})
    assert names_of(made(tmp_path, "fewer", fewer, 0, [0.2]), usual) == ["grpo update.minibatches=2", "grpo"]
    longer = made(tmp_path, "longer", PLAIN.updated({"iterations": 9}), 1, [0.2])
    shorter = made(tmp_path, "shorter", PLAIN, 0, [0.2])
    assert names_of(longer, shorter) == ["grpo iterations=9", "grpo iterations=4"]  # its preset has 150


def test_a_start_is_told_by_the_settings_of_its_run(tmp_path: Path) -> None:
    imitation = PLAIN.updated({"algorithm": "sft"})
    for seed in (0, 1):
        made(tmp_path, f"warm{seed}", imitation, seed, [0.2])
    made(tmp_path, "better", imitation.updated({"warm_start.skill": 0.9}), 0, [0.2])
    own = [made(tmp_path, f"g{seed}", PLAIN, seed, [0.2, 0.3], init=f"warm{seed}") for seed in (0, 1)]
    assert names_of(*own) == ["grpo", "grpo"]  # a warm start of each seed's own
    other = made(tmp_path, "g2", PLAIN, 2, [0.2, 0.3], init="better")
    assert names_of(*own, other) == ["grpo", "grpo", "grpo init.warm_start.skill=0.9"]
    alone = made(tmp_path, "g3", PLAIN, 3, [0.2, 0.3])
    assert names_of(*own, alone) == ["grpo init=warm0", "grpo init=warm0", "grpo"]
    ignored = made(tmp_path, "g4", PLAIN.updated({"policy.width": 512}), 4, [0.2, 0.3], init="warm0")
    assert names_of(*own, ignored) == ["grpo"] * 3  # whoever starts from a run has that run's policy


def test_one_seed_from_two_starts_is_two_arms(tmp_path: Path) -> None:
    for seed in (0, 1):
        made(tmp_path, f"warm{seed}", PLAIN.updated({"algorithm": "sft"}), seed, [0.2])
    both = [made(tmp_path, f"g{seed}", PLAIN, 0, [0.2, 0.3], init=f"warm{seed}") for seed in (0, 1)]
    found = compare_runs(both, target=0.5)
    assert [arm.name for arm in found.arms] == ["grpo init=warm0", "grpo init=warm1"]
    assert "init (warm0, warm1)" in found.warnings[0]
    lost = [made(tmp_path, f"l{seed}", PLAIN, seed, [0.2, 0.3], init=f"gone{seed}") for seed in (0, 1)]
    assert names_of(*lost) == ["grpo init=gone0", "grpo init=gone1"]  # nothing says that they are alike


def test_a_run_that_went_on_is_as_long_as_its_result_says(tmp_path: Path) -> None:
    longer = made(tmp_path, "longer", PLAIN.updated({"iterations": 2}), 0, [0.2] * 5)
    longer.finish({"iterations": 4})
    assert names_of(longer, made(tmp_path, "whole", PLAIN, 1, [0.2] * 5)) == ["grpo", "grpo"]


def test_another_baseline_can_be_chosen(runs: list[RunDirectory]) -> None:
    found = compare_runs(runs, target=0.6, baseline="grpo+proas-membership")
    assert found.arms[0].name == "grpo+proas-membership"
    with pytest.raises(UsageError, match="no run is of the arm 'ppo'"):
        compare_runs(runs, target=0.6, baseline="ppo")


def test_unlike_runs_are_compared_with_a_warning(tmp_path: Path) -> None:
    one = made(tmp_path, "a", PLAIN, 0, [0.1, 0.2])
    other = made(tmp_path, "b", SHAPED.updated({"tasks": 4, "options.rule": "new"}), 0, [0.1])
    found = compare_runs([one, other], target=0.5)
    assert found.warnings == (
        "the runs differ in more than the method (algorithm, shaping, graph): tasks (16, 4), options.rule (new)",
        "the runs are of different length: 0, 1 iterations",
    )


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
    assert "| grpo+proas-membership | 0, 1 | T=0.4 | 75.0 ± 7.1 | +21.7 | 1.5 | 2.33 |" in text
    assert "| grpo+proas-membership | 0, 1 | T=1 | 37.5 ± 3.5 | +10.8 | > 4.0 (0 of 2) | - |" in text
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


@pytest.mark.parametrize(
    ("line", "field"),
    [
        (b'{"evaluation/t0.4/success": 1}', "iteration: holds no number"),
        (b'{"iteration": "x"}', "iteration: holds no number"),
        (b'{"iteration": 9, "rollout/success": null}', "rollout/success: holds no number"),
        (b'{"iteration": 9, "rollout/success": NaN}', "rollout/success: holds no number"),
        (b"\xff\xfe\x00garbage", "holds no JSON object"),
        (b"[1]", "holds no JSON object"),
    ],
)
def test_damaged_metrics_are_named_with_their_line(runs: list[RunDirectory], line: bytes, field: str) -> None:
    file = runs[0].path / "metrics.jsonl"
    first, rest = file.read_bytes().split(b"\n", 1)
    file.write_bytes(first + b"\n" + line + b"\n" + rest)
    with pytest.raises(DataError) as caught:
        compare_runs(runs, target=0.5)
    assert caught.value.message == f"{file}:2: {field}"
    assert "damaged" in caught.value.hint
    with pytest.raises(DataError, match=r"metrics\.jsonl:2"):
        runs[0].forget_after(2)


@pytest.mark.parametrize("cut", [b'{"iteration": 5.0, "rollo', b"\xe2\x82"])
def test_a_last_line_that_is_still_being_written_is_left_out(runs: list[RunDirectory], cut: bytes) -> None:
    with (runs[0].path / "metrics.jsonl").open("ab") as file:
        file.write(cut)
    assert len(list(runs[0].metrics())) == 5


@pytest.mark.parametrize("line", ['{"iteration": 1}', '{"iteration": 1, "temperature": 0.4, "success": 1}', "0"])
def test_damaged_outcomes_are_named_with_their_line(runs: list[RunDirectory], line: str) -> None:
    (runs[0].path / "outcomes.jsonl").write_text(line + "\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"outcomes\.jsonl:1: "):
        list(runs[0].outcomes())


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
