"""Results whose settings or whose command no longer are what the plan has now are named."""

from __future__ import annotations

from typing import Any

import pytest

from proas.experiments.commands import plain_words, shown
from proas.experiments.notes import notes_on
from proas.experiments.plan import Plan
from proas.experiments.records import Record, Results
from proas.experiments.statistics import findings
from proas.experiments.tables import all_tables
from tests.unit.experiments.conftest import MakeRecord


@pytest.fixture
def made(plan: Plan, record: MakeRecord, tmp_path_factory: pytest.TempPathFactory) -> MakeRecord:
    """A record with the command that makes it."""
    place = tmp_path_factory.mktemp("runs")

    def make(arm: str, seed: int, **more: Any) -> Record:
        command = shown(plain_words(plan.arm_config(arm, seed), place / arm, init=None), place)
        return record(arm, seed, [0.1, 0.5], **{"command": command, **more})

    return make


def test_nothing_is_said_of_results_that_are_as_the_plan_has_them(plan: Plan, made: MakeRecord) -> None:
    found = {arm: {seed: made(arm, seed) for seed in (0, 1)} for arm in plan.arms}
    assert notes_on(plan, found) == []


def test_a_default_that_was_another_is_told(plan: Plan, made: MakeRecord) -> None:
    settings = plan.arm_config("grpo", 0).to_dict()
    before = {**settings, "temperature": 0.7, "update": {**settings["update"], "value": 0.5}}
    found = {"grpo": {seed: made("grpo", seed, settings=before) for seed in (0, 1)}, "proas": {0: made("proas", 0)}}
    (first, second) = findings(plan, Results(tuple(r for records in found.values() for r in records.values()))).notes
    assert first == "ran with temperature=0.7 (now 1.0): grpo-s0, grpo-s1"  # GRPO has no critic to weigh
    assert second.startswith("the commands in 2 results would by now run other settings")


def test_a_command_that_means_something_else_is_told(plan: Plan, made: MakeRecord) -> None:
    named = "proas train --preset smoke --env alfworld --algo grpo --shaping recommended --seed 0 --workers 1 --out x"
    lost = "proas train --preset smoke --env alfworld --algo grpo --set gone=1 --out x"
    found = {"proas": {0: made("proas", 0, command=named), 1: made("proas", 1)}}
    found["grpo"] = {0: made("grpo", 0, command=lost)}
    said = "the commands in 2 results would by now run other settings; those of the table of arms do not: "
    assert notes_on(plan, found) == [f"{said}proas-s0, grpo-s0"]


def test_data_that_was_named_is_part_of_the_command_that_runs_it_again(plan: Plan, made: MakeRecord) -> None:
    rerun = "proas ablate --table kitchen --only grpo --seeds 0 --data 'my games'"
    changed = plan.with_settings({"recur": 0})
    found = findings(changed, Results((made("grpo", 0, rerun=rerun), made("grpo", 1, rerun=rerun))))
    row = all_tables(found)[-1].rows[0]
    assert row[2] == "`proas ablate --table kitchen --set recur=0 --only grpo --seeds 0,1 --data 'my games'`"
