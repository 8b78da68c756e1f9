"""Runs side by side: arms with their seeds, success, speed-up at a target, and where the time goes. Needs no torch.

An *arm* is a method with its settings (``proas.training.arms``); its runs differ in their seeds. Differences are paired
by seed: the same seed means the same tasks in the same order. What was not measured is left out, and has no number.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from proas.errors import UsageError
from proas.training.arms import Identity, arm_names, beyond_method, identity_of
from proas.training.over_seeds import Interval, Reached, SpeedUp, Spread
from proas.training.run_directory import RunDirectory

__all__ = ["Arm", "Comparison", "Curve", "compare_runs"]

_LATE = 3
_PARTS = ("environment", "policy", "passing", "graph", "shaping", "update")
_ROLLOUTS = "rollout/success"


@dataclass(frozen=True, slots=True)
class Curve:
    """A measurement over iterations: its mean over seeds and the sample standard deviation.

    Attributes:
        iterations: Those at which every run was measured that has the measurement at all.
        mean: At each.
        deviation: At each; ``None`` where fewer than two runs were measured.
    """

    iterations: tuple[int, ...]
    mean: tuple[float, ...]
    deviation: tuple[float, ...] | None


@dataclass(frozen=True, slots=True)
class Arm:
    """What one arm came to.

    Attributes:
        name: The method, and the settings that tell it from others of the same method.
        seeds: Seeds of its runs.
        final: By temperature at which it was measured, success at the last evaluations (mean of the last three) over
            seeds.
        difference: By temperature, paired difference of ``final`` from the baseline's, where both were measured in a
            seed that both have; empty for the baseline itself.
        reached: By temperature, when its success reached the target.
        speed_up: By temperature, the baseline's iterations to the target over its own; only where it is known.
        rollouts: Success of the training rollouts over the last quarter of the iterations; ``None`` where it has none.
        seconds: Mean seconds of an iteration, evaluation aside; ``None`` where it has no iterations.
        shares: Share of those seconds by part; ``None`` for parts that were not timed.
        curves: ``T=...`` and ``rollouts``.
    """

    name: str
    seeds: tuple[int, ...]
    final: dict[float, Spread]
    difference: dict[float, Interval]
    reached: dict[float, Reached]
    speed_up: dict[float, SpeedUp]
    rollouts: Spread | None
    seconds: float | None
    shares: dict[str, float | None]
    curves: dict[str, Curve]


@dataclass(frozen=True, slots=True)
class Comparison:
    """Arms under one target.

    Attributes:
        arms: The baseline first.
        baseline: Its name.
        target: Success to be reached, in [0, 1].
        temperatures: Of the evaluations of any run.
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
            for name in ("final", "difference", "reached", "speed_up"):
                arm[name] = {f"{t:g}": value for t, value in arm[name].items()}
        return document


@dataclass(frozen=True, slots=True)
class _Run:
    path: str
    identity: Identity
    temperatures: tuple[float, ...]
    rows: tuple[dict[str, float], ...]

    @property
    def seed(self) -> int:
        return self.identity.seed

    @property
    def length(self) -> int:
        return int(self.rows[-1]["iteration"])

    def curve(self, name: str) -> dict[int, float]:
        return {int(row["iteration"]): row[name] for row in self.rows if name in row}

    def success(self, temperature: float) -> dict[int, float]:
        return self.curve(f"evaluation/t{temperature:g}/success")


def compare_runs(directories: Sequence[RunDirectory], *, target: float, baseline: str | None = None) -> Comparison:
    """Compare runs.

    Args:
        directories: The runs.
        target: Success to be reached, in [0, 1].
        baseline: Arm that the others are set against; that of the first run if not given.

    Raises:
        UsageError: A folder holds no run or no metrics, one run is named twice, or there is no such arm.
        DataError: A run's folder is damaged.
    """
    runs = [_read(directory) for directory in directories]
    if not runs:
        raise UsageError("there is nothing to compare", hint="name the folders of two runs or more")
    names = arm_names([run.identity for run in runs])
    arms: dict[str, list[_Run]] = {}
    for name, run in zip(names, runs, strict=True):
        for other in arms.setdefault(name, []):
            if other.seed == run.seed:
                message = f"seed {run.seed} of {name} is there twice: {other.path} and {run.path}"
                raise UsageError(message, hint="they agree in all settings: name one of them")
        arms[name].append(run)
    first = baseline or names[0]
    if first not in arms:
        raise UsageError(f"no run is of the arm {first!r}", hint=f"arms: {', '.join(arms)}")
    temperatures = tuple(dict.fromkeys(t for run in runs for t in run.temperatures))
    ordered = [first, *(name for name in arms if name != first)]
    found = tuple(_arm(name, arms[name], arms[first], temperatures, target) for name in ordered)
    return Comparison(
        arms=found,
        baseline=first,
        target=target,
        temperatures=temperatures,
        runs=tuple((run.path, name, run.seed) for name, run in zip(names, runs, strict=True)),
        warnings=(*_unlike(runs), *_incomplete(arms, temperatures), *_from_the_start(found, target)),
    )


def _read(directory: RunDirectory) -> _Run:
    identity = identity_of(directory)
    rows = tuple(directory.metrics())
    if not rows:
        raise UsageError(f"{directory.path} has no metrics yet", hint="let its first evaluation end")
    return _Run(str(directory.path), identity, directory.config().evaluation.temperatures, rows)


def _arm(name: str, runs: Sequence[_Run], base: Sequence[_Run], temperatures: Sequence[float], target: float) -> Arm:
    by_temperature = {t: [curve for run in runs if (curve := run.success(t))] for t in temperatures}
    measured = {t: curves for t, curves in by_temperature.items() if curves}
    reached = {t: Reached.of(curves, target) for t, curves in measured.items()}
    difference: dict[float, Interval] = {}
    speed_up: dict[float, SpeedUp] = {}
    for t in measured if runs is not base else ():
        if pairs := _pairs(runs, base, t):
            difference[t] = Interval.of(pairs)
        theirs = [curve for run in base if (curve := run.success(t))]
        if theirs and (ratio := SpeedUp.of(reached[t], Reached.of(theirs, target))):
            speed_up[t] = ratio
    rollouts = [curve for run in runs if (curve := run.curve(_ROLLOUTS))]
    seconds, shares = _time(runs)
    return Arm(
        name=name,
        seeds=tuple(sorted(run.seed for run in runs)),
        final={t: Spread.of([_late(curve) for curve in curves]) for t, curves in measured.items()},
        difference=difference,
        reached=reached,
        speed_up=speed_up,
        rollouts=Spread.of([_last_quarter(curve) for curve in rollouts]) if rollouts else None,
        seconds=seconds,
        shares=shares,
        curves={**{f"T={t:g}": _curve(curves) for t, curves in by_temperature.items()}, "rollouts": _curve(rollouts)},
    )


def _late(curve: Mapping[int, float]) -> float:
    return float(np.mean(list(curve.values())[-_LATE:]))


def _last_quarter(curve: Mapping[int, float]) -> float:
    return float(np.mean(list(curve.values())[-max(1, len(curve) // 4) :]))


def _pairs(runs: Sequence[_Run], base: Sequence[_Run], temperature: float) -> list[float]:
    """Differences of late success in the seeds in which both were measured."""
    theirs = {run.seed: curve for run in base if (curve := run.success(temperature))}
    mine = {run.seed: curve for run in runs if (curve := run.success(temperature))}
    return [_late(curve) - _late(theirs[seed]) for seed, curve in mine.items() if seed in theirs]


def _time(runs: Sequence[_Run]) -> tuple[float | None, dict[str, float | None]]:
    """Mean seconds of an iteration, and the parts' shares."""
    rows = [row for run in runs for row in run.rows if "seconds/total" in row]
    total = float(np.mean([row["seconds/total"] for row in rows])) if rows else None
    shares: dict[str, float | None] = {}
    for part in _PARTS:
        timed = [row[f"seconds/{part}"] for row in rows if f"seconds/{part}" in row]
        shares[part] = float(np.mean(timed)) / total if timed and total else None
    return total, shares


def _curve(curves: Sequence[Mapping[int, float]]) -> Curve:
    """Mean over seeds at the iterations that all of them have."""
    shared = sorted(set(curves[0]).intersection(*curves[1:])) if curves else []
    values = [[curve[i] for curve in curves] for i in shared]
    return Curve(
        tuple(shared),
        tuple(float(np.mean(v)) for v in values),
        tuple(float(np.std(v, ddof=1)) for v in values) if len(curves) > 1 else None,
    )


def _unlike(runs: Sequence[_Run]) -> Iterator[str]:
    """In what the runs differ although a comparison of methods would have it equal."""
    beyond = beyond_method([run.identity for run in runs])
    if beyond:
        yield f"the runs differ in more than the method (algorithm, shaping, graph): {', '.join(beyond)}"
    lengths = sorted({run.length for run in runs})
    if len(lengths) > 1:
        yield f"the runs are of different length: {', '.join(map(str, lengths))} iterations"


def _incomplete(arms: Mapping[str, Sequence[_Run]], temperatures: Sequence[float]) -> Iterator[str]:
    for name, runs in arms.items():
        for t in temperatures:
            measured = sum(bool(run.success(t)) for run in runs)
            if 0 < measured < len(runs):
                yield f"{name}: success at T={t:g} is that of {measured} of {len(runs)} runs, the others have none"


def _from_the_start(arms: Sequence[Arm], target: float) -> Iterator[str]:
    """Where a speed-up has no meaning."""
    for t in dict.fromkeys(t for arm in arms[1:] for t in arm.reached):
        if all(arm.reached[t].iterations == 0 and not arm.reached[t].censored for arm in arms if t in arm.reached):
            yield f"success at T={t:g} is {target:.0%} or more before training: a higher target tells the speed-up"
