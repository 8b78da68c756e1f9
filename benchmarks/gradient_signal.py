"""What a batch's gradient is made of: signal, or the size of the batch's accidents?

    python benchmarks/gradient_signal.py --run RUN [--data PATH] [--tasks 32] [--out FILE]

The policy of a run plays groups of rollouts once. Then, for each way to weigh them, the gradient over every other task
is set against the gradient over the rest: ``cosine`` near 1 is a direction that both halves agree on, near 0 is noise.
``constant`` gives every step the advantage 1. On policy such a gradient is zero in expectation, so whatever both halves
agree on there is bias of the estimator, and nothing that rewards have said. ``positive`` and ``negative`` are the sums
of advantage times weight: what an update pushes up and down.
"""

from __future__ import annotations

import argparse
import json
import os
import random
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import torch
from machine import machine
from torch import Tensor

from proas.envs import EnvSpec, open_world
from proas.rollouts import Rollout, RolloutBatch
from proas.shaping import shape
from proas.training.checkpoint import Checkpoint, latest_checkpoint
from proas.training.config import TrainConfig, preset
from proas.training.play import PlaySettings
from proas.training.run_directory import RunDirectory, software
from proas.training.shapings import shaped_by
from proas.training.shard import Shard, ShardSpec, Signal, UpdateOrder
from proas.training.tasks import Splits
from proas.training.update import signals_of

Change = Callable[[Signal], Signal]

PLAIN = preset("tiny-alfworld")
LOOP = shaped_by(PLAIN, "loop-mask")


def _constant(signal: Signal) -> Signal:
    return Signal(np.ones_like(signal.advantages), signal.weights)


def _rewarded(signal: Signal) -> Signal:
    return Signal(np.clip(signal.advantages, 0, None), signal.weights)


def _blamed(signal: Signal) -> Signal:
    return Signal(np.clip(signal.advantages, None, 0), signal.weights)


def _same(signal: Signal) -> Signal:
    return signal


WAYS: Sequence[tuple[str, TrainConfig, dict[str, object], Change]] = (
    ("constant, mean over steps", PLAIN, {"update.unit": "step"}, _constant),
    ("constant, mean over tokens", PLAIN, {"update.unit": "token"}, _constant),
    ("constant, mean over rollouts", PLAIN, {"update.unit": "sequence"}, _constant),
    ("grpo, mean over steps", PLAIN, {"update.unit": "step"}, _same),
    ("grpo, mean over tokens", PLAIN, {"update.unit": "token"}, _same),
    ("grpo, positive advantages alone", PLAIN, {"update.unit": "token"}, _rewarded),
    ("grpo, negative advantages alone", PLAIN, {"update.unit": "token"}, _blamed),
    ("invalid steps masked", LOOP, {"shaping.verdicts": "invalid_only"}, _same),
    ("loop mask", LOOP, {}, _same),
    ("loop mask, positive advantages alone", LOOP, {}, _rewarded),
    ("loop mask, shuffled", LOOP, {"shaping.labels": "shuffled"}, _same),
    ("grpo, invalid penalty -1", PLAIN, {"shaping.invalid_penalty": -1.0}, _same),
)


def main() -> None:
    """Play, weigh, and write the result."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "gradient_signal.json")
    parser.add_argument("--run", type=Path, required=True, help="a run whose policy plays")
    parser.add_argument("--data", type=Path, help="its data; as the run has it if not given")
    parser.add_argument("--tasks", type=int, default=32, help="groups of 8 rollouts")
    options = parser.parse_args()
    torch.set_num_threads(os.cpu_count() or 1)
    result = measure(options.run, options.data, options.tasks)
    print(json.dumps(result, indent=2))
    options.out.parent.mkdir(exist_ok=True)
    options.out.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


def measure(run: Path, data: Path | None, tasks: int) -> dict[str, Any]:
    """Gradients of one batch of a run's policy under each of ``WAYS``."""
    described = machine()
    directory = RunDirectory(run)
    config = directory.config()
    stored = Checkpoint.read(latest_checkpoint(directory.checkpoints))
    train = Splits.of(str(data or config.data), config.train_split, config.valid_split).train
    weights = stored.weights.clone()
    gradient = torch.zeros_like(weights)
    spec = ShardSpec.of(config, stored.policy, train, train)
    with closing(open_world(EnvSpec(config.env, train, config.options))) as world:
        chosen = sorted(world.tasks)
    random.Random(3).shuffle(chosen)
    with closing(Shard(spec, weights, gradient, weights.clone())) as shard:
        how = PlaySettings(group_size=8, step_limit=config.step_limit, limits=spec.limits, label="signal")
        rollouts = shard.play("train", chosen[:tasks], how, keep=True).rollouts
        rows = [_row(name, base.updated(more), change, rollouts, shard, gradient) for name, base, more, change in WAYS]
    return {
        "benchmark": "gradient_signal",
        "tasks": tasks,
        "group_size": 8,
        "rollouts": len(rollouts),
        "steps": sum(len(rollout.steps) for rollout in rollouts),
        "success": round(float(np.mean([rollout.success for rollout in rollouts])), 3),
        "invalid": round(float(np.mean([step.valid is False for r in rollouts for step in r.steps])), 3),
        "ways": rows,
        "machine": described,
        "software": {name: version for name, version in software().items() if name != "commit"},
    }


def _row(
    name: str, config: TrainConfig, change: Change, rollouts: Sequence[Rollout], shard: Shard, gradient: Tensor
) -> dict[str, Any]:
    shaped = shape(RolloutBatch(tuple(rollouts)), config.base_shaping)
    signals = {key: change(signal) for key, signal in signals_of(shaped.batch.rollouts, config).items()}
    shard.prepare(signals, reference=False, temperature=1.0)
    task_of = {rollout.id: rollout.task for rollout in rollouts}
    tasks = sorted(set(task_of.values()))
    halves: list[Tensor] = []
    for half in (set(tasks[::2]), set(tasks[1::2])):
        shard.gradient([key for key in signals if task_of[key] in half], UpdateOrder())
        halves.append(gradient.clone())
    norms = [float(torch.linalg.vector_norm(half)) for half in halves]
    cosine = float(torch.dot(*halves)) / max(norms[0] * norms[1], 1e-12)
    up = sum(float(np.clip(s.advantages, 0, None) @ s.weights) for s in signals.values())
    down = sum(float(np.clip(s.advantages, None, 0) @ s.weights) for s in signals.values())
    row = {"way": name, "cosine": cosine, "norms": norms, "positive": up, "negative": down}
    return {key: _rounded(value) for key, value in row.items()}


def _rounded(value: Any) -> Any:
    if isinstance(value, list):
        return [round(x, 4) for x in value]
    return round(value, 4) if isinstance(value, float) else value


if __name__ == "__main__":
    main()
