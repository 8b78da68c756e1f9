"""A run of verl on the CPU: easy games, a tiny model, the command with all that a CPU needs, and its witness."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tiny_model
from prior import prior

from proas.agents.prompts import Prompter, PromptSettings
from proas.envs import EnvSpec, World, open_world
from proas.envs.alfworld.generator import generate
from proas.graph.connect import Connection
from proas.integrations.verl.presets import Preset, RunPlan

LIMIT = 12
"""Steps of an episode."""

TASKS = 4
GROUP = 4


def make_games(folder: Path) -> Path:
    """The easiest of some new games: those that a plain prior solves most often."""
    drafts, kept = folder / "drafts", folder / "games"
    trials = {trial.key: trial for trial in generate(40, seed=5, kinds=["look"])}
    for trial in trials.values():
        trial.write(drafts)
    world = open_world(EnvSpec("alfworld", drafts))
    rng = random.Random(0)
    env = world.environment(step_limit=LIMIT)
    won: dict[str, int] = {}
    for task in world.tasks:
        for _ in range(12):
            _, info = env.reset(task)
            done: set[str] = set()
            while not (info.won or info.truncated):
                weights = [prior(action, env.goal_text, done) for action in info.admissible]
                action = rng.choices(info.admissible, weights)[0]
                done.add(action)
                info = env.step(action).info
            won[task] = won.get(task, 0) + info.won
    for task in sorted(won, key=lambda key: -won[key])[:TASKS]:
        trials[task].write(kept)
    return kept


def make_model(folder: Path, world: World) -> Path:
    """A tiny model whose words are those of the games' prompts."""
    env = world.environment()
    texts = []
    for task in world.tasks:
        observation, info = env.reset(task)
        made = Prompter("alfworld", PromptSettings()).messages(env.goal_text, observation, admissible=info.admissible)
        texts += [message.content for message in made] + ["<think>It may help.</think><action>go</action>"]
    tiny_model.make(folder, texts)
    return folder


@dataclass(frozen=True)
class Ran:
    """A run that has ended.

    Attributes:
        rows: The witness's rows: what verl learnt from.
        metrics: ProAS's metrics of each iteration.
        log: All that the run printed.
    """

    rows: tuple[dict[str, Any], ...]
    metrics: tuple[dict[str, float], ...]
    log: str


def scaled_down(preset: Preset, plan: RunPlan, model: Path, out: Path, *, steps: int) -> list[str]:
    """The preset's own overrides, then what a CPU, a tiny model and a minute allow."""
    trajectory = plan.loop == "trajectory"
    mode = "proas_sync_witnessed"
    return [
        *(word for word in plan.overrides(preset) if not word.startswith("trainer.v1.trainer_mode=")),
        f"trainer.v1.trainer_mode={mode}",
        f"actor_rollout_ref.model.path={model}",
        "actor_rollout_ref.model.use_remove_padding=False",
        "+actor_rollout_ref.model.override_config.attn_implementation=sdpa",
        "actor_rollout_ref.model.enable_gradient_checkpointing=False",
        "actor_rollout_ref.actor.fsdp_config.use_torch_compile=False",
        "actor_rollout_ref.actor.use_torch_compile=False",
        "actor_rollout_ref.actor.use_dynamic_bsz=False",
        f"actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu={4 if trajectory else 16}",
        f"actor_rollout_ref.actor.ppo_mini_batch_size={TASKS}",
        "actor_rollout_ref.actor.use_kl_loss=False",
        "actor_rollout_ref.actor.optim.lr=1e-3",
        "actor_rollout_ref.rollout.name=guided",
        f"actor_rollout_ref.rollout.n={GROUP}",
        "actor_rollout_ref.rollout.tensor_model_parallel_size=1",
        f"actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu={4 if trajectory else 16}",
        "actor_rollout_ref.rollout.agent.num_workers=1",
        f"data.train_batch_size={TASKS}",
        "data.max_prompt_length=1536",
        f"data.max_response_length={4096 if trajectory else 64}",
        f"data.proas.step_limit={LIMIT}",
        "data.proas.turn_tokens=64",
        "reward.num_workers=1",
        "trainer.n_gpus_per_node=1",
        "trainer.device=cpu",
        "trainer.logger=[console]",
        "trainer.val_before_train=False",
        "trainer.test_freq=-1",
        "trainer.save_freq=-1",
        f"trainer.total_training_steps={steps}",
        "trainer.resume_mode=disable",
        f"trainer.default_local_dir={out / 'checkpoints'}",
        "transfer_queue.backend.SimpleStorage.num_data_storage_units=1",
        # Ray waits for ever for logical CPUs that are not there; those of the machine are not what is asked for.
        "ray_kwargs.ray_init.num_cpus=32",
        "+ray_kwargs.ray_init.resources.NPU=1",
        "+ray_kwargs.ray_init.include_dashboard=False",
    ]


def run(overrides: Sequence[str], connection: Connection, out: Path, *, timeout: float = 900) -> Ran:
    """Run ``python -m verl.trainer.main_ppo`` in a process of its own, and read what its witness wrote."""
    out.mkdir(parents=True, exist_ok=True)
    witness = out / "witness.jsonl"
    support = str(Path(__file__).parent)
    environ = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, [support, os.environ.get("PYTHONPATH", "")])),
        "VERL_PLATFORM": "cpu",
        "VERL_USE_EXTERNAL_MODULES": "cpu_backend,checked_trainer",
        "PROAS_TEST_WITNESS": str(witness),
        "NEO4J_URI": connection.uri,
        "NEO4J_USERNAME": connection.username,
        "NEO4J_PASSWORD": connection.password.get_secret_value(),
        "NEO4J_DATABASE": connection.database,
        "OMP_NUM_THREADS": "1",
        "HYDRA_FULL_ERROR": "1",
        "HF_HUB_OFFLINE": "1",
        "TOKENIZERS_PARALLELISM": "false",
        "WANDB_MODE": "disabled",
        "RAY_DEDUP_LOGS": "0",
        "RAY_prestart_worker_first_driver": "0",  # else Ray starts a process for each of the CPUs that we claim to have
    }
    command = [sys.executable, "-W", "ignore", "-m", "verl.trainer.main_ppo", f"hydra.run.dir={out}", *overrides]
    for _ in range(3):
        code, text = _run(command, environ, out, timeout)
        if code == 0 or _RAY_DID_NOT_START not in text:
            break  # else a busy machine: Ray gives itself thirty seconds to start, and nothing has run yet
    assert code == 0, f"verl ended with {code}:\n{text[-6000:]}"
    lines = [json.loads(line) for line in witness.read_text(encoding="utf-8").splitlines()]
    return Ran(
        tuple(line for line in lines if "key" in line),
        tuple(line["metrics"] for line in lines if "metrics" in line),
        text,
    )


_RAY_DID_NOT_START = "The current node timed out during startup"


def _run(command: Sequence[str], environ: dict[str, str], out: Path, timeout: float) -> tuple[int, str]:
    """Exit code and log of a process, which leaves none behind."""
    with (out / "log.txt").open("w", encoding="utf-8") as log:
        process = subprocess.Popen(command, env=environ, cwd=out, stdout=log, stderr=log, start_new_session=True)
        try:
            code = process.wait(timeout)
        finally:
            with suppress(ProcessLookupError):  # Ray's own processes, where the run was cut off
                os.killpg(process.pid, signal.SIGKILL)
    return code, (out / "log.txt").read_text(encoding="utf-8", errors="replace")
