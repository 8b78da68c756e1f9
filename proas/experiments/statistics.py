"""What the records of an experiment say: success over seeds, first iterations at targets, paired differences.

*Early* is the mean of the first three evaluations after the start, *late* the mean of the last three, and the *run* the
mean of all after the start, which says how soon an arm learns as well as how far it comes. Differences are paired by
seed (same seed: same tasks in the same order) with Student's t, and by evaluated task with a bootstrap. A plan may
name others whose like arms are counted together with its own: then the pairs are those of all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from proas.envs.base import RewardSettings
from proas.experiments.notes import notes_on
from proas.experiments.plan import ArmPlan, Plan
from proas.experiments.plan_files import load_plan
from proas.experiments.records import LATE, Record, Results
from proas.experiments.schedule import arm_digest
from proas.training.over_seeds import Interval, Reached, SpeedUp, Spread

__all__ = ["ArmResult", "Difference", "Findings", "Together", "findings"]

_DRAWS = 2000
_REWARDS = RewardSettings()
_ROUNDING = 0.005


@dataclass(frozen=True, slots=True)
class Difference:
    """An arm against another, at one temperature.

    Attributes:
        over_seeds: Late success, mean with Student's interval over the seeds that both have; ``None`` where they share
            none.
        over_run: The same of the run's mean.
        over_last: The same of the last evaluation alone.
        over_tasks: 95 % interval of the bootstrap over evaluated tasks; ``None`` where outcomes were not kept.
        higher: Seeds in which this arm is higher.
    """

    over_seeds: Interval | None
    over_run: Interval | None
    over_last: Interval | None
    over_tasks: tuple[float, float] | None
    higher: int

    def shown(self) -> str:
        """Points of percent with the interval over seeds."""
        return "-" if self.over_seeds is None else self.over_seeds.shown()

    def shown_over_run(self) -> str:
        """The run's mean in the same way."""
        return "-" if self.over_run is None else self.over_run.shown()

    def shown_over_last(self) -> str:
        """The last evaluation's in the same way."""
        return "-" if self.over_last is None else self.over_last.shown()

    def shown_over_tasks(self) -> str:
        """The bootstrap's interval."""
        if self.over_tasks is None:
            return "-"
        low, high = self.over_tasks
        return f"[{100 * low:+.1f}, {100 * high:+.1f}]"

    def shown_higher(self) -> str:
        """In how many seeds it is higher."""
        return "-" if self.over_seeds is None else f"{self.higher} of {self.over_seeds.pairs}"


@dataclass(frozen=True, slots=True)
class ArmResult:
    """What one arm came to.

    Attributes:
        name: The arm.
        records: By seed.
        early: By temperature.
        late: By temperature.
        last: By temperature, the last evaluation alone.
        steps: By temperature, late mean length of an evaluation's episodes.
        invalid: By temperature, late share of an evaluation's steps that did not apply, in [0, 1].
        score: By temperature, late score in [0, 1]: more than the success in environments that pay in part.
        rollouts: Success of the training rollouts in the last quarter.
        reached: By temperature and target in percent.
        speed_up: By temperature and target: iterations of the arm that it is set against first over its own;
            ``None`` where this one did not get there in every seed.
        kinds: By kind of task, late success at the first temperature.
        against: By temperature and name of the other arm, in the plan's order.
        seconds: Mean seconds an iteration by part.
    """

    name: str
    records: Mapping[int, Record]
    early: Mapping[str, Spread]
    late: Mapping[str, Spread]
    last: Mapping[str, Spread]
    steps: Mapping[str, Spread]
    invalid: Mapping[str, Spread]
    score: Mapping[str, Spread]
    rollouts: Spread
    reached: Mapping[str, Mapping[float, Reached]]
    speed_up: Mapping[str, Mapping[float, SpeedUp | None]]
    kinds: Mapping[str, Spread]
    against: Mapping[str, Mapping[str, Difference]]
    seconds: Mapping[str, float]

    def series(self, name: str) -> tuple[list[int], list[list[float | None]]]:
        """A measurement over iterations, one row a seed; empty where it has none."""
        first = next(iter(self.records.values()))
        rows = [r.series[name] for r in self.records.values() if name in r.series and r.at == first.at]
        return (list(first.at), rows) if rows else ([], [])

    def curve(self, temperature: str) -> tuple[list[int], list[list[float]]]:
        """Success over the evaluations, one row a seed."""
        first = next(iter(self.records.values()))
        rows = [r.evaluations[temperature]["success"] for r in self.records.values() if r.evaluated == first.evaluated]
        return list(first.evaluated), rows

    def ends(self, name: str) -> tuple[float, float] | None:
        """A measurement's mean over the first and over the last quarter of the iterations."""
        _, rows = self.series(name)
        quarters: list[tuple[float, float]] = []
        for row in rows:
            values = [value for value in row if value is not None]
            if values:
                size = max(1, len(values) // 4)
                quarters.append((float(np.mean(values[:size])), float(np.mean(values[-size:]))))
        if not quarters:
            return None
        return float(np.mean([q[0] for q in quarters])), float(np.mean([q[1] for q in quarters]))


@dataclass(frozen=True, slots=True)
class Together:
    """An arm against another at one temperature, over the seeds of several plans.

    Attributes:
        arm: The arm.
        other: What it is set against.
        temperature: Of drawing.
        difference: Over all pairs of runs; none over tasks, as each plan may evaluate its own.
    """

    arm: str
    other: str
    temperature: str
    difference: Difference


@dataclass(frozen=True, slots=True)
class Findings:
    """What the records say about a plan.

    Attributes:
        plan: The plan.
        arms: Those that have results, in the plan's order.
        together: What its arms and the like ones of the plans that it names say together: each against those before
            it, by temperature.
        beside: The plans that it names to be counted together with, and their records of arms that are as its own, by
            seed.
        missing: Runs of the plan without a result.
        notes: What makes the records hard to compare, what was left out, and what no longer is as the records have it.
        temperatures: Of the evaluations.
    """

    plan: Plan
    arms: tuple[ArmResult, ...]
    together: tuple[Together, ...]
    beside: tuple[tuple[Plan, Mapping[str, Mapping[int, Record]]], ...]
    missing: tuple[str, ...]
    notes: tuple[str, ...]
    temperatures: tuple[str, ...]

    @property
    def pays_in_part(self) -> bool:
        """Whether scores say more than success."""
        return any(
            abs(arm.score[t].mean - arm.late[t].mean) > _ROUNDING for arm in self.arms for t in self.temperatures
        )


def findings(plan: Plan, results: Results) -> Findings:
    """What the records say about a plan.

    Records of other settings are left out; where there are records on several sets of games, those on the set with
    the most records count.

    Args:
        plan: The plan; its own arms and seeds only.
        results: All records.
    """
    digests = {arm: arm_digest(plan, arm) for arm in plan.arms}
    identity, notes = _games(plan, results, digests)
    found = _records(plan, results, digests, identity)
    missing = [f"{arm}-s{seed}" for arm in plan.arms for seed in plan.seeds if seed not in found.get(arm, {})]
    temperatures = tuple(f"{t:g}" for t in plan.base_config().evaluation.temperatures)
    notes += _stale(plan, results, digests) + notes_on(plan, found)
    arms = tuple(_arm(name, found, plan, temperatures) for name in found)
    beside = _beside(plan, results)
    together = _together([found, *(there for _, there in beside)], temperatures)
    return Findings(plan, arms, together, beside, tuple(missing), tuple(notes), temperatures)


def _records(plan: Plan, results: Results, digests: Mapping[str, str], identity: str) -> dict[str, dict[int, Record]]:
    """The plan's records by arm and seed; arms without any are left out."""
    found: dict[str, dict[int, Record]] = {}
    for arm in plan.arms:
        for seed in plan.seeds:
            record = results.find(digests[arm], seed, games=identity, experiment=plan.name)
            if record is not None:
                found.setdefault(arm, {})[seed] = record
    return found


def _beside(plan: Plan, results: Results) -> tuple[tuple[Plan, Mapping[str, Mapping[int, Record]]], ...]:
    found: list[tuple[Plan, Mapping[str, Mapping[int, Record]]]] = []
    for beside in map(load_plan, plan.together):
        digests = {arm: arm_digest(beside, arm) for arm in beside.arms}
        identity, _ = _games(beside, results, digests)
        there = _records(beside, results, digests, identity)
        alike = [arm for arm in there if arm in plan.arms and _alike(plan.arms[arm], beside.arms[arm])]
        found.append((beside, {arm: there[arm] for arm in alike}))
    return tuple(found)


def _together(parts: Sequence[Mapping[str, Mapping[int, Record]]], temperatures: Sequence[str]) -> tuple[Together, ...]:
    """Each arm of the first part against those before it, over the pairs of all parts that have both."""
    compared: list[Together] = []
    for temperature, (place, arm) in product(temperatures, enumerate(parts[0])):
        for other in list(parts[0])[:place]:
            both = [_pairs(part[arm], part[other]) for part in parts if arm in part and other in part]
            # Plans may share runs: each pair counts once.
            pairs = {(a.digest, b.digest, a.identity, a.seed): (a, b) for part in both for a, b in part}
            if len(both) > 1 and pairs:
                difference = _difference(list(pairs.values()), temperature, tasks=False)
                compared.append(Together(arm, other, temperature, difference))
    return tuple(compared)


def _alike(arm: ArmPlan, other: ArmPlan) -> bool:
    decides = {"algorithm", "shaping", "settings", "graph"}
    return arm.model_dump(include=decides) == other.model_dump(include=decides)


def _games(plan: Plan, results: Results, digests: Mapping[str, str]) -> tuple[str, list[str]]:
    """The games that count, and a note where others were left out."""
    mine = [record for record in results.records if record.digest in digests.values() and record.seed in plan.seeds]
    counts: dict[str, int] = {}
    for record in mine:
        counts[record.identity] = counts.get(record.identity, 0) + 1
    if not counts:
        return "", []
    most = max(counts, key=lambda identity: (counts[identity], identity))
    others = sum(counts.values()) - counts[most]
    return most, [f"{others} results on other games are left out"] if others else []


def _stale(plan: Plan, results: Results, digests: Mapping[str, str]) -> list[str]:
    stale = [
        f"{record.arm}-s{record.seed}"
        for record in results.records
        if record.experiment == plan.name and record.digest != digests.get(record.arm, record.digest)
    ]
    return [f"{len(stale)} results of other settings are left out: {', '.join(sorted(stale)[:6])}"] if stale else []


def _arm(name: str, found: Mapping[str, Mapping[int, Record]], plan: Plan, temperatures: Sequence[str]) -> ArmResult:
    records = found[name]
    mine = list(records.values())
    first = temperatures[0]
    base = list(found.get(plan.against(name)[0], {}).values())
    reached = {t: {target: _reached(mine, t, target) for target in plan.targets} for t in temperatures}
    before = {t: {target: _reached(base, t, target) for target in plan.targets if base} for t in temperatures}
    others = [other for other in plan.against(name) if other in found and other != name]
    kinds = sorted({kind for record in mine for kind in record.kinds.get(first, {})})
    parts = sorted({part for record in mine for part in record.seconds})
    return ArmResult(
        name=name,
        records=records,
        early={t: Spread.of([_early(record, t) for record in mine]) for t in temperatures},
        late={t: Spread.of([_late(record, t) for record in mine]) for t in temperatures},
        last={t: Spread.of([_last(record, t) for record in mine]) for t in temperatures},
        steps={t: Spread.of([_late(record, t, "steps") for record in mine]) for t in temperatures},
        invalid={t: Spread.of([_late(record, t, "invalid") for record in mine]) for t in temperatures},
        score={t: Spread.of([_score(record, t) for record in mine]) for t in temperatures},
        rollouts=Spread.of([_late_rollouts(record) for record in mine]),
        reached=reached,
        speed_up={t: {n: SpeedUp.of(one, before[t].get(n)) for n, one in reached[t].items()} for t in temperatures},
        kinds={kind: Spread.of([r.kinds[first][kind] for r in mine if kind in r.kinds[first]]) for kind in kinds},
        against={t: {other: _difference(_pairs(records, found[other]), t) for other in others} for t in temperatures},
        seconds={part: float(np.mean([r.seconds[part] for r in mine if part in r.seconds])) for part in parts},
    )


def _early(record: Record, temperature: str) -> float:
    values = record.evaluations[temperature]["success"]
    return float(np.mean(values[1 : 1 + LATE] or values))


def _late(record: Record, temperature: str, what: str = "success") -> float:
    return float(np.mean(record.evaluations[temperature][what][-LATE:]))


def _last(record: Record, temperature: str) -> float:
    return record.evaluations[temperature]["success"][-1]


def _whole(record: Record, temperature: str) -> float:
    values = record.evaluations[temperature]["success"]
    return float(np.mean(values[1:] or values))


def _score(record: Record, temperature: str) -> float:
    """Late score; where none was recorded, the return over a success's, the penalties of invalid steps given back."""
    if "score" in record.evaluations[temperature]:
        return float(np.mean(record.evaluations[temperature]["score"][-LATE:]))
    late = {name: np.array(values[-LATE:]) for name, values in record.evaluations[temperature].items()}
    paid = late["reward"] - _REWARDS.invalid * late["invalid"] * late["steps"]
    return float(np.mean(paid)) / _REWARDS.success


def _late_rollouts(record: Record) -> float:
    values = [value for value in record.series.get("rollout/success", []) if value is not None]
    return float(np.mean(values[-max(1, len(values) // 4) :])) if values else 0.0


def _reached(records: Sequence[Record], temperature: str, target: float) -> Reached:
    curves = [dict(zip(r.evaluated, r.evaluations[temperature]["success"], strict=True)) for r in records]
    return Reached.of(curves, target / 100)


def _pairs(own: Mapping[int, Record], other: Mapping[int, Record]) -> list[tuple[Record, Record]]:
    return [(own[seed], other[seed]) for seed in sorted(own.keys() & other.keys())]


def _difference(pairs: Sequence[tuple[Record, Record]], temperature: str, *, tasks: bool = True) -> Difference:
    late = [_late(a, temperature) - _late(b, temperature) for a, b in pairs]
    runs = [_whole(a, temperature) - _whole(b, temperature) for a, b in pairs]
    ends = [_last(a, temperature) - _last(b, temperature) for a, b in pairs]
    solved = [_paired_tasks(a, b, temperature) for a, b in pairs] if tasks else [None]
    return Difference(
        over_seeds=Interval.of(late) if pairs else None,
        over_run=Interval.of(runs) if pairs else None,
        over_last=Interval.of(ends) if pairs else None,
        over_tasks=_bootstrap([rows for rows in solved if rows is not None]) if None not in solved else None,
        higher=sum(one > 0 for one in late),
    )


def _paired_tasks(own: Record, other: Record, temperature: str) -> list[float] | None:
    mine, theirs = own.solved(temperature), other.solved(temperature)
    if mine is None or theirs is None or len(mine) != len(theirs):
        return None
    return [a - b for a, b in zip(mine, theirs, strict=True)]


def _bootstrap(rows: Iterable[Sequence[float]]) -> tuple[float, float] | None:
    """95 % interval of the mean difference when the evaluated tasks are drawn anew, the same for all seeds."""
    table = [list(row) for row in rows]
    if not table or len({len(row) for row in table}) > 1:
        return None
    by_task = np.mean(np.array(table), axis=0)
    draws = np.random.default_rng(0).integers(0, len(by_task), size=(_DRAWS, len(by_task)))
    low, high = np.percentile(by_task[draws].mean(axis=1), [2.5, 97.5])
    return float(low), float(high)
