"""A stored policy on the bench: its run, its weights, its tasks, ready to play."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import torch

from proas.envs import EnvSpec, World, open_world
from proas.keys import digest
from proas.rollouts import Reject
from proas.states import follower_for
from proas.training.checkpoint import Checkpoint, latest_checkpoint
from proas.training.config import TrainConfig
from proas.training.episodes import Episode, TextLimits
from proas.training.measure import validation_count
from proas.training.play import PlaySettings, play_tasks
from proas.training.policy.base import LanguagePolicy
from proas.training.policy.load import load_flat, policy_from_description
from proas.training.run_directory import RunDirectory
from proas.training.tasks import Splits, fixed_tasks, recurring
from proas.training.temperatures import require_temperatures

__all__ = ["Bench", "Drawn", "Source", "drawing_temperature", "in_order_of"]


@dataclass(frozen=True, slots=True)
class Source:
    """Which policy on which tasks, as plain values that cross process borders.

    Attributes:
        run: Folder of the run.
        iteration: Of the checkpoint.
        data: Data of the tasks; ``None`` for the environment's default.
    """

    run: Path
    iteration: int
    data: Path | None

    @classmethod
    def of(cls, directory: RunDirectory, data: Path | None, iteration: int | None = None) -> Source:
        """That of a run; its newest checkpoint if none is named.

        Raises:
            UsageError: There is no such run or checkpoint.
        """
        file = latest_checkpoint(directory.checkpoints, iteration)
        return cls(directory.path.absolute(), Checkpoint.read(file).iteration, data)


@dataclass(frozen=True, slots=True)
class Drawn:
    """Episodes that a policy played.

    Attributes:
        episodes: With states; tasks in the order asked for, groups together.
        rejects: Tasks that cannot be played.
    """

    episodes: tuple[Episode, ...]
    rejects: tuple[Reject, ...]


class Bench:
    """A stored policy and the world of its tasks.

    Args:
        source: Which.

    Raises:
        UsageError: There is no such run or checkpoint.
        DataError: It is damaged.
    """

    def __init__(self, source: Source) -> None:
        directory = RunDirectory(source.run)
        self.source = source
        self.config: TrainConfig = directory.config()
        self.limits = TextLimits.of(self.config.text)
        stored = Checkpoint.read(latest_checkpoint(directory.checkpoints, source.iteration))
        self.policy: LanguagePolicy = policy_from_description(stored.policy)
        load_flat((p for p in self.policy.module.parameters() if p.requires_grad), stored.weights)
        self.world: World = open_world(EnvSpec(self.config.env, source.data, self.config.options))

    @classmethod
    def shared(cls, source: Source) -> Bench:
        """The bench of this process for a source, made once."""
        return _shared(source)

    def draw(
        self, tasks: Sequence[str], group_size: int, *, temperature: float, seed: int, label: str, at_once: int = 128
    ) -> Drawn:
        """Play a group of rollouts of each task, so many at once at most.

        Args:
            tasks: Keys.
            group_size: Rollouts of each.
            temperature: Of drawing.
            seed: Of the draws.
            label: Part of each rollout's id and of its seed.
            at_once: Episodes in one batch; it bounds memory.
        """
        how = PlaySettings(
            group_size=group_size,
            temperature=temperature,
            seed=seed,
            label=label,
            step_limit=self.config.step_limit,
            limits=self.limits,
        )
        episodes: list[Episode] = []
        rejects: list[Reject] = []
        size = max(1, at_once // group_size)
        with one_thread():
            for first in range(0, len(tasks), size):
                done = play_tasks(self.world, self.policy, tasks[first : first + size], how, follower_for)
                episodes += done.episodes
                rejects += done.rejects
        return Drawn(tuple(episodes), tuple(rejects))

    def validation_tasks(self) -> list[str]:
        """The run's own validation tasks; the source's data must be theirs."""
        count = validation_count(self.config, len(self.world.tasks))
        return fixed_tasks(self.world, count, self.config.evaluation.choice)

    def training_tasks(self) -> list[str]:
        """The run's own training tasks; the source's data must be theirs."""
        config = self.config
        held_out = Splits.of(config.data, config.train_split, config.valid_split).held_out
        held = set(self.validation_tasks()) if held_out else set()
        return recurring([task for task in self.world.tasks if task not in held], config.recur, config.seed)

    def settings(self, *, temperature: float, seed: int, label: str) -> PlaySettings:
        """How continuations are played; what they may hold is for the caller to say."""
        return PlaySettings(
            group_size=1,
            temperature=temperature,
            seed=seed,
            label=label,
            step_limit=self.config.step_limit,
            limits=replace(self.limits),
        )


class one_thread:  # noqa: N801 - reads as a statement
    """Torch computes with one thread inside: quicker on small models, and the bits do not depend on the machine's load.

    ``with one_thread(): ...``
    """

    def __enter__(self) -> None:
        self._before = torch.get_num_threads()
        torch.set_num_threads(1)

    def __exit__(self, *raised: object) -> None:
        torch.set_num_threads(self._before)


@lru_cache(maxsize=2)
def _shared(source: Source) -> Bench:
    return Bench(source)


def drawing_temperature(config: TrainConfig, asked: float | None) -> float:
    """The temperature that was asked for; that of the run's training if ``None``.

    Raises:
        UsageError: Nothing can be drawn at it.
    """
    found = config.temperature if asked is None else asked
    require_temperatures([found], greedy=False)
    return found


def in_order_of(seed: int, what: str, names: Sequence[str]) -> list[str]:
    """Names in an order that the seed and the purpose decide, whatever their number."""
    return sorted(names, key=lambda name: digest("diagnose", seed, what, name))
