"""What the labels and the shaping did to a batch: one typed record, one flat dict of metrics, rows of a table."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import NamedTuple

import numpy as np

from proas.rollouts import RolloutBatch
from proas.shaping.distance import StepDistances
from proas.shaping.estimators import group_outcomes
from proas.shaping.frame import Frame
from proas.shaping.ragged import Bools, Floats

__all__ = ["Diagnostics", "Growth", "Row", "StepVerdicts", "measure"]


class Row(NamedTuple):
    """One line of the table.

    Attributes:
        metric: Name, as in the flat dict.
        value: Formatted value; a dash where the batch gives none.
        meaning: What it says, in words.
    """

    metric: str
    value: str
    meaning: str


@dataclass(frozen=True, slots=True)
class Growth:
    """How the graph grew in an iteration, as evolution reports it.

    Attributes:
        states: States added.
        transitions: Transitions added.
        version: Version after the iteration.
    """

    states: int
    transitions: int
    version: int


def _meaning(text: str) -> float | None:
    return field(default=None, metadata={"meaning": text})


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnostics:
    """Measurements of one batch. ``None`` means that the batch gives no value (no such steps, or not labelled yet).

    Shares are in [0, 1]. A step is positive or negative by the sign of its base advantage.
    """

    rollouts: float | None = _meaning("rollouts in the batch")
    steps: float | None = _meaning("steps in the batch")
    tasks: float | None = _meaning("tasks in the batch")
    empty_rollouts: float | None = _meaning("rollouts without a step")
    success_rate: float | None = _meaning("share of rollouts that solved their task")
    cut_successes: float | None = _meaning("rollouts that claim a success though the step limit cut them: failures")
    groups: float | None = _meaning("groups that share a baseline")
    groups_all_won: float | None = _meaning("groups in which every rollout succeeded")
    groups_all_failed: float | None = _meaning("groups in which none succeeded")
    groups_single: float | None = _meaning("groups of one rollout; they have no baseline")
    groups_without_signal: float | None = _meaning("groups whose base advantages are all zero")
    filtered_groups: float | None = _meaning("groups that dynamic sampling kept aside")
    filtered_rollouts: float | None = _meaning("rollouts that dynamic sampling kept aside")
    coverage: float | None = _meaning("share of rollouts whose task the graph knows")
    task_coverage: float | None = _meaning("share of tasks that the graph knows")
    uncovered_rollouts: float | None = _meaning("rollouts of tasks that the graph does not know; they pass unchanged")
    passed_through_rollouts: float | None = _meaning(
        "rollouts that were not looked up, as no server answered; they pass unchanged"
    )
    label_faults: float | None = _meaning("labels that contradict themselves")
    invalid_share: float | None = _meaning("share of steps whose action was not applicable")
    recorded_penalties: float | None = _meaning("invalid steps whose recorded reward was a penalty")
    seeks_share: float | None = _meaning("share of information-seeking steps")
    unreasonable_in_positive: float | None = _meaning("share of unreasonable steps among positive steps")
    nonprogress_in_negative: float | None = _meaning("share of non-progress steps among negative steps")
    unreasonable_in_won: float | None = _meaning("share of unreasonable steps in successful rollouts")
    nonprogress_in_failed: float | None = _meaning("share of non-progress steps in failed rollouts")
    mask_rate: float | None = _meaning("share of positive steps whose advantage was lessened")
    weight_std: float | None = _meaning("standard deviation of the weights of negative steps")
    weight_min: float | None = _meaning("smallest weight of a negative step")
    weight_max: float | None = _meaning("largest weight of a negative step")
    negative_to_positive_base: float | None = _meaning("negative over positive advantage mass, before shaping")
    negative_to_positive: float | None = _meaning("negative over positive advantage mass, after shaping")
    distance_known: float | None = _meaning("share of steps before and after which the distance to the goal is known")
    distance_change: float | None = _meaning("mean change of the known distance by a step; below 0 is nearer")
    nearer_in_positive: float | None = _meaning(
        "share of steps that come nearer among positive steps of known distance"
    )
    nearer_in_negative: float | None = _meaning(
        "share of steps that come nearer among negative steps of known distance"
    )
    groups_failed_with_signal: float | None = _meaning("groups in which none succeeded and some advantage is not zero")
    growth_states: float | None = _meaning("states that the graph gained")
    growth_transitions: float | None = _meaning("transitions that the graph gained")
    growth_version: float | None = _meaning("version of the graph after the iteration")

    @classmethod
    def of(cls, batch: RolloutBatch, *, growth: Growth | None = None) -> Diagnostics:
        """Diagnostics from what the records carry: labels, where there are any, and advantages, where there are any."""
        frame = Frame.of(batch)
        steps = [step for rollout in batch for step in rollout.steps]
        base = np.array([_number(step.base_advantage) for step in steps], dtype=np.float64)
        shaped = np.array([_number(step.advantage) for step in steps], dtype=np.float64)
        return measure(
            frame,
            StepVerdicts.recorded(frame),
            base=None if np.isnan(base).any() else base,
            shaped=None if np.isnan(shaped).any() else shaped,
            growth=growth,
        )

    def metrics(self) -> dict[str, float]:
        """Flat dict in verl's form, ``proas/<name>``; measurements without a value are left out."""
        values = ((item.name, getattr(self, item.name)) for item in fields(self))
        return {f"proas/{name}": float(value) for name, value in values if value is not None}

    def rows(self) -> list[Row]:
        """Rows of a table, in the order of the fields; every measurement has one."""
        return [
            Row(item.name, _format(getattr(self, item.name)), str(item.metadata["meaning"])) for item in fields(self)
        ]


@dataclass(frozen=True, slots=True)
class StepVerdicts:
    """Verdicts on steps; arrays of shape ``(S,)``.

    Attributes:
        reasonable: ``Re_t``.
        progress: ``PA_t``.
        judged: Steps for which the two are meant.
    """

    reasonable: Bools
    progress: Bools
    judged: Bools

    @classmethod
    def recorded(cls, frame: Frame) -> StepVerdicts:
        """The graph's labels, where the records carry them."""
        labels = [step.label for rollout in frame.rollouts for step in rollout.steps]
        present = np.array([label is not None for label in labels], dtype=np.bool_)
        reasonable = np.array([bool(label and label.reasonable) for label in labels], dtype=np.bool_)
        progress = np.array([bool(label and label.progress) for label in labels], dtype=np.bool_)
        return cls(reasonable, progress, present & frame.covered[frame.owner])


def measure(
    frame: Frame,
    verdicts: StepVerdicts,
    *,
    base: Floats | None,
    shaped: Floats | None,
    label_faults: int | None = None,
    filtered: Bools | None = None,
    gains: Floats | None = None,
    growth: Growth | None = None,
) -> Diagnostics:
    """Diagnostics from arrays.

    Args:
        frame: The batch.
        verdicts: What is believed of each step.
        base: Base advantages, ``(S,)``, if known.
        shaped: Shaped advantages, ``(S,)``, if known.
        label_faults: Labels that contradict themselves, if counted.
        filtered: Rollouts that were kept aside, ``(N,)``.
        gains: What was added to the shaped advantages after the weights, ``(S,)``, if known apart from them.
        growth: How the graph grew.
    """
    outcomes = group_outcomes(frame.success, frame.groups)
    sizes = np.bincount(frame.groups)
    values: dict[str, float | None] = {
        "rollouts": len(frame.rollouts),
        "steps": frame.owner.size,
        "tasks": np.unique(frame.tasks).size,
        "empty_rollouts": _count(np.diff(frame.offsets) == 0),
        "success_rate": _mean(frame.success),
        "cut_successes": _count(frame.cut_success),
        "groups": sizes.size,
        "groups_all_won": _count(outcomes.all_won),
        "groups_all_failed": _count(outcomes.all_failed),
        "groups_single": _count(sizes == 1),
        "invalid_share": _mean(frame.invalid),
        "recorded_penalties": _count(frame.recorded_penalty < 0),
        "seeks_share": _mean(frame.seeks),
        "label_faults": label_faults,
    }
    if filtered is not None:
        values["filtered_rollouts"] = _count(filtered)
        values["filtered_groups"] = np.unique(frame.groups[filtered]).size
    if any(rollout.covered is not None for rollout in frame.rollouts):
        values["coverage"] = _mean(frame.covered)
        values["task_coverage"] = _share(np.unique(frame.tasks[frame.covered]).size, np.unique(frame.tasks).size)
        values["uncovered_rollouts"] = _count(~frame.covered)
        # Labelling names the version that it read, so a graph without a version is one that could not be asked.
        values["passed_through_rollouts"] = sum(bool(r.graph) and r.version is None for r in frame.rollouts)
    won = frame.success[frame.owner]
    values["unreasonable_in_won"] = _mean(~verdicts.reasonable[won & verdicts.judged])
    values["nonprogress_in_failed"] = _mean(~verdicts.progress[~won & verdicts.judged])
    distances = StepDistances.of(frame)
    if frame.covered.any():
        values["distance_known"] = _mean(distances.known[frame.covered[frame.owner]])
        values["distance_change"] = _mean((distances.after - distances.before)[distances.known])
    if base is not None:
        final = base if shaped is None else shaped
        values |= _advantages(frame, verdicts, base, final)
        values |= _directions(frame, distances, base, final if gains is None else final + gains)
    if growth is not None:
        values |= {"growth_states": growth.states, "growth_transitions": growth.transitions}
        values["growth_version"] = growth.version
    return Diagnostics(**{name: None if value is None else float(value) for name, value in values.items()})


def _advantages(frame: Frame, verdicts: StepVerdicts, base: Floats, shaped: Floats) -> dict[str, float | None]:
    positive, negative = (base > 0) & verdicts.judged, (base < 0) & verdicts.judged
    weights = shaped[negative] / base[negative]
    loud = np.bincount(frame.groups[frame.owner], weights=base != 0, minlength=int(frame.groups.max(initial=-1)) + 1)
    return {
        "groups_without_signal": _count(loud == 0),
        "unreasonable_in_positive": _mean(~verdicts.reasonable[positive]),
        "nonprogress_in_negative": _mean(~verdicts.progress[negative]),
        "mask_rate": _mean(shaped[positive] < base[positive]),
        "weight_std": float(weights.std()) if weights.size else None,
        "weight_min": float(weights.min()) if weights.size else None,
        "weight_max": float(weights.max()) if weights.size else None,
        "negative_to_positive_base": _share(-base[base < 0].sum(), base[base > 0].sum()),
        "negative_to_positive": _share(-shaped[shaped < 0].sum(), shaped[shaped > 0].sum()),
    }


def _directions(frame: Frame, distances: StepDistances, base: Floats, final: Floats) -> dict[str, float | None]:
    loud = np.zeros(int(frame.groups.max(initial=-1)) + 1, dtype=np.bool_)
    loud[frame.groups[frame.owner[final != 0]]] = True
    return {
        "nearer_in_positive": _mean(distances.nearer[(base > 0) & distances.known]),
        "nearer_in_negative": _mean(distances.nearer[(base < 0) & distances.known]),
        "groups_failed_with_signal": _count(loud & group_outcomes(frame.success, frame.groups).all_failed),
    }


def _count(flags: Bools) -> float:
    return float(np.count_nonzero(flags))


def _mean(flags: Bools | Floats) -> float | None:
    return float(flags.mean()) if flags.size else None


def _share(part: float, whole: float) -> float | None:
    return float(part / whole) if whole else None


def _number(value: float | None) -> float:
    return float("nan") if value is None else value


def _format(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:.0f}" if float(value).is_integer() and abs(value) >= 2 else f"{value:.4g}"
