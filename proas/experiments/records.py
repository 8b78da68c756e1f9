"""What is kept of a finished run: one small JSON file that tables and figures are made from, and nothing else."""

from __future__ import annotations

import json
import os
import platform
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict, ValidationError

from proas.errors import DataError
from proas.experiments.commands import plain_words, shown
from proas.experiments.data import Games
from proas.experiments.schedule import Run
from proas.training.run_directory import RunDirectory, processor

__all__ = ["LATE", "SERIES", "Record", "Results", "condense", "read_results", "write_record"]

FORM = 1
"""Version of the file."""

LATE = 3
"""Evaluations that count as early, after the start, and as late, at the end."""

SERIES = (
    "rollout/success",
    "rollout/reward",
    "rollout/invalid",
    "rollout/steps",
    "rollout/entropy",
    "proas/unreasonable_in_positive",
    "proas/nonprogress_in_negative",
    "proas/mask_rate",
    "proas/negative_to_positive_base",
    "proas/negative_to_positive",
    "proas/groups_all_failed",
    "proas/coverage",
    "proas/growth_transitions",
    "update/kl",
)
"""Measurements that are kept over the iterations."""

_POINTS = 60
"""Most points of a series; a longer run is averaged in stretches of equal length."""

_PARTS = ("environment", "policy", "passing", "graph", "shaping", "update", "evaluation", "total")
_DATA = "--data"
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"

Series = list[float | None]


class Record(BaseModel):
    """A finished run.

    Attributes:
        form: Version of the file.
        experiment: Plan that it was run for.
        arm: Arm.
        seed: Seed.
        digest: What decides the arm's results (:func:`proas.experiments.schedule.arm_digest`).
        games: What was played (:meth:`proas.experiments.data.Games.to_record`).
        rerun: Command that runs it again, warm start and graph included, with every option that decided; paths as they
            were typed.
        command: Command of the run itself without named presets (older records have some), paths seen from the folder
            of all runs.
        settings: All settings.
        software: Versions, and the commit of the source.
        host: Processor, number of cores, number of runs side by side.
        iterations: Iterations run.
        episodes: Training episodes.
        seconds: Mean seconds an iteration by part; ``evaluation`` is that of one evaluation.
        at: Iterations of the series (the last of each stretch).
        series: :data:`SERIES` by name, ``None`` where there was no value.
        evaluated: Iterations of the evaluations.
        evaluations: By temperature, then ``success``, ``reward``, ``score`` (older records have none), ``steps`` and
            ``invalid``, over ``evaluated``.
        kinds: By temperature, success by kind of task, mean of the last evaluations.
        tasks: Number of evaluated tasks, in the order of their keys.
        outcomes: By temperature, a character for each task: how many of ``outcome_episodes`` late episodes solved it
            (0-9, then a-z).
        outcome_episodes: Late episodes of each task.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    form: int = FORM
    experiment: str
    arm: str
    seed: int
    digest: str
    games: dict[str, Any]
    rerun: str
    command: str
    settings: dict[str, Any]
    software: dict[str, str]
    host: dict[str, Any]
    iterations: int
    episodes: int
    seconds: dict[str, float]
    at: list[int]
    series: dict[str, Series]
    evaluated: list[int]
    evaluations: dict[str, dict[str, list[float]]]
    kinds: dict[str, dict[str, float]]
    tasks: int
    outcomes: dict[str, str]
    outcome_episodes: int

    @property
    def identity(self) -> str:
        """Which games were played."""
        return str(self.games.get("identity", ""))

    @property
    def data(self) -> str:
        """Data that the user had named, as typed; empty where the plan said which."""
        words = shlex.split(self.rerun)
        return words[words.index(_DATA) + 1] if _DATA in words[:-1] else ""

    def solved(self, temperature: str) -> list[float] | None:
        """Share of late episodes that solved each task; ``None`` where it was not kept."""
        text = self.outcomes.get(temperature)
        return [_DIGITS.index(c) / self.outcome_episodes for c in text] if text else None


def condense(run: Run, games: Games, *, folder: Path, jobs: int, data: Path | None = None) -> Record:
    """What is to be kept of a finished run.

    Args:
        run: The run.
        games: What it played.
        folder: Folder of all runs, from which paths are shown.
        jobs: Runs that went side by side, which tells on the seconds.
        data: Data that the user named.

    Raises:
        DataError: The run's folder is damaged.
    """
    directory = RunDirectory(run.folder)
    document, final = directory.document(), directory.final()
    rows = list(directory.metrics())
    if final is None or not rows:
        raise DataError(f"{run.folder} is not finished", hint="run it again")
    trained = [row for row in rows if row["iteration"] > 0]
    temperatures = [f"{t:g}" for t in run.config.evaluation.temperatures]
    outcomes, tasks, episodes = _outcomes(directory, temperatures, run.config.evaluation.repeats)
    measured = [row for row in rows if f"evaluation/t{temperatures[0]}/success" in row]
    at, series = _series(trained)
    return Record(
        experiment=run.experiment,
        arm=run.arm,
        seed=run.seed,
        digest=run.digest,
        games=games.to_record(),
        rerun=shlex.join(["proas", *run.again, *(() if data is None else (_DATA, str(data)))]),
        command=shown(plain_words(run.config, run.folder, init=run.warm.folder), folder),
        settings={**document["settings"], "data": ""},
        software=document["software"],
        host={**_host(), "runs side by side": jobs},
        iterations=int(final["iterations"]),
        episodes=int(final["episodes"]),
        seconds=_seconds(rows),
        at=at,
        series=series,
        evaluated=[int(row["iteration"]) for row in measured],
        evaluations={
            t: {
                name: [_short(row[f"evaluation/t{t}/{name}"]) for row in measured]
                for name in ("success", "reward", "score", "steps", "invalid")
                if all(f"evaluation/t{t}/{name}" in row for row in measured)
            }
            for t in temperatures
        },
        kinds={t: _kinds(measured, t) for t in temperatures},
        tasks=tasks,
        outcomes=outcomes,
        outcome_episodes=episodes,
    )


def write_record(record: Record, results: Path) -> Path:
    """Write a record, whole or not at all. Returns the file, ``RESULTS/<experiment>/<arm>-s<seed>.json``.

    Raises:
        DataError: It cannot be written.
    """
    file = results / record.experiment / f"{record.arm}-s{record.seed}.json"
    part = file.with_name(f".{file.name}.{os.getpid()}.part")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        part.write_text(_lines(record.model_dump(mode="json")), encoding="utf-8")
        part.replace(file)
    except OSError as error:
        raise DataError(f"{file} cannot be written: {error.strerror}", hint="name another --results") from error
    return file


@dataclass(frozen=True, slots=True)
class Results:
    """All records of a folder.

    Attributes:
        records: In the order of their files.
        unreadable: Files that are no records, with the reason.
    """

    records: tuple[Record, ...]
    unreadable: tuple[str, ...] = field(default=())

    def find(self, digest: str, seed: int, *, games: str = "", experiment: str = "") -> Record | None:
        """The record of an arm and a seed; one of that experiment comes before others that agree in all settings."""
        found = [
            record
            for record in self.records
            if record.digest == digest and record.seed == seed and (not games or record.identity == games)
        ]
        return next((record for record in found if record.experiment == experiment), found[0] if found else None)


def read_results(folder: Path) -> Results:
    """The records in a folder; what cannot be read is named, not raised."""
    records: list[Record] = []
    unreadable: list[str] = []
    for file in sorted(folder.glob("*/*.json")):
        try:
            records.append(Record.model_validate_json(file.read_text(encoding="utf-8")))
        except (OSError, ValueError) as error:
            reason = error.errors()[0]["msg"] if isinstance(error, ValidationError) else str(error)
            unreadable.append(f"{file}: {reason}")
    return Results(tuple(records), tuple(unreadable))


def _series(rows: Sequence[Mapping[str, float]]) -> tuple[list[int], dict[str, Series]]:
    length = max(1, -(-len(rows) // _POINTS))
    stretches = [rows[i : i + length] for i in range(0, len(rows), length)]
    series = {name: [_mean(row[name] for row in stretch if name in row) for stretch in stretches] for name in SERIES}
    kept = {name: values for name, values in series.items() if any(value is not None for value in values)}
    return [int(stretch[-1]["iteration"]) for stretch in stretches], kept


def _mean(values: Iterable[float]) -> float | None:
    there = list(values)
    return _short(float(np.mean(there))) if there else None


def _short(value: float) -> float:
    return float(f"{value:.4g}")


def _seconds(rows: Sequence[Mapping[str, float]]) -> dict[str, float]:
    means = {part: _mean(row[f"seconds/{part}"] for row in rows if f"seconds/{part}" in row) for part in _PARTS}
    return {part: value for part, value in means.items() if value is not None}


def _kinds(measured: Sequence[Mapping[str, float]], temperature: str) -> dict[str, float]:
    start = f"evaluation/t{temperature}/success/"
    names = sorted({name.removeprefix(start) for row in measured for name in row if name.startswith(start)})
    means = {name: _mean(row[start + name] for row in measured[-LATE:] if start + name in row) for name in names}
    return {name: value for name, value in means.items() if value is not None}


def _outcomes(directory: RunDirectory, temperatures: Sequence[str], repeats: int) -> tuple[dict[str, str], int, int]:
    """Late outcomes as text, number of tasks, and episodes of each task; nothing where they are not all there."""
    rows = list(directory.outcomes())
    late: dict[str, list[dict[str, float]]] = {
        t: [row["success"] for row in rows if f"{row['temperature']:g}" == t and row["iteration"] > 0][-LATE:]
        for t in temperatures
    }
    counts = {len(found) for found in late.values()}
    episodes = repeats * (counts.pop() if len(counts) == 1 else 0)
    keys = sorted({task for found in late.values() for solved in found for task in solved})
    whole = all(set(solved) == set(keys) for found in late.values() for solved in found)
    if not 0 < episodes < len(_DIGITS) or not whole or "0" in temperatures:
        return {}, len(keys), 0
    texts = {
        t: "".join(_DIGITS[round(repeats * sum(solved[task] for solved in found))] for task in keys)
        for t, found in late.items()
    }
    return texts, len(keys), episodes


def _host() -> dict[str, Any]:
    return {"processor": processor(), "cores": os.cpu_count(), "platform": platform.platform()}


def _lines(document: Mapping[str, Any]) -> str:
    """JSON with a line for each entry of the first two levels: small, and a change shows as a change of one line."""
    return "{\n" + ",\n".join(_entries(document)) + "\n}\n"


def _entries(document: Mapping[str, Any]) -> Iterator[str]:
    for name, value in document.items():
        if name in ("series", "evaluations", "kinds", "outcomes") and value:
            inner = ",\n".join(f"  {json.dumps(key)}: {_compact(below)}" for key, below in value.items())
            yield f" {json.dumps(name)}: {{\n{inner}\n }}"
        else:
            yield f" {json.dumps(name)}: {_compact(value)}"


def _compact(value: object) -> str:
    return json.dumps(value, allow_nan=False, separators=(",", ":"))
