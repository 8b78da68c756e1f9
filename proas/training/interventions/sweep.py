"""Success over sampling temperatures: which one suits a policy, and how much it depends on it.

Arms that are compared at one temperature may differ by how sharp their policies have become and by nothing else: a
policy that is surer of itself acts at a high temperature as another does at a lower one. Over several temperatures the
two can be told apart.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from proas.training.evaluation import Evaluation
from proas.training.interventions.statistics import Estimate, mean_of
from proas.training.measure import measure_run
from proas.training.run_directory import RunDirectory

__all__ = ["SweepReport", "SweepRow", "SweepSettings", "measure_sweep"]


@dataclass(frozen=True, slots=True)
class SweepSettings:
    """What is played.

    Attributes:
        temperatures: Of drawing, in rising order; 0 for the likeliest words.
        tasks: Most tasks; the run's own validation tasks, or all of a split, if ``None``.
        repeats: Episodes of each task; one at temperature 0.
        workers: Processes; the run's own if ``None``.
    """

    temperatures: tuple[float, ...]
    tasks: int | None = None
    repeats: int = 1
    workers: int | None = None


@dataclass(frozen=True, slots=True)
class SweepRow:
    """One temperature.

    Attributes:
        temperature: Of drawing.
        episodes: Number of episodes.
        success: Share of them that solved the task, with the interval over tasks.
        steps: Mean number of steps.
        invalid: Share of steps that did not apply.
    """

    temperature: float
    episodes: int
    success: Estimate
    steps: float
    invalid: float

    @classmethod
    def of(cls, found: Evaluation) -> SweepRow:
        """Of an evaluation."""
        success = mean_of(list(found.by_task.values()), list(found.by_task))
        return cls(found.temperature, found.episodes, success, found.steps, found.invalid)


@dataclass(frozen=True, slots=True)
class SweepReport:
    """What was found.

    Attributes:
        run: Folder of the run.
        iteration: Of the checkpoint.
        data: Where the tasks come from.
        tasks: Number of tasks.
        settings: What was played.
        rows: One for each temperature.
    """

    run: str
    iteration: int
    data: str
    tasks: int
    settings: SweepSettings
    rows: tuple[SweepRow, ...]

    @property
    def best(self) -> SweepRow:
        """The row of the highest success, of several the one of the lowest temperature."""
        return max(self.rows, key=lambda row: (row.success.value or 0.0, -row.temperature))


def measure_sweep(
    directory: RunDirectory,
    settings: SweepSettings,
    *,
    split: str | None = None,
    data: Path | None = None,
    options: Mapping[str, str] | None = None,
    iteration: int | None = None,
) -> SweepReport:
    """Play fixed tasks with a stored policy at several temperatures, the same draws for every run.

    Args:
        directory: The run.
        settings: What is played.
        split: Name of a split of its data; its own validation tasks where nothing says otherwise.
        data: Other data of the same environment.
        options: Other options of the environment than the run's.
        iteration: Checkpoint; the newest if not given.

    Raises:
        UsageError: There is no such run, split or checkpoint, or nothing can be drawn at a temperature.
        DataError: No task can be played.
    """
    found = measure_run(
        directory,
        split=split,
        data=data,
        options=options,
        iteration=iteration,
        temperatures=settings.temperatures,
        tasks=settings.tasks,
        repeats=settings.repeats,
        workers=settings.workers,
    )
    rows = tuple(SweepRow.of(one) for one in found.evaluations)
    return SweepReport(str(directory.path), found.iteration, found.data, found.tasks, settings, rows)
