"""Every preset, loaded and checked by verl itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from proas.errors import UsageError
from proas.integrations.verl.command import VerlCommand
from proas.integrations.verl.presets import PRESETS, RunPlan

AWKWARD = "/data/it's a folder, [really]=1"


@pytest.fixture(scope="module")
def compose() -> Iterator[Any]:
    """Hydra's compose over verl's configuration."""
    from hydra import compose, initialize_config_module

    with initialize_config_module("verl.trainer.config", version_base=None):
        yield lambda words: compose("ppo_trainer", overrides=words)


@pytest.mark.parametrize("name", PRESETS)
def test_verl_takes_it(name: str, compose: Any) -> None:
    from verl.trainer.ppo.utils import need_critic, need_reference_policy
    from verl.trainer.ppo.v1 import get_trainer_cls
    from verl.utils.config import omega_conf_to_dataclass, validate_config

    from proas.integrations.verl.play_settings import PlaySettings
    from proas.integrations.verl.trainers import MODES, credit_settings

    preset = PRESETS[name]
    for loop in ("steps",) if "webshop" in name else ("steps", "trajectory"):
        plan = RunPlan(train_data=AWKWARD, seed=2, loop=loop)
        config = compose(VerlCommand(preset, plan).words()[3:])
        validate_config(config, need_reference_policy(config), need_critic(config))
        mode = config.trainer.v1.trainer_mode
        assert get_trainer_cls(mode)
        actor = omega_conf_to_dataclass(config.actor_rollout_ref.actor)
        assert (actor.optim.lr, actor.optim.weight_decay, actor.kl_loss_coef) == (1e-6, 0.01, 0.01)
        assert actor.optim.clip_grad == 1.0
        assert actor.optim.optimizer == "AdamW"
        rollout = omega_conf_to_dataclass(config.actor_rollout_ref.rollout)
        assert (rollout.n, rollout.temperature) == (8, 1.0)
        assert rollout.response_length == config.data.max_response_length
        assert config.data.train_files == AWKWARD
        play = PlaySettings.of(dict(config.data.proas))
        assert (play.env, play.success_reward, play.invalid_reward) == (preset.env, 10.0, -0.1)
        assert (mode in MODES) == (preset.shaped or preset.algorithm == "gigpo")
        if mode in MODES:
            credit = credit_settings(config)
            assert credit.shaping.needs_labels == preset.shaped
            assert credit.evolves == preset.shaped


def test_overrides_of_the_user(compose: Any) -> None:
    from proas.integrations.verl.trainers import credit_settings

    words = ("algorithm.proas.settings.apr_scope=all", "data.proas.timeout=5", "trainer.total_training_steps=3")
    config = compose(VerlCommand(PRESETS["alfworld-7b-gigpo"], RunPlan(), words).words()[3:])
    assert credit_settings(config).shaping.apr_scope == "all"
    assert config.data.proas.timeout == 5
    assert config.trainer.total_training_steps == 3


def test_a_setting_that_is_not_known(compose: Any) -> None:
    from proas.integrations.verl.trainers import credit_settings

    command = VerlCommand(PRESETS["alfworld-7b-grpo"], RunPlan(), ("algorithm.proas.grpah=x",))
    with pytest.raises(UsageError, match="grpah"):
        credit_settings(compose(command.words()[3:]))


def test_by_hand(compose: Any) -> None:
    """The shortest command line of the docs."""
    from proas.integrations.verl.trainers import credit_settings

    words = ["trainer.v1.trainer_mode=proas_sync", "+algorithm.proas.graph=g", "+algorithm.proas.run=r"]
    assert credit_settings(compose(words)).graph == "g"
    with pytest.raises(UsageError, match="no graph is named"):
        credit_settings(compose(words[:1]))
