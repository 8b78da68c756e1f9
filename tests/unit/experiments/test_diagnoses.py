"""The diagnoses that the report's plan names are those whose results are committed, with the same options."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
import typer.main

from proas.cli.app import app
from proas.experiments.commands import as_text
from proas.experiments.data import Games
from proas.experiments.diagnoses import diagnoses_of
from proas.experiments.plan_files import load_plan
from proas.experiments.schedule import Folders, schedule

KEPT = Path(__file__).resolve().parents[3] / "experiments" / "diagnoses"
COMMANDS = typer.main.get_command(app).commands["diagnose"].commands  # type: ignore[attr-defined]
CALLED = {"supports": "support", "player": "walker"}
"""Settings of a result whose options have other names."""

PLAN = load_plan("main")
GAMES = Games("alfworld", "samples", "", "", "id", 12, 0)


@pytest.mark.parametrize("kind", ["noise", "suppress", "labels"])
def test_options_are_those_of_the_committed_results(kind: str) -> None:
    (wanted,) = (diagnosis for diagnosis in PLAN.diagnoses if diagnosis.kind == kind)
    recorded = json.loads((KEPT / f"{wanted.arms[0]}-s{wanted.seed}" / f"{kind}.json").read_text(encoding="utf-8"))
    words = [w for name, v in wanted.options.items() for w in (f"--{name.replace('_', '-')}", as_text(v))]
    given = COMMANDS[kind].make_context(kind, ["run", *words]).params
    for name, value in recorded["settings"].items():
        asked = given[CALLED.get(name, name)]
        if isinstance(value, list):
            asked = [int(part) for part in asked.split(",")]
        if kind == "labels" and name == "temperature":  # the result has the one that was taken
            assert asked is None
        else:
            assert asked == value, name
    assert wanted.options.keys() <= {CALLED.get(name, name) for name in recorded["settings"]}


def test_they_are_of_the_runs_that_are_asked_for(tmp_path: Path) -> None:
    runs = schedule(PLAN, GAMES, Folders(tmp_path))
    wanted = [diagnosis for diagnosis in PLAN.diagnoses if not diagnosis.every_seed]
    plan = PLAN.model_copy(update={"diagnoses": tuple(wanted)})
    found = list(diagnoses_of(plan, runs, tmp_path / "kept", tmp_path / "images"))
    assert [diagnosis.key for diagnosis in found] == [
        f"main/grpo-proas-s0/{kind}" for kind in ("noise", "suppress", "labels")
    ]
    assert found[0].file == tmp_path / "kept" / "grpo-proas-s0" / "noise.json"
    assert [d.figure and d.figure.name for d in found] == ["noise.svg", None, "labels.svg"]
    assert not list(diagnoses_of(plan, [run for run in runs if run.seed], tmp_path, tmp_path))


def test_one_may_be_asked_of_every_seed(tmp_path: Path) -> None:
    plan = load_plan("confirm")
    runs = schedule(plan, GAMES, Folders(tmp_path))
    found = [d.key for d in diagnoses_of(plan, runs, tmp_path, tmp_path)]
    assert found[:2] == ["confirm/loop-mask-s20/temperatures", "confirm/loop-mask-s21/temperatures"]
    assert len([key for key in found if key.endswith("/temperatures")]) == 4 * len(plan.seeds)
    assert len([key for key in found if key.endswith("/valid_seen")]) == 5 * len(plan.seeds)


def test_a_result_counts_where_it_is_of_the_run_that_is_meant(tmp_path: Path) -> None:
    runs = schedule(PLAN, GAMES, Folders(tmp_path))
    found = next(diagnoses_of(PLAN, runs, tmp_path / "kept", tmp_path / "images"))
    assert not found.whole
    found.file.parent.mkdir(parents=True)
    for run, whole in ((f"runs/main/grpo-proas-s0-{found.run.place}", True), ("runs/shop/grpo-proas-s0-1234", False)):
        found.file.write_text(json.dumps({"run": run}), encoding="utf-8")
        assert found.whole == whole
    found.file.write_text("half", encoding="utf-8")
    assert not found.whole


def test_what_games_without_a_split_lack_is_said(tmp_path: Path) -> None:
    plan = load_plan("confirm")
    (tmp_path / "json_2.1.1" / "train").mkdir(parents=True)
    games = replace(GAMES, path=str(tmp_path / "json_2.1.1"))
    for beside, lacks in ((None, "valid_seen"), ("valid_seen-140.tar.xz", "")):
        if beside is not None:
            (tmp_path / beside).touch()
        runs = schedule(plan, games, Folders(tmp_path / "out"))
        found = {d.plan.kept_as: d.lacks for d in diagnoses_of(plan, runs, tmp_path, tmp_path)}
        assert found == {"temperatures": "", "valid_seen": lacks}
