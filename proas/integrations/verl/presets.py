"""Presets: whole configurations of verl's trainer, with the values of the paper, each as a list of Hydra overrides.

A preset is named ``<environment>-<size>-<algorithm>``, with ``-baseline`` behind it for the same run without ProAS. All
have 16 tasks by 8 rollouts an iteration, 150 iterations, evaluation every 10 of them on 128 tasks that stay the same.
What a run is compared with differs from it in the named thing and in nothing else.

Source of the values: Ding et al., 2026. What it does not give is as in verl-agent, GiGPO's framework (Feng et al.,
2025, arXiv:2505.10978), on which the field's baselines ran: its ``examples/*_trainer/run_{alfworld,webshop}.sh`` and
the defaults under them, for lengths, history, rows an update, GiGPO's discount and normalisation, the reduction of the
loss, the form of the KL term, the reference policy's offload and the temperature of evaluation.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Literal

from proas.errors import UsageError
from proas.shaping.config import PresetName

__all__ = ["PRESETS", "SEEDS", "Algorithm", "Loop", "Preset", "RunPlan", "preset"]

Algorithm = Literal["grpo", "dapo", "gigpo"]
Loop = Literal["trajectory", "steps"]

_GROUP = 8
"""Rollouts of a task."""

SEEDS = (0, 1, 2)
"""Seeds of the three runs that a figure is the mean of."""


@dataclass(frozen=True, slots=True)
class Preset:
    """One configuration.

    Attributes:
        name: Its name.
        env: Environment.
        model: Language model, as Hugging Face names it.
        gpus: Devices of one node.
        algorithm: What computes the advantages.
        shaped: Whether ProAS shapes them.
        step_limit: Steps of an episode.
        prompt_tokens: Longest prompt of a step.
        reply_tokens: Longest reply.
        dialogue_tokens: Longest conversation behind the first prompt, for the trajectory loop.
        update_rows: Rows of one step each in one update of the actor.
        divides_by_std: Whether advantages are divided by the standard deviation of their group.
    """

    name: str
    env: str
    model: str
    gpus: int
    algorithm: Algorithm
    shaped: bool
    step_limit: int
    prompt_tokens: int
    reply_tokens: int
    dialogue_tokens: int
    update_rows: int
    divides_by_std: bool


@dataclass(frozen=True, slots=True)
class RunPlan:
    """What a run adds to its preset.

    Attributes:
        train_data: Data of the tasks to train on; empty for the environment's default.
        val_data: Data of the tasks to evaluate on; empty for the environment's default.
        graph: Name of the reference graph.
        run: Name of the run's layer and of the experiment.
        seed: Seed.
        loop: ``steps``: a row a step, which bounds the context; ``trajectory``: one sequence a trajectory.
        shaping: Preset of shaping.
        model: Another model than the preset's, or a folder; empty for the preset's.
        out: Folder for checkpoints and logs.
    """

    train_data: str = ""
    val_data: str = ""
    graph: str = ""
    run: str = ""
    seed: int = 0
    loop: Loop = "steps"
    shaping: PresetName = "paper"
    model: str = ""
    out: Path = Path("runs")

    def overrides(self, preset: Preset) -> list[str]:
        """Overrides for ``python -m verl.trainer.main_ppo``, in groups that belong together."""
        run = self.run or f"{preset.name}-{self.loop}-seed{self.seed}"
        graph = self.graph or preset.env
        return [
            *_algorithm(preset, self, graph, run),
            *_data(preset, self),
            *_actor(preset, self),
            *_rollout(preset, self),
            *_trainer(preset, self, run),
        ]


def _algorithm(preset: Preset, plan: RunPlan, graph: str, run: str) -> list[str]:
    chosen = ["algorithm.adv_estimator=grpo", f"algorithm.norm_adv_by_std_in_grpo={preset.divides_by_std}"]
    if preset.algorithm == "dapo":
        # The filter looks at success, never at a score that penalties or shaping have touched.
        chosen += ["algorithm.filter_groups.enable=True", "algorithm.filter_groups.metric=acc"]
    if not preset.shaped and preset.algorithm != "gigpo":
        return [*chosen, "trainer.v1.trainer_mode=sync"]
    chosen += ["trainer.v1.trainer_mode=proas_sync", f"+algorithm.proas.preset={plan.shaping}"]
    if preset.algorithm == "gigpo":
        chosen += ["+algorithm.proas.estimator=gigpo"]
        if not preset.divides_by_std:
            chosen += ["+algorithm.proas.settings.normalise=mean"]
    if preset.shaped:
        return [*chosen, f"+algorithm.proas.graph={_quoted(graph)}", f"+algorithm.proas.run={_quoted(run)}"]
    return [*chosen, "+algorithm.proas.settings.mui=False", "+algorithm.proas.settings.apr=none"]


def _data(preset: Preset, plan: RunPlan) -> list[str]:
    trajectory = plan.loop == "trajectory"
    return [
        "data.custom_cls.path=pkg://proas.integrations.verl.tasks",
        "data.custom_cls.name=TaskDataset",
        f"data.train_files={_quoted(plan.train_data)}",
        f"data.val_files={_quoted(plan.val_data)}",
        "data.train_batch_size=16",
        "data.val_max_samples=128",
        f"data.max_prompt_length={preset.prompt_tokens}",
        f"data.max_response_length={preset.dialogue_tokens if trajectory else preset.reply_tokens}",
        "data.shuffle=True",
        f"data.seed={plan.seed}",
        "data.dataloader_num_workers=0",
        f"+data.proas.env={preset.env}",
        f"+data.proas.step_limit={preset.step_limit}",
        "+data.proas.history=2",
        f"+data.proas.turn_tokens={preset.reply_tokens}",
        "+data.proas.success_reward=10.0",
        "+data.proas.invalid_reward=-0.1",
    ]


def _actor(preset: Preset, plan: RunPlan) -> list[str]:
    actor = "actor_rollout_ref.actor"
    longest = preset.prompt_tokens + (preset.dialogue_tokens if plan.loop == "trajectory" else preset.reply_tokens)
    return [
        f"actor_rollout_ref.model.path={_quoted(plan.model or preset.model)}",
        "actor_rollout_ref.model.enable_gradient_checkpointing=True",
        f"{actor}.strategy=fsdp2",
        f"{actor}.optim.lr=1e-6",
        f"{actor}.optim.weight_decay=0.01",
        f"{actor}.grad_clip=1.0",
        f"{actor}.clip_ratio=0.2",
        f"{actor}.clip_ratio_low=0.2",
        f"{actor}.clip_ratio_high={0.28 if preset.algorithm == 'dapo' else 0.2}",
        f"{actor}.entropy_coeff=0.001",
        f"{actor}.use_kl_loss=True",
        f"{actor}.kl_loss_coef=0.01",
        f"{actor}.kl_loss_type=low_var_kl",
        # Of rows, in units of a group's rollouts: 128 trajectories in one update, or so many steps in each of several.
        f"{actor}.ppo_mini_batch_size={16 if plan.loop == 'trajectory' else preset.update_rows // _GROUP}",
        f"{actor}.loss_agg_mode=token-mean",
        f"{actor}.data_loader_seed={plan.seed}",
        f"{actor}.use_dynamic_bsz=True",
        f"{actor}.ppo_max_token_len_per_gpu={max(16384, longest)}",
        "actor_rollout_ref.ref.fsdp_config.param_offload=True",
    ]


def _rollout(preset: Preset, plan: RunPlan) -> list[str]:
    rollout = "actor_rollout_ref.rollout"
    return [
        f"{rollout}.name=vllm",
        f"{rollout}.n={_GROUP}",
        f"{rollout}.temperature=1.0",
        f"{rollout}.seed={plan.seed}",
        f"{rollout}.tensor_model_parallel_size={1 if preset.gpus <= 2 else 2}",
        f"{rollout}.gpu_memory_utilization=0.6",
        f"{rollout}.val_kwargs.temperature=0.4",
        f"{rollout}.val_kwargs.do_sample=True",
        f"{rollout}.agent.default_agent_loop={'proas' if plan.loop == 'trajectory' else 'proas_steps'}",
    ]


def _trainer(preset: Preset, plan: RunPlan, run: str) -> list[str]:
    return [
        f"trainer.n_gpus_per_node={preset.gpus}",
        "trainer.nnodes=1",
        "trainer.total_training_steps=150",
        "trainer.total_epochs=1000",  # the number of steps is what ends the run
        "trainer.test_freq=10",
        "trainer.save_freq=10",
        "trainer.max_actor_ckpt_to_keep=2",  # each has the optimizer's state too: 20 GB and more
        "trainer.val_before_train=True",
        "trainer.project_name=proas",
        f"trainer.experiment_name={_quoted(run)}",
        f"trainer.default_local_dir={_quoted(str(plan.out / run))}",
        "trainer.logger=[console,file]",
    ]


def _quoted(text: str) -> str:
    """A value as Hydra's grammar reads it: plain words as they are, all else in quotes."""
    if re.fullmatch(r"/?[A-Za-z][\w./-]*", text) and text.lower() not in _HYDRA_VALUES:
        return text
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


_HYDRA_VALUES = {"null", "true", "false", "inf", "nan"}


def _presets() -> dict[str, Preset]:
    sizes = {"1.5b": ("Qwen/Qwen2.5-1.5B-Instruct", 2), "7b": ("Qwen/Qwen2.5-7B-Instruct", 4)}
    usual = Preset("", "alfworld", "", 0, "grpo", True, 50, 2048, 512, 20_480, 256, True)
    shop = replace(usual, env="webshop", step_limit=15, prompt_tokens=4096, dialogue_tokens=16_384, update_rows=64)
    envs = {"alfworld": usual, "webshop": shop}
    made: dict[str, Preset] = {}
    for env, base in envs.items():
        for size, (model, gpus) in sizes.items():
            for algorithm in ("grpo", "dapo", "gigpo"):
                # GiGPO centres WebShop's returns only, and divides ALFWorld's; GRPO and DAPO divide both.
                divides = not (env == "webshop" and algorithm == "gigpo")
                chosen = replace(base, model=model, gpus=gpus, algorithm=algorithm, divides_by_std=divides)
                for shaped in (True, False):
                    name = f"{env}-{size}-{algorithm}" + ("" if shaped else "-baseline")
                    made[name] = replace(chosen, name=name, shaped=shaped)
    return made


PRESETS: Mapping[str, Preset] = MappingProxyType(_presets())
"""All presets by name."""


def preset(name: str) -> Preset:
    """A preset by name.

    Raises:
        UsageError: There is none of that name.
    """
    found = PRESETS.get(name)
    if found is None:
        raise UsageError(f"no preset is called {name!r}", hint=f"known: {', '.join(PRESETS)}")
    return found
