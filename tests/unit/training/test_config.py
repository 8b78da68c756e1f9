"""Settings: by path, with faults named, and a run's arm."""

from __future__ import annotations

import json

import pytest

from proas.errors import UsageError
from proas.shaping import preset as shaping_preset
from proas.training.config import ALGORITHMS, PRESETS, TrainConfig, preset


@pytest.mark.parametrize("name", PRESETS)
def test_presets_survive_json(name: str) -> None:
    config = preset(name)
    assert config.preset == name
    assert TrainConfig.from_dict(json.loads(json.dumps(config.to_dict()))) == config


def test_settings_are_changed_by_path_and_text_is_read_as_their_type() -> None:
    changed = TrainConfig().updated(
        {
            "update.learning_rate": "1e-4",
            "evaluation.temperatures": "[0.0, 1]",
            "shaping.epsilon_mask": "0.1",
            "warm_start.successes_only": "false",
            "update.clip_high": "0.3",
            "options.goals": "human",
            "algorithm": "gigpo",
        }
    )
    assert changed.update.learning_rate == 1e-4
    assert changed.evaluation.temperatures == (0.0, 1.0)
    assert changed.shaping.epsilon_mask == 0.1
    assert changed.warm_start.successes_only is False
    assert changed.clip_high == 0.3
    assert changed.updated({"update.clip_high": "none"}).clip_high == changed.update.clip_low
    assert changed.options == {"goals": "human"}
    assert changed.base_shaping.algorithm == "gigpo"


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("update.learning_rat", "1", "no setting 'update.learning_rat'.*update.learning_rate"),
        ("nothing", "1", "no setting"),
        ("update", "1", "group of settings"),
        ("update.kl.x", "1", "no setting"),
        ("group_size", "1", "group_size"),
        ("update.learning_rate", "fast", "learning_rate"),
        ("update.learning_rate", "nan", "learning_rate"),
        ("evaluation.temperatures", "[]", "temperatures"),
        ("evaluation.temperatures", "[1,", "temperatures"),
        ("algorithm", "reinforce", "algorithm"),
        ("shaping.nothing", "1", "shaping setting"),
        ("warm_start.low", "0.9", "not below"),
    ],
)
def test_faults_are_named(name: str, value: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        TrainConfig().updated({name: value})


def test_an_unknown_preset_is_named() -> None:
    with pytest.raises(UsageError, match="tiny-alfworld"):
        preset("huge")


def test_dapo_clips_higher_and_averages_over_tokens() -> None:
    config = TrainConfig(algorithm="dapo")
    assert (config.update.clip_low, config.clip_high, config.unit) == (0.2, 0.28, "token")
    assert config.updated({"update.unit": "sequence", "update.clip_high": 0.2}).unit == "sequence"


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_every_algorithm_has_an_arm_and_a_shaping(algorithm: str) -> None:
    plain = TrainConfig().updated({"algorithm": algorithm})
    assert plain.arm == algorithm
    assert not plain.uses_graph
    shaped = plain.with_shaping(shaping_preset("membership"))
    assert shaped.uses_graph == (algorithm != "sft")
    assert shaped.base_shaping.algorithm == (algorithm if algorithm in ("grpo", "dapo", "gigpo") else "given")


def test_arms_are_told_apart() -> None:
    plain = TrainConfig()
    proas = plain.with_shaping(shaping_preset("membership"))
    assert proas.arm == "grpo+proas-membership"
    assert plain.with_shaping(shaping_preset("paper")).arm == "grpo+proas-paper"
    best = plain.with_shaping(shaping_preset("recommended"))
    assert best.arm == "grpo+proas-recommended"
    assert best.updated({"shaping.distance_weight": 0.5}).arm == "grpo+proas-recommended distance_weight=0.5"
    assert best.updated({"shaping.distance": "none"}).arm == "grpo+loop_mask distance=none"
    loop = plain.with_shaping(shaping_preset("membership").updated({"verdicts": "loop_mask", "info_seeking": False}))
    assert loop.arm == "grpo+loop_mask"
    assert not loop.uses_graph
    assert proas.updated({"shaping.epsilon_mask": 0.1}).arm == "grpo+proas-membership epsilon_mask=0.1"
    assert loop.updated({"shaping.labels": "shuffled"}).arm == "grpo+loop_mask labels=shuffled"
    near = {"shaping.distance": "potential", "shaping.distance_weight": 0.5}
    assert loop.updated(near).arm == "grpo+loop_mask distance=potential distance_weight=0.5"
    assert loop.updated(near).uses_graph
    assert plain.updated(near).arm == "grpo distance=potential distance_weight=0.5"


def test_a_shaping_leaves_alone_what_concerns_all_arms() -> None:
    tiny = preset("tiny-alfworld").with_shaping(shaping_preset("membership"))
    assert (tiny.shaping.invalid_penalty, tiny.arm) == (-0.1, "grpo+proas-membership")
    shaped = TrainConfig().with_shaping(shaping_preset("paper"))
    assert (shaped.shaping.rows, shaped.shaping.penalty_only_groups) == ("step", "drop")
    assert shaped.shaping.order == "label_then_evolve"


def test_distance_fades() -> None:
    config = TrainConfig().with_shaping(shaping_preset("recommended")).updated({"distance_fades": 20})
    assert [config.shaping_at(k).distance_weight for k in (1, 11, 20, 21, 30)] == pytest.approx([1, 0.5, 0.05, 0, 0])
    assert config.shaping_at(11).updated({"distance_weight": 1.0}) == config.base_shaping
    assert config.arm == "grpo+proas-recommended distance_fades=20"
    stays = config.updated({"distance_fades": 0})
    assert stays.shaping_at(1) == stays.shaping_at(99) == stays.base_shaping
    with pytest.raises(UsageError, match="no step gains by distance"):
        TrainConfig().with_shaping(shaping_preset("membership")).updated({"distance_fades": 20})
