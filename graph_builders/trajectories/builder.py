"""The builder of ``--source trajectories``: logged episodes in, the reference graphs of their tasks out."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, fields
from itertools import islice
from pathlib import Path

from proas.graph_builders.base import BuildOptions, Built, Rejected
from proas.graph_builders.trajectories.episodes import Aside
from proas.graph_builders.trajectories.intake import Intake, Settings, Totals
from proas.graph_builders.trajectories.reading import find_files
from proas.rollout_files import write_rollouts

__all__ = ["Progress", "TrajectoriesBuilder"]

Progress = Callable[[int], AbstractContextManager[Callable[[int], None]]]
"""Given the bytes of all files, a context whose value is told how many more were read."""


def _silent(total: int) -> AbstractContextManager[Callable[[int], None]]:
    del total
    return nullcontext(lambda _: None)


class TrajectoriesBuilder:
    """Builds from files of logged episodes, in one pass over them.

    The pass is made when the tasks are counted or built for the first time; it holds the transitions of every task and
    a digest for each episode, and no episode.

    Args:
        settings: What counts.
        paths: Files, folders and patterns, where there are several; else the ``data`` of the calls is taken.
        rollouts: Write every episode with its states there, as rollouts.
        progress: Shows how far the reading is.
    """

    def __init__(
        self,
        settings: Settings | None = None,
        paths: Sequence[Path] = (),
        *,
        rollouts: Path | None = None,
        progress: Progress = _silent,
    ) -> None:
        self._settings = settings or Settings()
        self._paths = tuple(paths)
        self._rollouts = rollouts
        self._progress = progress
        self._intake: Intake | None = None

    @property
    def totals(self) -> Totals:
        """What the pass came to. Empty before it was made."""
        return self._intake.totals if self._intake is not None else Totals()

    def count(self, data: Path | None, options: BuildOptions) -> int:
        """Number of answers: tasks with a demonstration, and records kept aside. Raises ``DataError``."""
        intake = self._read(data)
        tasks = len(intake.demonstrations)
        return (tasks if options.limit is None else min(tasks, options.limit)) + len(intake.totals.kept)

    def build(self, data: Path | None, options: BuildOptions) -> Iterator[Built | Rejected]:
        """The tasks in the order of their keys, then what was kept aside; see :class:`proas.graph_builders.Builder`."""
        intake = self._read(data)
        yield from islice(intake.demonstrations.graphs(least=self._settings.least_support), options.limit)
        yield from map(_rejected, intake.totals.kept)

    def summary(self) -> Mapping[str, object]:
        """What was read and what became of it, as values that JSON can hold."""
        told = self.totals
        counted = {f.name: getattr(told, f.name) for f in fields(told)}
        counts = {name: dict(sorted(value.items())) for name, value in counted.items() if isinstance(value, Counter)}
        plain = {"files": told.files, "bytes": told.bytes, "episodes": sum(told.formats.values())}
        dropped = dict(self._intake.demonstrations.dropped) if self._intake is not None else {}
        return {
            **plain,
            **counts,
            "steps": told.steps,
            "steps_unread": told.steps_unread,
            "steps_dropped": dropped,
            "examples": [asdict(aside) for aside in _examples(told.kept)],
        }

    def _read(self, data: Path | None) -> Intake:
        if self._intake is None:
            files = find_files(self._paths or ((data,) if data is not None else ()))
            total = sum(path.stat().st_size for path in files)
            common = os.path.commonpath([path.absolute().parent for path in files])
            named = [(path, os.path.relpath(path.absolute(), common)) for path in files]
            intake = Intake(self._settings)
            with self._progress(total) as progress:
                rollouts = intake.rollouts(named, progress=progress, all_=self._rollouts is not None)
                if self._rollouts is not None:
                    write_rollouts(self._rollouts, rollouts)
                else:
                    for _ in rollouts:
                        pass
            self._intake = intake
        return self._intake


_EXAMPLES = 5


def _examples(kept: Iterable[Aside]) -> Iterator[Aside]:
    """The first few of each problem."""
    seen: Counter[str] = Counter()
    for aside in kept:
        seen[aside.problem] += 1
        if seen[aside.problem] <= _EXAMPLES:
            yield aside


def _rejected(aside: Aside) -> Rejected:
    return Rejected(aside.id or aside.place, aside.problem, aside.reason, aside.place)
