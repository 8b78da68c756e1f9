"""Measures the policy of a stored run."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from proas.envs import EnvSpec, env_kind, open_world
from proas.errors import DataError, UsageError
from proas.training.checkpoint import Checkpoint, latest_checkpoint
from proas.training.config import TrainConfig
from proas.training.crew import Crew
from proas.training.episodes import TextLimits
from proas.training.evaluation import Evaluation, Evaluator
from proas.training.imitation import expert_verbs
from proas.training.play import PlaySettings
from proas.training.run_directory import RunDirectory
from proas.training.shard import ShardSpec
from proas.training.tasks import Splits, fixed_tasks, known_splits, split_around
from proas.training.temperatures import require_temperatures

__all__ = [
    "Measured",
    "data_of",
    "measure_run",
    "named_place",
    "plays_own_tasks",
    "under_options",
    "unheard_verbs",
    "validation_count",
]

_HEARD, _ASKED = 64, 16
"""Training tasks whose wording is looked at, and tasks that are held against them."""


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
    options: Mapping[str, str] | None = None,
    iteration: int | None = None,
    temperatures: tuple[float, ...] | None = None,
    tasks: int | None = None,
    repeats: int = 1,
    workers: int | None = None,
) -> Measured:
    """Play fixed tasks with a stored policy.

    Args:
        directory: The run.
        split: Name of a split of its data; its own validation tasks where nothing says otherwise.
        data: Other data of the same environment.
        options: Other options of the environment than the run's, such as ScienceWorld's ``split``.
        iteration: Checkpoint; the newest if not given.
        temperatures: Of drawing; the run's own if not given.
        tasks: Most tasks; the run's own number on its own tasks, all of a split.
        repeats: Episodes of each task.
        workers: Processes; the run's own if not given.

    Raises:
        UsageError: There is no such run, split or checkpoint, or nothing can be drawn at a temperature.
        DataError: No task can be played.
    """
    require_temperatures(temperatures or ())
    config = under_options(directory.config(), options)
    stored = Checkpoint.read(latest_checkpoint(directory.checkpoints, iteration))
    where = data_of(config, split, data)
    limits = TextLimits.of(config.text)
    with closing(open_world(EnvSpec(config.env, where, config.options))) as world:
        own = plays_own_tasks(config, split, data, options)
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
    return Measured(stored.iteration, len(chosen), named_place(where, options), found)


def unheard_verbs(
    directory: RunDirectory,
    *,
    split: str | None = None,
    data: Path | None = None,
    options: Mapping[str, str] | None = None,
) -> list[str]:
    """Which wordings tasks want that a run's training tasks never use, such as ``move``.

    Empty where the run's own data is gone, or where the environment's games come in one wording only.

    Args:
        directory: The run.
        split: As :func:`measure_run` takes it.
        data: As it takes it.
        options: As it takes them.

    Raises:
        UsageError: There is no such run or split.
        DataError: No task can be played.
    """
    own = directory.config()
    train = Splits.of(own.data, own.train_split, own.valid_split).train
    wordings = {value for option in env_kind(own.env).options if option.name == "wording" for value in option.choices}
    if not wordings:
        return []
    try:
        heard = _verbs(own, train, _HEARD)
    except DataError:  # whoever measures on other data may have no other
        return []
    config = under_options(own, options)
    return sorted((_verbs(config, data_of(config, split, data), _ASKED) - heard) & wordings)


def _verbs(config: TrainConfig, where: Path | None, count: int) -> set[str]:
    with closing(open_world(EnvSpec(config.env, where, config.options))) as world:
        return expert_verbs(world, fixed_tasks(world, count))


def plays_own_tasks(
    config: TrainConfig, split: str | None, data: Path | None, options: Mapping[str, str] | None
) -> bool:
    """Whether a run is measured on its own validation tasks: no other data, and no option that chooses others."""
    choosing = {option.name for option in env_kind(config.env).options if option.chooses}
    return split is None and data is None and not choosing.intersection(options or ())


def under_options(config: TrainConfig, options: Mapping[str, str] | None) -> TrainConfig:
    """Settings with other options of the environment."""
    return config.updated({f"options.{name}": value for name, value in (options or {}).items()})


def named_place(data: Path | None, options: Mapping[str, str] | None) -> str:
    """Where tasks come from, in words."""
    asked = ", ".join(f"{name}={value}" for name, value in (options or {}).items())
    return ("the default data" if data is None else str(data)) + (f" with {asked}" if asked else "")


def data_of(config: TrainConfig, split: str | None, data: Path | None) -> Path | None:
    """Data to measure on: the run's own validation tasks, a split of its data, or other data.

    Raises:
        UsageError: There is no such split.
    """
    root = data or (Path(config.data) if config.data else None)
    if split is None:
        return data if data is not None else Splits.of(config.data, config.train_split, config.valid_split).valid
    if root is not None and (found := split_around(root, split)):
        return found
    there = sorted({name for place in (root, root.parent) for name in known_splits(place)} if root else ())
    hint = f"there are {', '.join(there)}" if there else "give --data PATH of one, or leave --split out"
    if any(option.name == "split" for option in env_kind(config.env).options):
        hint = f"{config.env} has its splits by an option: --option split=NAME"
    raise UsageError(f"there is no split {split!r} in {root or 'the default data'}", hint=hint)


def validation_count(config: TrainConfig, available: int) -> int:
    """As many tasks as the run itself was measured on, of so many that there are."""
    held_out = Splits.of(config.data, config.train_split, config.valid_split).held_out
    return min(config.evaluation.tasks, max(1, available // 2)) if held_out else config.evaluation.tasks
