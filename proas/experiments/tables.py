"""The tables of an experiment, as text in rows: the command line prints them, the report page holds them."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from proas.experiments.statistics import ArmResult, Findings

__all__ = ["Table", "all_tables", "markdown"]

_DIAGNOSTICS = {
    "unreasonable": "proas/unreasonable_in_positive",
    "non-progress": "proas/nonprogress_in_negative",
    "mask rate": "proas/mask_rate",
    "-/+ mass before": "proas/negative_to_positive_base",
    "-/+ mass after": "proas/negative_to_positive",
    "all-failed groups": "proas/groups_all_failed",
    "entropy": "rollout/entropy",
    "invalid": "rollout/invalid",
    "coverage": "proas/coverage",
    "growth": "proas/growth_transitions",
}
_PARTS = ("environment", "policy", "passing", "graph", "shaping", "update")


@dataclass(frozen=True, slots=True)
class Table:
    """A table.

    Attributes:
        name: In a word.
        title: What it shows.
        caption: What its figures are.
        columns: Their heads; the first is the arm.
        rows: As many cells as columns each.
    """

    name: str
    title: str
    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""
        return asdict(self)


def all_tables(found: Findings) -> tuple[Table, ...]:
    """The tables of an experiment; those that would be empty are left out."""
    if not found.arms:
        return ()
    made = [_success(found)]
    made += [table for t in found.temperatures for table in (_differences(found, t), _speed(found, t)) if table]
    made += [_together(found)] if found.together else []
    made += [table for table in (_kinds(found), _play(found), _time(found), _diagnostics(found)) if table]
    return (*made, _reruns(found))


def markdown(table: Table) -> Iterator[str]:
    """The lines of a table."""
    yield _line(table.columns)
    yield _line(["---"] * len(table.columns))
    for row in table.rows:
        yield _line(row)


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cell.replace('|', '&#124;') for cell in cells)} |"


def _success(found: Findings) -> Table:
    temperatures = found.temperatures
    scores = found.pays_in_part
    columns = ["arm", "seeds"]
    columns += [f"{when}, T={t}" for t in temperatures for when in ("early", "late", "last")]
    columns += ["rollouts, late", *([f"score, T={t}" for t in temperatures] if scores else [])]
    rows = []
    for arm in found.arms:
        cells = [arm.name, str(len(arm.records))]
        cells += [spread[t].shown() for t in temperatures for spread in (arm.early, arm.late, arm.last)]
        cells += [arm.rollouts.shown(), *([arm.score[t].shown() for t in temperatures] if scores else [])]
        rows.append(tuple(cells))
    caption = (
        "Percent of the validation tasks solved, mean ± sample standard deviation over seeds: early is the mean of the "
        "first three evaluations after the start, late of the last three, last the final one alone; T is the sampling "
        "temperature. Rollouts are those of training, in the last quarter of the iterations."
    )
    if scores:
        caption += " The score is how well the tasks were met in the end, in percent, late."
    return Table("success", "Success", caption, tuple(columns), tuple(rows))


def _differences(found: Findings, temperature: str) -> Table | None:
    places = max(len(found.plan.against(arm.name)) for arm in found.arms)
    if not any(arm.against[temperature] for arm in found.arms):
        return None
    columns = ["arm"]
    for place in range(places):
        others = {
            found.plan.against(arm.name)[place] for arm in found.arms if place < len(found.plan.against(arm.name))
        }
        head = f"late, against {others.pop()}" if len(others) == 1 else _NAMED
        columns += [head, "over the run", "last", "late, over tasks", "late, higher in"]
    rows = []
    for arm in found.arms:
        cells = [arm.name]
        for place in range(places):
            cells += _against(found, arm, temperature, place, named=columns[1 + 5 * place] == _NAMED)
        rows.append(tuple(cells))
    caption = (
        f"Difference in success at T={temperature}, in points: late, the mean of all evaluations after the start, and "
        "the last one alone, each with the mean over seeds and the paired 95 % interval (Student's t, as many pairs as "
        "seeds, none for fewer than three); the interval when the evaluated tasks are drawn anew instead (paired "
        "bootstrap, 2,000 draws); in how many seeds the arm is higher."
    )
    name = f"differences at T={temperature}"
    return Table(name, f"Paired differences at T={temperature}", caption, tuple(columns), tuple(rows))


_NAMED = "late, against"


def _against(found: Findings, arm: ArmResult, temperature: str, place: int, *, named: bool) -> list[str]:
    others = found.plan.against(arm.name)
    difference = arm.against[temperature].get(others[place]) if place < len(others) else None
    if difference is None:
        return ["-"] * 5
    shown = f"{others[place]}: {difference.shown()}" if named else difference.shown()
    over = [difference.shown_over_run(), difference.shown_over_last(), difference.shown_over_tasks()]
    return [shown, *over, difference.shown_higher()]


def _together(found: Findings) -> Table:
    plans = [found.plan.name, *found.plan.together]
    columns = ("arm", "against", "T", "pairs", "late", "over the run", "last", "late, higher in")
    rows = []
    for one in found.together:
        over = one.difference
        pairs = "-" if over.over_seeds is None else str(over.over_seeds.pairs)
        shown = [over.shown(), over.shown_over_run(), over.shown_over_last(), over.shown_higher()]
        rows.append((one.arm, one.other, one.temperature, pairs, *shown))
    caption = (
        f"Arms that are the same in two or more of the plans {', '.join(plans)}, over the pairs of all that have both: "
        "differences in success in points, as in the tables of differences. The interval takes pairs as independent; "
        "it says nothing about starts that none of the plans has."
    )
    return Table("together", f"Together with {', '.join(plans[1:])}", caption, columns, tuple(rows))


def _speed(found: Findings, temperature: str) -> Table | None:
    targets = found.plan.targets
    if not targets:
        return None
    columns = ["arm", *(word for target in targets for word in (f"{target:g} % after", "speed-up"))]
    rows = []
    for arm in found.arms:
        cells = [arm.name]
        for target in targets:
            ratio = arm.speed_up[temperature][target]
            cells += [arm.reached[temperature][target].shown(), "-" if ratio is None else ratio.shown()]
        rows.append(tuple(cells))
    caption = (
        f"First evaluation at which success at T={temperature} has reached the target, in iterations, mean "
        "over seeds. Where some seed never does, the run's length stands for it and the mean is a lower bound (>), "
        "with the number of seeds that do. The speed-up is the mean of the arm that it is set against first over its "
        "own; it is a lower bound (≥) where that one has such seeds, and none is given where the arm itself has."
    )
    name = f"speed at T={temperature}"
    return Table(name, f"Iterations to a target at T={temperature}", caption, tuple(columns), tuple(rows))


def _kinds(found: Findings) -> Table | None:
    kinds = sorted({kind for arm in found.arms for kind in arm.kinds})
    if not kinds:
        return None
    rows = [(arm.name, *(arm.kinds[k].shown() if k in arm.kinds else "-" for k in kinds)) for arm in found.arms]
    heads = [kind.replace("_", " ") for kind in kinds]
    caption = f"Late success at T={found.temperatures[0]} by kind of task, in percent."
    return Table("kinds", "By kind of task", caption, ("arm", *heads), tuple(rows))


def _play(found: Findings) -> Table:
    columns = ["arm", *(f"{what}, T={t}" for t in found.temperatures for what in ("steps", "invalid"))]
    rows = []
    for arm in found.arms:
        cells = [arm.name]
        for t in found.temperatures:
            cells += [f"{arm.steps[t].mean:.1f}", arm.invalid[t].shown()]
        rows.append(tuple(cells))
    caption = (
        "Late evaluations: mean length of an episode, and the share of steps that did not apply, in percent, mean ± "
        "sample standard deviation over seeds. A policy that is stuck says an invalid action again and again."
    )
    return Table("play", "How they play", caption, tuple(columns), tuple(rows))


def _time(found: Findings) -> Table | None:
    rows = [_time_row(arm) for arm in found.arms if arm.seconds.get("total")]
    if not rows:
        return None
    hosts = {str(record.host.get("processor", "")) for arm in found.arms for record in arm.records.values()}
    beside = {record.host.get("runs side by side", 1) for arm in found.arms for record in arm.records.values()}
    caption = (
        f"Seconds an iteration, evaluation aside, and where they go; each run on one core of "
        f"{', '.join(sorted(hosts))}; runs side by side: {', '.join(str(n) for n in sorted(beside))}."
    )
    return Table("time", "Where the time goes", caption, ("arm", "seconds", *_PARTS), tuple(rows))


def _time_row(arm: ArmResult) -> tuple[str, ...]:
    total = arm.seconds["total"]
    return (arm.name, f"{total:.2f}", *(f"{arm.seconds.get(part, 0.0) / total:.1%}" for part in _PARTS))


def _diagnostics(found: Findings) -> Table | None:
    there = {head: name for head, name in _DIAGNOSTICS.items() if any(arm.ends(name) is not None for arm in found.arms)}
    if not there:
        return None
    rows = [(arm.name, *(_ends(arm, name) for name in there.values())) for arm in found.arms]
    caption = (
        "Means over the first and over the last quarter of the iterations. Unreasonable steps among those of positive "
        "advantage, non-progress steps among those of negative; the share of positive steps whose advantage was "
        "lessened; negative over positive mass of the advantages; groups in which all failed; the policy's entropy, in "
        "nats a word; invalid actions; the share of rollouts whose task the graph knows; transitions that the graph "
        "gains an iteration. A dash: the arm has no such thing."
    )
    return Table("diagnostics", "What happens over training", caption, ("arm", *there), tuple(rows))


def _ends(arm: ArmResult, name: str) -> str:
    ends = arm.ends(name)
    return "-" if ends is None else f"{ends[0]:.3g} → {ends[1]:.3g}"


def _reruns(found: Findings) -> Table:
    rows = []
    for arm in found.arms:
        note = found.plan.arms[arm.name].note
        words = found.plan.again(arm.name, sorted(arm.records))
        for data in sorted({record.data for record in arm.records.values() if record.data})[:1]:
            words += ["--data", data]
        command = f"`{shlex.join(['proas', *words])}`"
        commits = sorted({record.software.get("commit", "-")[:8] for record in arm.records.values()})
        rows.append((arm.name, note or "-", command, ", ".join(commits)))
    caption = "What each arm is, the command that runs it again, and the commits that its results come from."
    return Table("arms", "Arms", caption, ("arm", "what it is", "again", "commit"), tuple(rows))
