"""Presets and the command that they make; whether verl takes it is tested in verl's environment."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from pydantic import SecretStr

from proas.errors import UsageError
from proas.graph import Connection
from proas.integrations.verl.command import VerlCommand
from proas.integrations.verl.presets import PRESETS, SEEDS, RunPlan, preset


def values(name, plan=RunPlan(), *overrides):
    words = VerlCommand(PRESETS[name], plan, overrides).words("python")
    assert words[:3] == ["python", "-m", "verl.trainer.main_ppo"]
    pairs = [word.partition("=")[::2] for word in words[3:]]
    keys = [key.lstrip("+") for key, _ in pairs]
    assert len(keys) == len(set(keys)), "Hydra adds a key once"
    return {key.lstrip("+"): value.strip("'") for key, value in pairs}


def test_every_combination_is_there():
    wanted = {
        f"{env}-{size}-{algorithm}{end}"
        for env in ("alfworld", "webshop")
        for size in ("1.5b", "7b")
        for algorithm in ("grpo", "dapo", "gigpo")
        for end in ("", "-baseline")
    }
    assert set(PRESETS) == wanted
    assert len(SEEDS) == 3


@pytest.mark.parametrize("name", PRESETS)
def test_values_of_the_paper(name):
    set_ = values(name)
    same = {
        "data.train_batch_size": "16",
        "actor_rollout_ref.rollout.n": "8",
        "actor_rollout_ref.actor.optim.lr": "1e-6",
        "actor_rollout_ref.actor.optim.weight_decay": "0.01",
        "actor_rollout_ref.actor.grad_clip": "1.0",
        "actor_rollout_ref.actor.clip_ratio": "0.2",
        "actor_rollout_ref.actor.entropy_coeff": "0.001",
        "actor_rollout_ref.actor.use_kl_loss": "True",
        "actor_rollout_ref.actor.kl_loss_coef": "0.01",
        "actor_rollout_ref.rollout.temperature": "1.0",
        "data.proas.success_reward": "10.0",
        "data.proas.invalid_reward": "-0.1",
        "trainer.total_training_steps": "150",
        "trainer.test_freq": "10",
        "data.val_max_samples": "128",
        "trainer.n_gpus_per_node": "2" if "1.5b" in name else "4",
    }
    assert {key: set_[key] for key in same} == same
    assert ("1.5B" if "1.5b" in name else "7B") in set_["actor_rollout_ref.model.path"]


def test_what_makes_an_algorithm():
    grpo, dapo, gigpo = (values(f"alfworld-1.5b-{name}") for name in ("grpo", "dapo", "gigpo"))
    assert dapo["algorithm.filter_groups.enable"] == "True"
    assert dapo["algorithm.filter_groups.metric"] == "acc"
    assert (dapo["actor_rollout_ref.actor.clip_ratio_high"], grpo["actor_rollout_ref.actor.clip_ratio_high"]) == (
        "0.28",
        "0.2",
    )
    assert gigpo["algorithm.proas.estimator"] == "gigpo"
    assert "algorithm.proas.estimator" not in grpo


@pytest.mark.parametrize("name", PRESETS)
def test_what_the_paper_leaves_open_is_verl_agent_s(name):
    """Values of its scripts ``examples/*_trainer/run_{alfworld,webshop}.sh`` and of its defaults."""
    set_ = values(name)
    shop = "webshop" in name
    same = {
        "data.max_prompt_length": "4096" if shop else "2048",
        "data.max_response_length": "512",
        "data.proas.step_limit": "15" if shop else "50",
        "data.proas.history": "2",
        "actor_rollout_ref.actor.kl_loss_type": "low_var_kl",
        "actor_rollout_ref.actor.loss_agg_mode": "token-mean",
        "actor_rollout_ref.ref.fsdp_config.param_offload": "True",
        "actor_rollout_ref.rollout.val_kwargs.temperature": "0.4",
        "algorithm.norm_adv_by_std_in_grpo": str(not (shop and "gigpo" in name)),
    }
    assert {key: set_[key] for key in same} == same
    rows = int(set_["actor_rollout_ref.actor.ppo_mini_batch_size"]) * int(set_["actor_rollout_ref.rollout.n"])
    assert rows == (64 if shop else 256)
    assert (set_.get("algorithm.proas.settings.normalise") == "mean") == (shop and "gigpo" in name)


@pytest.mark.parametrize("name", [name for name in PRESETS if not name.endswith("baseline")])
def test_a_baseline_differs_in_proas_alone(name):
    shaped, plain = values(name, RunPlan(run="r")), values(f"{name}-baseline", RunPlan(run="r"))
    differing = {key for key in shaped.keys() | plain.keys() if shaped.get(key) != plain.get(key)}
    assert all(key.startswith("algorithm.proas.") or key == "trainer.v1.trainer_mode" for key in differing)
    assert {"algorithm.proas.graph", "algorithm.proas.run"} <= shaped.keys()
    assert "algorithm.proas.graph" not in plain


def test_seeds_go_everywhere():
    differing = {
        k for k, v in values("webshop-7b-dapo", RunPlan(seed=1)).items() if v != values("webshop-7b-dapo").get(k)
    }
    assert differing == {
        "data.seed",
        "actor_rollout_ref.actor.data_loader_seed",
        "actor_rollout_ref.rollout.seed",
        "algorithm.proas.run",
        "trainer.experiment_name",
        "trainer.default_local_dir",
    }


def test_what_the_user_says_wins():
    set_ = values(
        "alfworld-1.5b-grpo",
        RunPlan(),
        "data.train_batch_size=4",
        "algorithm.proas.preset=membership",
        "+data.proas.timeout=5",
        "data.proas.check=False",
        "trainer.new=1",
    )
    assert set_["data.train_batch_size"] == "4"
    assert set_["algorithm.proas.preset"] == "membership"
    words = VerlCommand(
        PRESETS["alfworld-1.5b-grpo"], RunPlan(), ("data.proas.check=False", "trainer.x=1", "~data.y")
    ).words()
    assert words[-3:] == ["+data.proas.check=False", "trainer.x=1", "~data.y"]


def test_the_text_is_the_command():
    command = VerlCommand(PRESETS["alfworld-1.5b-grpo"], RunPlan(train_data="/a b/it's", out=Path("/o")), ("x=[1, 2]",))
    assert shlex.split(command.text().replace("\\\n", "")) == command.words("python")


def test_trajectories_have_room_for_a_whole_episode():
    steps, whole = values("alfworld-7b-grpo"), values("alfworld-7b-grpo", RunPlan(loop="trajectory"))
    assert int(whole["data.max_response_length"]) > 10 * int(steps["data.max_response_length"])
    assert int(whole["actor_rollout_ref.actor.ppo_max_token_len_per_gpu"]) >= int(whole["data.max_response_length"])
    assert whole["actor_rollout_ref.rollout.agent.default_agent_loop"] == "proas"


def test_the_password_is_in_the_environment_alone():
    connection = Connection("bolt://h:1", SecretStr("open sesame"), username="u", database="d")
    command = VerlCommand(PRESETS["alfworld-1.5b-grpo"], RunPlan(out=Path("/runs")))
    environ = command.environment(connection, {"NEO4J_PASSWORD_FILE": "/f", "PATH": "/bin"})
    assert environ == {
        "PATH": "/bin",
        "VERL_FILE_LOGGER_ROOT": "/runs",
        "NEO4J_URI": "bolt://h:1",
        "NEO4J_USERNAME": "u",
        "NEO4J_PASSWORD": "open sesame",
        "NEO4J_DATABASE": "d",
    }
    assert "sesame" not in command.text()
    assert command.environment(None, {"VERL_FILE_LOGGER_ROOT": "/mine"}) == {"VERL_FILE_LOGGER_ROOT": "/mine"}


def test_no_such_preset():
    with pytest.raises(UsageError, match=r"no preset is called 'alfworld'.*alfworld-1\.5b-grpo"):
        preset("alfworld")
