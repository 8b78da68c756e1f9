"""An environment's tasks as verl's data set: no files to prepare, one row a task.

verl is told by ``data.custom_cls.path=pkg://proas.integrations.verl.tasks`` and ``data.custom_cls.name=TaskDataset``;
``data.train_files`` and ``data.val_files`` are the environment's data, as ``proas rollout --data`` takes it.
"""

from __future__ import annotations

import logging
import random
from collections import Counter
from collections.abc import Sequence
from typing import Any

import torch
from omegaconf import DictConfig, OmegaConf
from torch.utils.data import Dataset

from proas.envs import World, open_world
from proas.errors import TaskError, UsageError
from proas.integrations.verl.play_settings import PlaySettings

__all__ = ["TaskDataset", "playable"]

_log = logging.getLogger(__name__)

_ORDER_SEED = 20_250_000
"""Which tasks are kept where only some are: the same ones in every run, whatever the run's own seed."""


class TaskDataset(Dataset[dict[str, Any]]):
    """Tasks of an environment, as verl's ``create_rl_dataset`` makes its data sets.

    Args:
        data_files: The environment's data: one path, a list of one, or nothing for the environment's default.
        config: Section ``data`` of verl's configuration; its ``proas`` says what is played.
        max_samples: Keep so many tasks, drawn once and for all; -1 keeps all.
        tokenizer: Not used: prompts are made while an episode is played.
        processor: Not used.

    Raises:
        UsageError: More than one path, or no task that can be played.
        DataError: The data cannot be read.
    """

    def __init__(
        self,
        data_files: str | Sequence[str],
        config: DictConfig,
        max_samples: int = -1,
        tokenizer: Any = None,
        processor: Any = None,
    ) -> None:
        del tokenizer, processor
        paths = [data_files] if isinstance(data_files, str) else [str(path) for path in data_files]
        if len(paths) > 1:
            raise UsageError(f"{len(paths)} paths of data for one environment", hint="give one folder or archive")
        section = OmegaConf.select(config, "proas")
        settings = PlaySettings.of({} if section is None else dict(OmegaConf.to_container(section, resolve=True)))
        self._data = paths[0] if paths else ""
        self._env = settings.env
        world = open_world(settings.spec(self._data))
        tasks = list(world.tasks)
        if 0 <= max_samples < len(tasks):
            random.Random(_ORDER_SEED).shuffle(tasks)  # noqa: S311
        self._tasks = playable(world, tasks, max_samples) if settings.check else tasks[: _count(max_samples, tasks)]
        if not self._tasks:
            raise UsageError(f"no task of {self._data or settings.env} can be played", hint="is it the right folder?")

    def __len__(self) -> int:
        return len(self._tasks)

    def __getitem__(self, item: int) -> dict[str, Any]:
        """A row as verl expects it; the prompt is a place-holder, the loop makes its own."""
        task = self._tasks[item]
        return {
            "raw_prompt": [{"role": "user", "content": task}],
            "dummy_tensor": torch.tensor([0], dtype=torch.uint8),
            "data_source": self._env,
            "reward_model": {"style": "rule", "ground_truth": task},
            "extra_info": {"index": item, "task": task, "data": self._data},
            "index": item,
            "tools_kwargs": {},
            "interaction_kwargs": {},
        }


def playable(world: World, tasks: Sequence[str], most: int = -1) -> list[str]:
    """Those tasks that can be begun, in their order; what is left out is logged with its reasons.

    Args:
        world: The environment.
        tasks: Keys of tasks.
        most: Stop at so many; -1 for all.
    """
    env = world.environment()
    kept: list[str] = []
    faults: Counter[str] = Counter()
    for task in tasks:
        if len(kept) == most:
            break
        try:
            env.reset(task, seed=0)
        except TaskError as error:
            faults[error.problem] += 1
        else:
            kept.append(task)
    if faults:
        reasons = ", ".join(f"{count} {problem}" for problem, count in faults.most_common())
        _log.warning("%d tasks of %s cannot be played and are left out: %s", faults.total(), world.name, reasons)
    return kept


def _count(most: int, tasks: Sequence[str]) -> int:
    return len(tasks) if most < 0 else most
