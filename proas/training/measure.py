"""Measures the policy of a stored run."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from proas.envs import EnvSpec, open_world
from proas.errors import UsageError
from proas.training.checkpoint import Checkpoint, latest_checkpoint
from proas.training.config import TrainConfig
from proas.training.crew import Crew
from proas.training.episodes import TextLimits
from proas.training.evaluation import Evaluation, Evaluator
from proas.training.play import PlaySettings
from proas.training.run_directory import RunDirectory
from proas.training.shard import ShardSpec
from proas.training.tasks import Splits, find_split, fixed_tasks

__all__ = ["Measured", "data_of", "measure_run", "validation_count"]


@dataclass(frozen=True, slots=True)
class Measured:
    """What was found.

    Attributes:
        iteration: Of the checkpoint.
        tasks: Number of tasks.
        data: Where they come from.
        evaluations: One for each temperature.
    """

    iteration: int
    tasks: int
    data: str
    evaluations: tuple[Evaluation, ...]


def measure_run(
    directory: RunDirectory,
    *,
    split: str | None = None,
    data: Path | None = None,
    iteration: int | None = None,
    temperatures: tuple[float, ...] | None = None,
    tasks: int | None = None,
    repeats: int = 1,
    workers: int | None = None,
) -> Measured:
    """Play fixed tasks with a stored policy.

    Args:
        directory: The run.
        split: Name of a split of its data; its own validation tasks where neither this nor ``data`` is given.
        data: Other data of the same environment.
        iteration: Checkpoint; the newest if not given.
        temperatures: Of drawing; the run's own if not given.
        tasks: Most tasks; the run's own number on its own tasks, all of a split.
        repeats: Episodes of each task.
        workers: Processes; the run's own if not given.

    Raises:
        UsageError: There is no such run, split or checkpoint.
        DataError: No task can be played.
    """
    config = directory.config()
    stored = Checkpoint.read(latest_checkpoint(directory.checkpoints, iteration))
    where = data_of(config, split, data)
    limits = TextLimits.of(config.text)
    with closing(open_world(EnvSpec(config.env, where, config.options))) as world:
        own = split is None and data is None
        count = tasks or (validation_count(config, len(world.tasks)) if own else len(world.tasks))
        chosen = fixed_tasks(world, count, config.evaluation.choice)
    spec = ShardSpec.of(config, stored.policy, where, where)
    how = PlaySettings(
        group_size=repeats,
        seed=config.evaluation.seed,
        label="evaluation",
        step_limit=config.step_limit,
        limits=limits,
    )
    with Crew(spec, stored.weights, workers or config.workers) as crew:
        evaluator = Evaluator(crew, chosen, how)
        found = tuple(evaluator.measure(t) for t in temperatures or config.evaluation.temperatures)
    return Measured(stored.iteration, len(chosen), "the default data" if where is None else str(where), found)


def data_of(config: TrainConfig, split: str | None, data: Path | None) -> Path | None:
    """Data to measure on: the run's own validation tasks, a split of its data, or other data.

    Raises:
        UsageError: There is no such split.
    """
    root = data or (Path(config.data) if config.data else None)
    if split is None:
        return data if data is not None else Splits.of(config.data, config.train_split, config.valid_split).valid
    found = None if root is None else find_split(root, split) or find_split(root.parent, split)
    if found is None:
        raise UsageError(f"there is no split {split!r} in {root or 'the default data'}", hint="give --data PATH")
    return found


def validation_count(config: TrainConfig, available: int) -> int:
    """As many tasks as the run itself was measured on, of so many that there are."""
    held_out = Splits.of(config.data, config.train_split, config.valid_split).held_out
    return min(config.evaluation.tasks, max(1, available // 2)) if held_out else config.evaluation.tasks
