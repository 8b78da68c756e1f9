"""Arms over sampling temperatures, as ``proas diagnose temperatures`` measured the plan's runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from pydantic import BaseModel, ValidationError

from proas.errors import DataError
from proas.experiments.plan import Plan
from proas.experiments.schedule import arm_digest, run_place
from proas.experiments.statistics import ArmResult, Findings
from proas.experiments.tables import Table
from proas.training.over_seeds import Interval, Spread

__all__ = ["sweep_table"]

KIND = "temperatures"


class _Success(BaseModel):
    value: float


class _Row(BaseModel):
    temperature: float
    success: _Success


class _Kept(BaseModel):
    run: str
    iteration: int
    rows: list[_Row]


@dataclass(frozen=True, slots=True)
class _Sweep:
    """An arm's success by temperature and seed, and the temperature at which its mean over seeds is highest."""

    arm: str
    success: Mapping[float, Mapping[int, float]]
    best: float


def sweep_table(found: Findings, kept: Path) -> Table | None:
    """Success over temperatures of the arms that the plan has swept; ``None`` where nothing was.

    Args:
        found: What the records say; results of other runs than theirs are left out.
        kept: Folder of the diagnoses, ``KEPT/<arm>-s<seed>/temperatures.json``.

    Raises:
        DataError: A result cannot be read.
    """
    asked = list(dict.fromkeys(d.arm for d in found.plan.diagnoses if d.kind == KIND))
    sweeps = [s for arm in found.arms if arm.name in asked and (s := _sweep(found.plan, arm, kept))]
    if not sweeps:
        return None
    drawn = sorted({t for sweep in sweeps for t in sweep.success})
    columns = [
        "arm",
        "seeds",
        *(f"T={t:g}" for t in drawn),
        "best at",
        *(f"at its best, against {s.arm}" for s in sweeps),
    ]
    rows = []
    for sweep in sweeps:
        cells = [sweep.arm, str(len(sweep.success[sweep.best]))]
        cells += [Spread.of(list(sweep.success[t].values())).shown() if t in sweep.success else "-" for t in drawn]
        cells += [f"{sweep.best:g}", *(_against(sweep, other) for other in sweeps)]
        rows.append(tuple(cells))
    caption = (
        "Percent of the validation tasks that the last policy solves at each temperature, mean ± sample standard "
        "deviation over seeds, the same tasks and draws for every arm. Best is the temperature of the highest mean; "
        "the differences set each arm at its own best against another at its own, in points with the paired 95 % "
        "interval."
    )
    return Table("temperatures", "Over temperatures", caption, tuple(columns), tuple(rows))


def _sweep(plan: Plan, arm: ArmResult, kept: Path) -> _Sweep | None:
    success: dict[float, dict[int, float]] = {}
    for seed, record in arm.records.items():
        file = kept / f"{arm.name}-s{seed}" / f"{KIND}.json"
        if not file.is_file():
            continue
        try:
            read = _Kept.model_validate_json(file.read_bytes())
        except (OSError, ValidationError) as error:
            raise DataError(f"{file} is no result of `proas diagnose {KIND}`", hint="move it away") from error
        if read.run.endswith(run_place(arm_digest(plan, arm.name), record.identity)):
            for row in read.rows:
                success.setdefault(row.temperature, {})[seed] = row.success.value
    if not success:
        return None
    most = max(len(of) for of in success.values())
    whole = {t: of for t, of in success.items() if len(of) == most}
    return _Sweep(arm.name, whole, max(whole, key=lambda t: (float(np.mean(list(whole[t].values()))), -t)))


def _against(sweep: _Sweep, other: _Sweep) -> str:
    own, theirs = sweep.success[sweep.best], other.success[other.best]
    pairs = [own[seed] - theirs[seed] for seed in sorted(own.keys() & theirs.keys())]
    return Interval.of(pairs).shown() if pairs and other is not sweep else "-"
