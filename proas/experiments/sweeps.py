"""Arms over sampling temperatures, as ``proas diagnose temperatures`` measured the plan's runs.

On their own validation tasks, or on a split that none of them was ever measured on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from pydantic import BaseModel, ValidationError

from proas.errors import DataError
from proas.experiments.plan import Plan
from proas.experiments.records import Record
from proas.experiments.schedule import run_place
from proas.experiments.statistics import Findings
from proas.experiments.tables import Table
from proas.training.over_seeds import Interval, Spread

__all__ = ["sweep_tables"]

KIND = "temperatures"
_INTERVAL = "in points with the paired 95 % interval"


class _Success(BaseModel):
    value: float


class _Row(BaseModel):
    temperature: float
    success: _Success


class _Kept(BaseModel):
    run: str
    iteration: int
    data: str = ""
    tasks: int = 0
    rows: list[_Row]


@dataclass(frozen=True, slots=True)
class _Sweep:
    """An arm's success by temperature and seed, and the temperature at which its mean over seeds is highest."""

    arm: str
    success: Mapping[float, Mapping[int, float]]
    best: float
    runs: Mapping[int, str]
    tasks: str


def sweep_tables(found: Findings, kept: Path) -> list[Table]:
    """Success over temperatures of the arms that the plan has swept, and together with the plans that it names.

    Args:
        found: What the records say; results of other runs than theirs are left out.
        kept: Folder of the diagnoses, ``KEPT/<arm>-s<seed>/<name>.json``.

    Raises:
        DataError: A result cannot be read.
    """
    own = {arm.name: arm.records for arm in found.arms}
    made: list[Table] = []
    for name in dict.fromkeys(d.kept_as for d in found.plan.diagnoses if d.kind == KIND):
        sweeps = list(_sweeps(found.plan, own, kept, name))
        if not sweeps:
            continue
        made.append(_over_temperatures(sweeps, name, _title(found.plan, name)))
        others = [list(_sweeps(plan, records, kept, name)) for plan, records in found.beside]
        if any(others):
            made += _together(found.plan, [sweeps, *others], name)
    return made


def _split(plan: Plan, name: str) -> str:
    """The split that a plan's diagnoses of a name are measured on; empty for the runs' own tasks."""
    return next((str(d.options["split"]) for d in plan.diagnoses if d.kept_as == name and "split" in d.options), "")


def _title(plan: Plan, name: str) -> str:
    if split := _split(plan, name):
        return f"On {split}"
    return "Over temperatures" if name == KIND else f"Over temperatures, {name}"


def _over_temperatures(sweeps: list[_Sweep], name: str, title: str) -> Table:
    drawn = sorted({t for sweep in sweeps for t in sweep.success})
    against = [f"at its best, against {sweep.arm}" for sweep in sweeps]
    columns = ["arm", "seeds", *(f"T={t:g}" for t in drawn), "best at", *against]
    rows = []
    for sweep in sweeps:
        cells = [sweep.arm, str(len(sweep.success[sweep.best]))]
        cells += [Spread.of(list(sweep.success[t].values())).shown() if t in sweep.success else "-" for t in drawn]
        at_best = [{} if sweep is other else _at_best(sweep, other) for other in sweeps]
        cells += [f"{sweep.best:g}", *(Interval.of(list(d.values())).shown() if d else "-" for d in at_best)]
        rows.append(tuple(cells))
    caption = (
        f"Percent of {sweeps[0].tasks} that the last policy solves at each temperature, mean ± sample standard "
        "deviation over seeds, the same tasks and draws for every arm. Best is the temperature of the highest mean; "
        f"the differences set each arm at its own best against another at its own, {_INTERVAL}."
    )
    return Table(name, title, caption, tuple(columns), tuple(rows))


def _together(plan: Plan, parts: list[list[_Sweep]], name: str) -> list[Table]:
    """The differences of all the plans' pairs; none where no two plans have the same two arms."""
    by_name = [{sweep.arm: sweep for sweep in part} for part in parts]
    drawn = sorted({t for sweep in parts[0] for t in sweep.success})
    rows = []
    for place, arm in enumerate(by_name[0]):
        for other in list(by_name[0])[:place]:
            both = [(part[arm], part[other]) for part in by_name if arm in part and other in part]
            if len(both) < 2:
                continue
            best = _merged(_at_best(a, b) for a, b in both)
            cells = [_shown(_merged(_at(a, b, t) for a, b in both)) for t in drawn]
            rows.append((arm, other, str(len(best)), *cells, _shown(best)))
    if not rows:
        return []
    named = ", ".join([plan.name, *plan.together])
    caption = (
        f"Arms that are the same in two or more of the plans {named}, over the pairs of all that have both: "
        f"differences at each temperature, {_INTERVAL}, and in how many pairs the arm is higher; at last each "
        "plan's arms at their own best temperatures there."
    )
    columns = ("arm", "against", "pairs", *(f"T={t:g}" for t in drawn), "each at its best")
    title = f"{_title(plan, name)}, together with {', '.join(plan.together)}"
    return [Table(f"{name}-together", title, caption, columns, tuple(rows))]


_Pairs = Mapping[tuple[str, str, int], float]
"""Differences by what was run for both arms, and the seed: plans may share runs, and each pair counts once."""


def _at(sweep: _Sweep, other: _Sweep, own: float, theirs: float | None = None) -> _Pairs:
    mine, set_against = sweep.success.get(own, {}), other.success.get(own if theirs is None else theirs, {})
    seeds = sorted(mine.keys() & set_against.keys())
    return {(sweep.runs[seed], other.runs[seed], seed): mine[seed] - set_against[seed] for seed in seeds}


def _at_best(sweep: _Sweep, other: _Sweep) -> _Pairs:
    return _at(sweep, other, sweep.best, other.best)


def _merged(parts: Iterator[_Pairs]) -> _Pairs:
    return {pair: difference for part in parts for pair, difference in part.items()}


def _shown(pairs: _Pairs) -> str:
    if not pairs:
        return "-"
    return f"{Interval.of(list(pairs.values())).shown()}, {sum(d > 0 for d in pairs.values())} of {len(pairs)}"


def _sweeps(plan: Plan, records: Mapping[str, Mapping[int, Record]], kept: Path, name: str) -> Iterator[_Sweep]:
    asked = {arm for d in plan.diagnoses if d.kind == KIND and d.kept_as == name for arm in d.arms}
    for arm, of in records.items():
        if arm in asked and (sweep := _sweep(plan, arm, of, kept, name)):
            yield sweep


def _sweep(plan: Plan, arm: str, records: Mapping[int, Record], kept: Path, name: str) -> _Sweep | None:
    success: dict[float, dict[int, float]] = {}
    tasks = "the validation tasks"
    split = _split(plan, name)
    places = {seed: run_place(record.digest, record.identity) for seed, record in records.items()}
    for seed, place in places.items():
        file = kept / f"{arm}-s{seed}" / f"{name}.json"
        if not file.is_file():
            continue
        try:
            read = _Kept.model_validate_json(file.read_bytes())
        except (OSError, ValidationError) as error:
            raise DataError(f"{file} is no result of `proas diagnose {KIND}`", hint="move it away") from error
        if read.run.endswith(place):
            if split:
                tasks = f"the {read.tasks} tasks of {Path(read.data).name}"
            for row in read.rows:
                success.setdefault(row.temperature, {})[seed] = row.success.value
    if not success:
        return None
    most = max(len(of) for of in success.values())
    whole = {t: of for t, of in success.items() if len(of) == most}
    best = max(whole, key=lambda t: (float(np.mean(list(whole[t].values()))), -t))
    return _Sweep(arm, whole, best, places, tasks)
