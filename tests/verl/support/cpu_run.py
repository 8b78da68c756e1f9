"""A run of verl on the CPU: easy games, a tiny model, the command with all that a CPU needs, and its witness."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tiny_model
from prior import prior

from proas.agents.prompts import Prompter, PromptSettings
from proas.envs import EnvSpec, World, open_world
from proas.envs.alfworld.generator import generate
from proas.envs.collect import play
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


def add_hopeless_game(games: Path, folder: Path) -> tuple[Path, str]:
    """The games and one more, whose plan is so long that a plain prior does not find it.

    Args:
        games: Folder of games.
        folder: Where they and the one more go.

    Returns:
        The folder, and the key of the game that was added.
    """
    shutil.copytree(games, folder / "all")
    trials = {trial.key: trial for trial in generate(12, seed=6, kinds=["two"])}
    for trial in trials.values():
        trial.write(folder / "drafts")
    world = open_world(EnvSpec("alfworld", folder / "drafts"))
    plans = {
        task: len(play(world.environment(), world.policy("expert", random.Random(0)), task).steps)
        for task in world.tasks
    }
    longest = max(sorted(plans), key=lambda task: plans[task])
    assert plans[longest] > LIMIT - 4
    trials[longest].write(folder / "all")
    return folder / "all", longest


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
        batches: Of each batch that verl learnt from, the witness's rows.
        metrics: verl's metrics of each batch, as they were when it had been shaped.
        log: All that the run printed.
    """

    batches: tuple[tuple[dict[str, Any], ...], ...]
    metrics: tuple[dict[str, float], ...]
    log: str


def scaled_down(
    preset: Preset, plan: RunPlan, model: Path, out: Path, *, steps: int, mode: str = "proas_sync"
) -> list[str]:
    """The preset's own overrides, then what a CPU, a tiny model and a minute allow.

    Args:
        preset: What is to be run.
        plan: Its data, graph and form of rows.
        model: Folder of the tiny model.
        out: Folder of the checkpoints.
        steps: Iterations of verl's.
        mode: The plug-in's trainer.
    """
    trajectory = plan.loop == "trajectory"
    return [
        *(word for word in plan.overrides(preset) if not word.startswith("trainer.v1.trainer_mode=")),
        f"trainer.v1.trainer_mode={mode}_witnessed",
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
        *([] if mode == "proas_separate_async" else ["+ray_kwargs.ray_init.resources.NPU=1"]),
        "+ray_kwargs.ray_init.include_dashboard=False",
        *(_DEVICES_APART if mode == "proas_separate_async" else []),
    ]


_DEVICES_APART = (
    "+ray_kwargs.ray_init.resources.NPU=2",
    "actor_rollout_ref.rollout.nnodes=1",
    "actor_rollout_ref.rollout.n_gpus_per_node=1",
    "actor_rollout_ref.rollout.checkpoint_engine.backend=queue",
    "trainer.v1.separate_async.parameter_sync_step=2",
    f"actor_rollout_ref.actor.ppo_mini_batch_size={TASKS // 2}",
)
"""What verl asks of a run whose rollouts have devices of their own: one for training, one for rollouts."""


def run(
    overrides: Sequence[str], connection: Connection, out: Path, *, kill_after: int = 0, timeout: float = 900
) -> Ran:
    """Run ``python -m verl.trainer.main_ppo`` in a process of its own, and read what its witness wrote.

    Args:
        overrides: Its words.
        connection: The graph's database.
        out: Folder for its log and what the witness writes.
        kill_after: Kill it once so many batches have been shaped, as a machine that goes down does; 0 to let it end.
        timeout: Seconds.
    """
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
        "RAY_worker_niceness": "0",  # else Ray's processes give way to whatever else the machine does
        "RAY_prestart_worker_first_driver": "0",  # else Ray starts a process for each of the CPUs that we claim to have
    }
    command = [sys.executable, "-W", "ignore", "-m", "verl.trainer.main_ppo", f"hydra.run.dir={out}", *overrides]
    for _ in range(3):
        code, text = _run(command, environ, out, timeout, lambda: kill_after and len(_witnessed(witness)) >= kill_after)
        if code == 0 or _RAY_DID_NOT_START not in text:
            break  # else a busy machine: Ray gives itself thirty seconds to start, and nothing has run yet
    assert code == (-signal.SIGKILL if kill_after else 0), f"verl ended with {code}:\n{text[-6000:]}"
    batches = _witnessed(witness)
    return Ran(tuple(tuple(batch[:-1]) for batch in batches), tuple(batch[-1]["metrics"] for batch in batches), text)


def _witnessed(file: Path) -> list[list[dict[str, Any]]]:
    """The lines of each batch that was written down whole; the last line of a batch has its metrics."""
    batches: list[list[dict[str, Any]]] = [[]]
    if file.exists():
        for line in file.read_text(encoding="utf-8").splitlines(keepends=True):
            if line.endswith("\n"):
                batches[-1].append(json.loads(line))
                if "metrics" in batches[-1][-1]:
                    batches.append([])
    return batches[:-1]


_RAY_DID_NOT_START = "The current node timed out during startup"


def _run(
    command: Sequence[str], environ: dict[str, str], out: Path, timeout: float, enough: Callable[[], object]
) -> tuple[int, str]:
    """Exit code and log of a process, which leaves none behind; it is killed when there is enough of it."""
    ends = time.monotonic() + timeout
    with (out / "log.txt").open("w", encoding="utf-8") as log:
        process = subprocess.Popen(command, env=environ, cwd=out, stdout=log, stderr=log, start_new_session=True)
        try:
            while process.poll() is None:
                if time.monotonic() > ends:
                    raise subprocess.TimeoutExpired(command, timeout)
                if enough():
                    os.killpg(process.pid, signal.SIGKILL)
                time.sleep(0.5)
            code = process.wait()
        finally:
            with suppress(ProcessLookupError):  # Ray's own processes, where the run was cut off
                os.killpg(process.pid, signal.SIGKILL)
    return code, (out / "log.txt").read_text(encoding="utf-8", errors="replace")
