"""Experiments on the policies and labels of runs that a plan names: ``proas diagnose``, a process each."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from proas.errors import DataError
from proas.experiments.commands import as_text
from proas.experiments.plan import DiagnosisPlan, Plan
from proas.experiments.pool import Failed
from proas.experiments.schedule import Folders, Run
from proas.graph import Connection, ReferenceGraph
from proas.keys import digest
from proas.training.run_directory import RunDirectory, write_json
from proas.training.tasks import split_around

__all__ = ["Diagnosis", "diagnoses_of"]

_LABELLED = frozenset({"labels", "suppress"})
"""Kinds that ask the graph of the run."""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """One of them.

    Attributes:
        plan: What is asked.
        run: The run that it is about.
        file: Where the result is kept.
        figure: Where its figure is kept; ``None`` where the plan asks for none.
    """

    plan: DiagnosisPlan
    run: Run
    file: Path
    figure: Path | None

    @property
    def key(self) -> str:
        """Run and name in a word."""
        return f"{self.run.key}/{self.plan.kept_as}"

    @property
    def lacks(self) -> str:
        """The split that it is to be measured on and that the run's games have not; empty where all is at hand."""
        split = self.plan.options.get("split")
        data = str(self.plan.options.get("data", self.run.config.data))
        if not isinstance(split, str) or (data and split_around(Path(data), split)):
            return ""
        return split

    @property
    def whole(self) -> bool:
        """Whether the result is there and of this run, whoever made it."""
        try:
            kept = json.loads(self.file.read_text(encoding="utf-8"))
            return str(kept["run"]).endswith(self.run.place)
        except (OSError, ValueError, KeyError, TypeError):
            return False

    def make(self, folders: Folders, connection: Connection | None, environ: Mapping[str, str]) -> Failed | None:
        """Make it, unless that was done for this run, and keep what came of it. Answers with the failure, if it fails.

        Args:
            folders: Where the run and the logs are.
            connection: The database; needed where the run has a graph.
            environ: Variables that the process gets, such as the database's.

        Raises:
            DataError: The result cannot be kept.
            GraphError: The database could not be asked.
        """
        log = folders.logs / f"{self.key.replace('/', '-')}.log"
        folder = folders.finished(self.run.seed, self.run.place)
        if folder is None:
            return Failed(self.key, f"its run does not lie in {folders.root}; without --missing it is made", log)
        out = folder / "diagnoses" / f"{self.plan.kind}-{digest(self.plan.options)[:8]}"
        made = [out / f"{self.plan.kind}.json", *([] if self.figure is None else [out / f"{self.plan.kind}.svg"])]
        if not all(file.is_file() for file in made):
            name = str(RunDirectory(folder).document().get("graph", ""))
            asked = name if self.plan.kind in _LABELLED else ""
            if connection is not None and asked and not ReferenceGraph(connection, asked).exists():
                reason = f"the graph of its run is gone; move {folder} away, and both are made anew"
                return Failed(self.key, reason, log)
            if reason := _run(self._words(folder, out), log, environ):
                return Failed(self.key, reason, log)
        try:
            self._keep(made, folders.root)
        except (OSError, ValueError) as error:
            raise DataError(f"{self.file} cannot be written: {error}", hint="name another --results") from error
        return None

    def _words(self, folder: Path, out: Path) -> list[str]:
        options = [
            word
            for name, value in self.plan.options.items()
            for word in (f"--{name.replace('_', '-')}", as_text(value))
        ]
        return ["diagnose", self.plan.kind, str(folder), *options, "--out", str(out)]

    def _keep(self, made: Sequence[Path], root: Path) -> None:
        document = json.loads(made[0].read_text(encoding="utf-8"))
        places = {name: _seen_from(root, document[name]) for name in ("run", "data") if document.get(name)}
        self.file.parent.mkdir(parents=True, exist_ok=True)
        write_json(self.file, {**document, **places})
        if self.figure is not None:
            self.figure.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(made[1], self.figure)


def diagnoses_of(plan: Plan, runs: Sequence[Run], kept: Path, figures: Path) -> Iterator[Diagnosis]:
    """What a plan wants to know of some of its runs.

    Args:
        plan: The plan.
        runs: Runs.
        kept: Folder of the results, ``KEPT/<arm>-s<seed>/<name>.json``.
        figures: Folder of the figures, ``FIGURES/<name>.svg``.
    """
    by_key = {(run.arm, run.seed): run for run in runs}
    for wanted in plan.diagnoses:
        seeds = plan.seeds if wanted.every_seed else (wanted.seed,)
        for run in filter(None, (by_key.get(place) for place in product(wanted.arms, seeds))):
            file = kept / f"{run.arm}-s{run.seed}" / f"{wanted.kept_as}.json"
            yield Diagnosis(wanted, run, file, figures / f"{wanted.kept_as}.svg" if wanted.figure else None)


def _run(words: Sequence[str], log: Path, environ: Mapping[str, str]) -> str:
    """Run a command of ours to its end. Answers with the last lines that it printed, if it fails."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("wb") as lines:
        ended = subprocess.run(  # noqa: S603 - our own program
            [sys.executable, "-m", "proas.cli", *words],
            stdin=subprocess.DEVNULL,
            stdout=lines,
            stderr=subprocess.STDOUT,
            env={**os.environ, **environ, "OMP_NUM_THREADS": "1"},
            check=False,
        )
    if not ended.returncode:
        return ""
    told = [line.strip() for line in log.read_text(encoding="utf-8", errors="replace").splitlines() if line.strip()]
    return " / ".join(told[-3:]) or "it printed nothing"


def _seen_from(root: Path, place: str) -> str:
    """A path as it is seen from the folder of all runs; of one elsewhere, the last part."""
    path = Path(place)
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else path.name
