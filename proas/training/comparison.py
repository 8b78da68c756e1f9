"""Runs side by side: arms with their seeds, success, speed-up at a target, and where the time goes. Needs no torch.

An *arm* is an algorithm with its shaping; its runs differ in their seeds. Differences are paired by seed: the same
seed means the same tasks in the same order. With n pairs the 95 % interval is mean ± t(n - 1) * s / sqrt(n).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from proas.errors import UsageError
from proas.training.run_directory import RunDirectory

__all__ = ["Arm", "Comparison", "Curve", "Interval", "Spread", "compare_runs", "first_at"]

# Two-sided 95 % points of Student's t with 1 to 30 degrees of freedom; beyond, the normal distribution's.
_T95 = (
    *(12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228),
    *(2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086),
    *(2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042),
)
_LATE = 3
_LEAST_PAIRS = 3
_PARTS = ("environment", "policy", "passing", "graph", "shaping", "update")


@dataclass(frozen=True, slots=True)
class Spread:
    """Mean and sample standard deviation over seeds; no deviation for a single one."""

    mean: float
    deviation: float | None

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        """Of values."""
        return cls(float(np.mean(values)), float(np.std(values, ddof=1)) if len(values) > 1 else None)

    def shown(self) -> str:
        """In percent."""
        return f"{100 * self.mean:.1f}" + ("" if self.deviation is None else f" ± {100 * self.deviation:.1f}")


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean of paired differences with its 95 % interval; no bounds for fewer than three pairs.

    With two, Student's t multiplies half of their distance by 12.7: it is as wide, or by luck as narrow, as they happen
    to fall, and says nothing that the mean does not.
    """

    mean: float
    low: float | None
    high: float | None
    pairs: int

    @classmethod
    def of(cls, differences: Sequence[float]) -> Interval:
        """Of paired differences."""
        n = len(differences)
        mean = float(np.mean(differences))
        if n < _LEAST_PAIRS:
            return cls(mean, None, None, n)
        half = (_T95[n - 2] if n - 2 < len(_T95) else 1.960) * float(np.std(differences, ddof=1)) / n**0.5
        return cls(mean, mean - half, mean + half, n)

    def shown(self) -> str:
        """In points of percent."""
        if self.low is None or self.high is None:
            return f"{100 * self.mean:+.1f}"
        return f"{100 * self.mean:+.1f} [{100 * self.low:+.1f}, {100 * self.high:+.1f}]"


@dataclass(frozen=True, slots=True)
class Curve:
    """A measurement over iterations: its mean over seeds and the sample standard deviation, where more than one."""

    iterations: tuple[int, ...]
    mean: tuple[float, ...]
    deviation: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Arm:
    """What one arm came to.

    Attributes:
        name: Algorithm and shaping.
        seeds: Seeds of its runs.
        final: For each temperature, success at the last evaluations (mean of the last three) over seeds.
        rollouts: Success of the training rollouts over the last quarter of the iterations.
        difference: Paired difference of ``final`` at the first temperature from the baseline; ``None`` for it itself.
        iterations_to_target: Iterations until success at the first temperature reached the target, on average over
            seeds; ``None`` where a seed never did.
        speed_up: The baseline's iterations to the target over this arm's.
        seconds: Mean seconds of an iteration, evaluation aside.
        shares: Share of those seconds by part.
        curves: ``T=...`` and ``rollouts``.
    """

    name: str
    seeds: tuple[int, ...]
    final: dict[float, Spread]
    rollouts: Spread
    difference: Interval | None
    iterations_to_target: float | None
    speed_up: float | None
    seconds: float
    shares: dict[str, float]
    curves: dict[str, Curve]


@dataclass(frozen=True, slots=True)
class Comparison:
    """Arms under one target.

    Attributes:
        arms: The baseline first.
        baseline: Its name.
        target: Success to be reached, in [0, 1].
        temperatures: Of the evaluations.
        runs: Folder of each run, with its arm and seed.
        warnings: What makes the runs hard to compare.
    """

    arms: tuple[Arm, ...]
    baseline: str
    target: float
    temperatures: tuple[float, ...]
    runs: tuple[tuple[str, str, int], ...]
    warnings: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""
        document = asdict(self)
        for arm in document["arms"]:
            arm["final"] = {f"{t:g}": spread for t, spread in arm["final"].items()}
        return document


@dataclass(frozen=True, slots=True)
class _Run:
    path: str
    arm: str
    seed: int
    settings: Mapping[str, Any]
    rows: tuple[dict[str, float], ...]

    def curve(self, name: str) -> dict[int, float]:
        return {int(row["iteration"]): row[name] for row in self.rows if name in row}


def compare_runs(directories: Sequence[RunDirectory], *, target: float, baseline: str | None = None) -> Comparison:
    """Compare runs.

    Args:
        directories: The runs.
        target: Success to be reached, in [0, 1].
        baseline: Arm that the others are set against; that of the first run if not given.

    Raises:
        UsageError: A folder holds no run or no metrics, one run is named twice, or there is no such arm.
    """
    runs = [_read(directory) for directory in directories]
    if not runs:
        raise UsageError("there is nothing to compare", hint="name the folders of two runs or more")
    arms: dict[str, list[_Run]] = {}
    for run in runs:
        arms.setdefault(run.arm, []).append(run)
        if sum(other.seed == run.seed for other in arms[run.arm]) > 1:
            raise UsageError(f"{run.path}: seed {run.seed} of {run.arm} is there twice", hint="name each run once")
    first = baseline or runs[0].arm
    if first not in arms:
        raise UsageError(f"no run is of the arm {first!r}", hint=f"arms: {', '.join(arms)}")
    temperatures = tuple(runs[0].settings["evaluation"]["temperatures"])
    ordered = [first, *(name for name in arms if name != first)]
    reached = {name: _target_at(arms[name], temperatures[0], target) for name in ordered}
    return Comparison(
        arms=tuple(
            _arm(name, arms[name], arms[first] if name != first else None, temperatures, reached, first)
            for name in ordered
        ),
        baseline=first,
        target=target,
        temperatures=temperatures,
        runs=tuple((run.path, run.arm, run.seed) for run in runs),
        warnings=tuple(_warnings(runs)),
    )


def first_at(curve: Mapping[int, float], target: float) -> int | None:
    """First iteration at which a curve has reached a value."""
    return next((iteration for iteration in sorted(curve) if curve[iteration] >= target), None)


def _read(directory: RunDirectory) -> _Run:
    document = directory.document()
    config = directory.config()
    rows = tuple(directory.metrics())
    if not rows:
        raise UsageError(f"{directory.path} has no metrics yet", hint="let its first evaluation end")
    return _Run(str(directory.path), str(document.get("arm", config.arm)), config.seed, config.to_dict(), rows)


def _arm(
    name: str,
    runs: Sequence[_Run],
    base: Sequence[_Run] | None,
    temperatures: Sequence[float],
    reached: Mapping[str, float | None],
    first: str,
) -> Arm:
    own, theirs = reached[name], reached[first]
    rows = [row for run in runs for row in run.rows if "seconds/total" in row]
    seconds = float(np.mean([row["seconds/total"] for row in rows])) if rows else 0.0
    parts = {
        part: float(np.mean([row.get(f"seconds/{part}", 0.0) for row in rows])) if rows else 0.0 for part in _PARTS
    }
    return Arm(
        name=name,
        seeds=tuple(sorted(run.seed for run in runs)),
        final={t: Spread.of([_late(run, t) for run in runs]) for t in temperatures},
        rollouts=Spread.of([_late_rollouts(run) for run in runs]),
        difference=None if base is None else _difference(runs, base, temperatures[0]),
        iterations_to_target=own,
        speed_up=theirs / own if own and theirs else None,
        seconds=seconds,
        shares={part: value / seconds if seconds else 0.0 for part, value in parts.items()},
        curves={
            **{f"T={t:g}": _curve([run.curve(f"evaluation/t{t:g}/success") for run in runs]) for t in temperatures},
            "rollouts": _curve([run.curve("rollout/success") for run in runs]),
        },
    )


def _late(run: _Run, temperature: float) -> float:
    values = list(run.curve(f"evaluation/t{temperature:g}/success").values())
    return float(np.mean(values[-_LATE:])) if values else 0.0


def _late_rollouts(run: _Run) -> float:
    values = list(run.curve("rollout/success").values())
    return float(np.mean(values[-max(1, len(values) // 4) :])) if values else 0.0


def _difference(runs: Sequence[_Run], base: Sequence[_Run], temperature: float) -> Interval | None:
    others = {run.seed: run for run in base}
    pairs = [_late(run, temperature) - _late(others[run.seed], temperature) for run in runs if run.seed in others]
    return Interval.of(pairs) if pairs else None


def _target_at(runs: Sequence[_Run], temperature: float, target: float) -> float | None:
    found = [first_at(run.curve(f"evaluation/t{temperature:g}/success"), target) for run in runs]
    reached = [iteration for iteration in found if iteration is not None]
    return float(np.mean(reached)) if len(reached) == len(found) else None


def _curve(curves: Sequence[Mapping[int, float]]) -> Curve:
    """Mean over seeds at the iterations that all of them have."""
    shared = sorted(set(curves[0]).intersection(*curves[1:])) if curves else []
    values = [[curve[i] for curve in curves] for i in shared]
    return Curve(
        tuple(shared),
        tuple(float(np.mean(v)) for v in values),
        tuple(float(np.std(v, ddof=1)) if len(v) > 1 else 0.0 for v in values),
    )


_DECIDING = (
    "env",
    "data",
    "options",
    "tasks",
    "group_size",
    "step_limit",
    "temperature",
    "recur",
    "policy",
    "text",
    "evaluation",
)


def _warnings(runs: Sequence[_Run]) -> Iterable[str]:
    """Settings that differ between the runs although they should not."""
    for name in _DECIDING:
        if any(run.settings.get(name) != runs[0].settings.get(name) for run in runs[1:]):
            yield f"the runs differ in {name}, so their difference is not one of method alone"
    lengths = {int(run.rows[-1]["iteration"]) for run in runs}
    if len(lengths) > 1:
        yield f"the runs are of different length: {', '.join(map(str, sorted(lengths)))} iterations"
