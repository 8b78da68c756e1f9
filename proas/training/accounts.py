"""What an iteration is said to have been: rollouts, seconds, memory."""

from __future__ import annotations

import time

import numpy as np
import psutil

from proas.rollouts import RolloutBatch
from proas.training.shard import PlayReport

__all__ = ["Clock", "play_metrics", "resident_mib"]


class Clock:
    """Where an iteration's time goes."""

    def __init__(self) -> None:
        self._began = self._last = time.perf_counter()
        self._laps: dict[str, float] = {}

    def lap(self, name: str) -> None:
        """The part that ends now; one that is named again goes on."""
        now = time.perf_counter()
        self._laps[name] = self._laps.get(name, 0.0) + now - self._last
        self._last = now

    def metrics(self, played: PlayReport) -> dict[str, float]:
        """``seconds/...``: play is told apart into environment and policy, and what passing rollouts on takes."""
        play = self._laps["play"]
        policy = min(played.policy_seconds, play)
        environment = min(played.environment_seconds, play - policy)
        return {
            "seconds/total": self._last - self._began,
            "seconds/environment": environment,
            "seconds/policy": policy,
            "seconds/passing": play - policy - environment,
            **{f"seconds/{name}": self._laps[name] for name in ("graph", "shaping", "update")},
        }


def play_metrics(played: PlayReport) -> dict[str, float]:
    """``rollout/...``, of the rollouts that began at their task's own start."""
    batch = RolloutBatch(tuple(r for r, given in zip(played.rollouts, played.given, strict=True) if not given))
    count, steps = max(1, len(batch)), max(1, batch.steps)
    won = [len(rollout.steps) for rollout in batch if rollout.success]
    return {
        "rollout/success": sum(rollout.success for rollout in batch) / count,
        "rollout/reward": sum(rollout.reward for rollout in batch) / count,
        "rollout/steps": batch.steps / count,
        "rollout/steps_of_successes": sum(won) / max(1, len(won)),
        "rollout/invalid": sum(step.valid is False for rollout in batch for step in rollout.steps) / steps,
        "rollout/entropy": float(np.mean(played.entropy)) if played.entropy else 0.0,
        "rollout/tokens": float(played.tokens),
    }


def resident_mib() -> float:
    """Memory of the trainer and its workers."""
    process = psutil.Process()
    total = process.memory_info().rss
    for child in process.children(recursive=True):
        try:
            total += child.memory_info().rss
        except psutil.NoSuchProcess:
            continue
    return total / 2**20
