"""The command of a run, read by the program itself, gives the run's settings."""

from __future__ import annotations

from pathlib import Path

import pytest
import typer.main

from proas.cli.app import app
from proas.cli.train.train import ShapingName, _settings
from proas.errors import UsageError
from proas.experiments import commands
from proas.experiments.commands import plain_words, settings_digest, settings_of, shown, train_words, unlike
from proas.experiments.plan import Plan
from proas.experiments.plan_files import load_plan, plan_names
from proas.experiments.records import read_results
from proas.experiments.schedule import arm_digest
from proas.shaping import preset as shaping_preset
from proas.training.config import ALGORITHMS, TrainConfig, preset
from proas.training.shapings import shaped_by

RESULTS = Path(__file__).resolve().parents[3] / "experiments" / "results"
COMMAND = typer.main.get_command(app).commands["train"]  # type: ignore[attr-defined]


def read(words: list[str]) -> TrainConfig:
    """Settings as ``proas train`` reads them from its command line."""
    given = COMMAND.make_context("train", words[1:]).params
    chosen = {
        "env": given["env"],
        "data": given["data"],
        "algorithm": given["algo"],
        "seed": given["seed"],
        "workers": given["workers"],
        "graph_base": given["graph"],
    }
    chosen = {name: str(value) for name, value in chosen.items() if value is not None}
    config = _settings(given["preset"], ShapingName(given["shaping"] or "none"), chosen, given["settings"])
    options = (word.partition("=") for word in given["option"] or ())
    return config.updated({f"options.{name}": value for name, _, value in options})


@pytest.mark.parametrize("name", plan_names())
def test_the_command_gives_the_settings(name: str, tmp_path: Path) -> None:
    plan = load_plan(name)
    for arm, kind in plan.arms.items():
        config = plan.arm_config(arm, 3).updated({"data": str(tmp_path), "graph_base": "g" if kind.graph else ""})
        words = train_words(config, kind.shaping, tmp_path / "run", init=tmp_path / "warm")
        assert read(words) == config, arm
        assert words[-2:] == ["--out", str(tmp_path / "run")]
        assert words[words.index("--init") + 1] == str(tmp_path / "warm")
        plain = plain_words(config, tmp_path / "run", init=tmp_path / "warm")
        assert settings_digest(read(plain)) == settings_digest(config), arm
        for line in (words, plain):
            assert settings_digest(settings_of(shown(line, tmp_path))) == settings_digest(config), arm


def test_a_plain_command_means_the_same_whatever_becomes_of_presets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = shaped_by(preset("tiny-alfworld"), "membership")
    named = shown(train_words(config, "membership", tmp_path, init=None), tmp_path)
    plain = shown(plain_words(config, tmp_path, init=None), tmp_path)
    assert unlike(settings_of(named), config.to_dict()) == unlike(settings_of(plain), config.to_dict()) == {}
    changed = shaping_preset("membership").updated({"epsilon_mask": 0.25})
    monkeypatch.setattr("proas.training.shapings.preset", lambda name: changed)
    assert unlike(settings_of(named), config.to_dict()) == {"shaping.epsilon_mask": config.shaping.epsilon_mask}
    assert unlike(settings_of(plain), config.to_dict()) == {}


@pytest.mark.parametrize("command", ["", "proas", "proas eval x", "proas train --seed", "proas train --seed '1"])
def test_what_is_no_command_of_a_run(command: str) -> None:
    with pytest.raises(UsageError, match="no command of a run"):
        settings_of(command)


def test_stored_settings_that_are_other_than_now() -> None:
    config = TrainConfig()
    stored = {**config.to_dict(), "gone": 1, "seed": 3, "workers": 8, "group_size": 4}
    del stored["recur"]
    stored["update"] = {**stored["update"], "value": 0.5, "kl": 0.1}
    assert unlike(config, stored) == {"group_size": 4, "update.kl": 0.1}  # GRPO has no critic
    ppo = config.updated({"algorithm": "ppo"})
    assert unlike(ppo, {**ppo.to_dict(), "update": stored["update"]}) == {"update.kl": 0.1, "update.value": 0.5}


def test_values_of_every_form_survive(tmp_path: Path) -> None:
    changed = {
        "update.clip_high": 0.3,
        "update.unit": "token",
        "evaluation.temperatures": [0.0, 0.5],
        "warm_start.successes_only": False,
        "shaping.success_reward": 1.0,
        "options.goals": "human",
    }
    config = TrainConfig().updated(changed)
    assert read(train_words(config, "none", tmp_path, init=None)) == config


def test_paths_are_shown_from_the_folder_of_all_runs(tmp_path: Path) -> None:
    line = shown(["train", "--init", str(tmp_path / "warm" / "a"), "--out", str(tmp_path / "run s")], tmp_path)
    assert line == "proas train --init warm/a --out 'run s'"


def test_a_digest_knows_the_method_and_nothing_else() -> None:
    config = TrainConfig()
    same = config.updated({"seed": 4, "data": "elsewhere", "workers": 2, "graph_base": "g", "keep_checkpoints": 9})
    assert settings_digest(config) == settings_digest(same)
    others = [config.updated({"group_size": 4}), config.updated({"shaping.mui": True}), config.updated({"recur": 16})]
    assert len({settings_digest(config), *map(settings_digest, others)}) == 4
    assert settings_digest(config, "warm") != settings_digest(config)


def test_a_digest_knows_that_an_algorithm_was_mended(monkeypatch: pytest.MonkeyPatch) -> None:
    configs = [TrainConfig().updated({"algorithm": name}) for name in ALGORITHMS]
    now = list(map(settings_digest, configs))
    monkeypatch.setattr(commands, "REVISIONS", {})
    before = list(map(settings_digest, configs))
    changed = {name for name, old, new in zip(ALGORITHMS, before, now, strict=True) if old != new}
    assert changed == {"migpo", "ppo"}


def test_what_was_measured_before_counts_unless_its_algorithm_was_mended() -> None:
    kept = {"grpo", "dapo", "gigpo", "hgpo", "graphgpo", "tigpo"}
    stored: dict[tuple[str, str], set[str]] = {}
    for record in read_results(RESULTS).records:
        stored.setdefault((record.experiment, record.arm), set()).add(record.digest)
    seen = set()
    for plan in map(load_plan, plan_names()):
        for arm in plan.arms:
            algorithm = plan.arm_config(arm, 0).algorithm
            if algorithm in kept and (plan.name, arm) in stored:
                assert arm_digest(plan, arm) in stored[plan.name, arm], f"{plan.name}/{arm}"
                seen.add(algorithm)
    assert seen == kept


def test_arms_that_agree_in_all_settings_are_one_across_plans() -> None:
    main, controls, shaping = (load_plan(name) for name in ("main", "controls", "shaping"))
    for arm in ("grpo", "loop-mask"):
        assert len({arm_digest(plan, arm) for plan in (main, controls, shaping)}) == 1
    assert arm_digest(main, "grpo-proas") == arm_digest(shaping, "no-apr")
    for plan in (main, controls, shaping):
        assert len({arm_digest(plan, arm) for arm in plan.arms}) == len(plan.arms), plan.name


def test_an_arm_s_digest_knows_its_graph_and_its_warm_start(plan: Plan) -> None:
    arm = plan.arms["proas"]
    others = [
        plan.model_copy(update={"graphs": {"plans": plan.graphs["plans"].model_copy(update={"expand": "optimal"})}}),
        plan.model_copy(update={"warm": {"base": plan.warm["base"].model_copy(update={"seed": 1})}}),
        plan.model_copy(update={"arms": {**plan.arms, "proas": arm.model_copy(update={"graph": ""})}}),
    ]
    assert len({arm_digest(one, "proas") for one in (plan, *others)}) == 4
