"""The settings: two presets, every ablation a value, faults refused by name."""

from __future__ import annotations

import json
import pickle
import tomllib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

import proas.shaping
from proas.errors import UsageError
from proas.shaping import PRESETS, ShapingConfig, preset


def test_advantages_of_others_cannot_be_given_other_rewards() -> None:
    assert preset("paper").over_given_advantages().algorithm == "given"
    with pytest.raises(UsageError, match="progress_as=reward changes rewards"):
        preset("paper").updated({"progress_as": "reward"}).over_given_advantages()


def test_public_names() -> None:
    assert sorted(proas.shaping.__all__) == [
        "Diagnostics",
        "Growth",
        "PRESETS",
        "Row",
        "Shaped",
        "ShapingConfig",
        "apr_measure",
        "apr_scope",
        "apr_weights",
        "dapo",
        "eq7",
        "future_count",
        "gigpo",
        "grpo",
        "mui_weights",
        "offsets_of",
        "preset",
        "shape",
        "token_weights",
    ]
    assert all(hasattr(proas.shaping, name) for name in proas.shaping.__all__)


def test_the_paper_s_preset_is_eq_7_to_the_letter() -> None:
    config = preset("paper")
    assert config == ShapingConfig()
    assert (config.purification, config.order, config.info_seeking) == ("paper", "label_then_evolve", False)
    assert (config.mui, config.apr, config.apr_scope, config.mask_signs) == (True, "drift", "non_progress", "positive")
    assert (config.epsilon_mask, config.soft_mask, config.verdicts, config.labels) == (0.0, False, "graph", "as_given")


def test_the_recommended_preset() -> None:
    config = preset("membership")
    assert (config.purification, config.order, config.info_seeking) == ("loop_erased", "evolve_then_label", True)
    assert (config.mui, config.apr, config.penalty_only_groups) == (True, "none", "drop")


def test_an_unknown_preset_is_refused_with_the_valid_names() -> None:
    with pytest.raises(UsageError, match=r"'papper'.*paper, membership"):
        preset("papper")


def test_an_unknown_setting_is_refused_with_the_valid_names() -> None:
    with pytest.raises(UsageError, match=r"'apr_scop'.*did you mean apr_scope.*epsilon_mask.*verdicts"):
        preset("paper").updated({"apr_scop": "all"})
    with pytest.raises(UsageError, match="unknown shaping setting 'zzz'"):
        ShapingConfig.from_dict({"zzz": 1})
    with pytest.raises(UsageError, match="unknown shaping setting 'zzz'"):
        ShapingConfig(zzz=1)  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("apr", "drifts"),
        ("epsilon_mask", 1.5),
        ("epsilon_mask", "nan"),
        ("prune_edges", -0.1),
        ("invalid_penalty", 0.1),
        ("invalid_penalty", "-inf"),
        ("gamma", 2),
        ("eps", 0),
        ("mui", "perhaps"),
        ("seed", -1),
        ("seed", 0.5),
        ("algorithm", "ppo"),
        ("success_reward", "lots"),
        ("purification", ""),
    ],
)
def test_a_bad_value_is_refused_by_name(name: str, value: object) -> None:
    with pytest.raises(UsageError, match=name):
        preset("paper").updated({name: value})


def test_settings_that_contradict_each_other_are_refused() -> None:
    with pytest.raises(UsageError, match=r"prune_edges=0\.1 prunes the graph, but verdicts=loop_mask"):
        preset("paper").updated({"prune_edges": 0.1, "verdicts": "loop_mask"})
    with pytest.raises(UsageError, match="choose the preset first"):
        preset("paper").updated({"preset": "membership"})


def test_text_is_read_as_the_field_s_type() -> None:
    config = preset("paper").updated(
        {"mui": "false", "epsilon_mask": "0.25", "seed": "7", "success_reward": "10", "info_seeking": "True"}
    )
    assert (config.mui, config.epsilon_mask, config.seed, config.success_reward) == (False, 0.25, 7, 10.0)
    assert config.info_seeking is True
    assert config.updated({"success_reward": "none"}).success_reward is None


def test_the_record_is_frozen() -> None:
    with pytest.raises(ValidationError):
        preset("paper").mui = False  # type: ignore[misc]


SETTINGS = st.fixed_dictionaries(
    {},
    optional={
        "algorithm": st.sampled_from(["grpo", "dapo", "gigpo", "given"]),
        "normalise": st.sampled_from(["mean_std", "mean"]),
        "rows": st.sampled_from(["trajectory", "step"]),
        "success_reward": st.none() | st.floats(-5, 5),
        "invalid_penalty": st.just("recorded") | st.floats(-2, 0),
        "penalty_only_groups": st.sampled_from(["keep", "drop"]),
        "dynamic_sampling": st.booleans(),
        "gamma": st.floats(0, 1),
        "purification": st.sampled_from(["paper", "loop_erased"]),
        "order": st.sampled_from(["label_then_evolve", "evolve_then_label"]),
        "evolve": st.booleans(),
        "info_seeking": st.booleans(),
        "labels": st.sampled_from(["as_given", "random", "shuffled"]),
        "prune_edges": st.floats(0, 1),
        "seed": st.integers(0, 2**63 - 1),
        "progress_as": st.sampled_from(["shaping", "reward"]),
        "mui": st.booleans(),
        "mask_signs": st.sampled_from(["positive", "both"]),
        "epsilon_mask": st.floats(0, 1),
        "soft_mask": st.booleans(),
        "apr": st.sampled_from(["drift", "none", "ramp", "reversed", "suffix"]),
        "apr_scope": st.sampled_from(["non_progress", "unreasonable", "all"]),
    },
)


@settings(deadline=None, max_examples=50)
@given(st.sampled_from(sorted(PRESETS)), SETTINGS)
def test_settings_survive_json_and_toml(name: str, settings: dict[str, object]) -> None:
    config = preset(name).updated({"verdicts": "graph", **settings})  # edges are pruned of a graph only
    assert ShapingConfig.from_dict(json.loads(json.dumps(config.to_dict()))) == config
    toml = "\n".join(f"{key} = {json.dumps(value)}" for key, value in config.to_dict().items())
    assert ShapingConfig.from_dict(tomllib.loads(toml)) == config
    assert pickle.loads(pickle.dumps(config)) == config


def test_recommended_is_the_distance_over_the_mask_that_needs_no_graph() -> None:
    by_hand = preset("membership").updated(
        {
            "verdicts": "loop_mask",
            "info_seeking": False,
            "distance": "potential",
            "distance_weight": 1.0,
            "mask_mass": "moved",
        }
    )
    recommended = preset("recommended")
    assert recommended.to_dict() | {"preset": "membership"} == by_hand.to_dict()
    assert recommended.needs_labels
    assert recommended.needs_distances


def test_a_dict_needs_only_what_differs_from_its_preset() -> None:
    config = ShapingConfig.from_dict({"preset": "membership", "apr": "ramp"})
    assert config == preset("membership").updated({"apr": "ramp"})
    assert config.changes == {"apr": "ramp"}


def test_a_run_is_described_in_one_line() -> None:
    assert preset("paper").updated({"algorithm": "gigpo", "seed": 3}).describe() == (
        "gigpo preset=paper purification=paper order=label_then_evolve info_seeking=off apr=drift seed=3"
    )
    assert preset("membership").describe() == (
        "grpo preset=membership purification=loop_erased order=evolve_then_label info_seeking=on apr=none"
    )


def test_what_takes_the_place_of_what() -> None:
    paper = preset("paper")
    assert paper.updated({"mask_signs": "both"}).redistribution == "none"
    assert paper.updated({"mask_signs": "both", "mui": False}).redistribution == "drift"
    assert paper.updated({"progress_as": "reward"}).redistribution == "none"
    assert not paper.updated({"progress_as": "reward"}).masks
    assert paper.updated({"progress_as": "reward"}).needs_labels
    assert not paper.updated({"mui": False, "apr": "ramp"}).needs_labels
    assert not paper.updated({"verdicts": "loop_mask"}).needs_labels
