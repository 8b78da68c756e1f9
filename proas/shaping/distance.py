"""Distance to the goal in place of membership: a step is judged by whether it comes nearer, and by how much.

Distances are those that the labels carry (``steps[].distance_before`` and ``steps[].distance``), in transitions.
Shapes are those of :mod:`proas.shaping.ragged`.

The potential follows Ng, Harada and Russell (1999), "Policy invariance under reward transformations": what a step
earns is the difference of a function of its two states, so that over a rollout it telescopes to the last state's
potential less the first's, and no walk in a circle earns anything.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from proas.shaping.frame import Frame
from proas.shaping.ragged import Bools, Floats, sum_by_owner

__all__ = ["StepDistances", "even_gains", "potential", "potential_gains", "shuffled_gains"]


@dataclass(frozen=True, slots=True)
class StepDistances:
    """Distances around each step.

    Attributes:
        before: Distance of the state before the step, ``(S,)``, NaN where unknown.
        after: Distance of the state after it, ``(S,)``, NaN where unknown.
    """

    before: Floats
    after: Floats

    @classmethod
    def of(cls, frame: Frame) -> StepDistances:
        """The distances that the records carry; those of rollouts that the graph does not cover are unknown."""
        before, after = np.full(frame.owner.size, np.nan), np.full(frame.owner.size, np.nan)
        for i, rollout in enumerate(frame.rollouts):
            if not frame.covered[i]:
                continue
            for t, step in enumerate(rollout.steps, start=int(frame.offsets[i])):
                if step.distance_before is not None:
                    before[t] = step.distance_before
                if step.distance is not None:
                    after[t] = step.distance
        return cls(before, after)

    @property
    def known(self) -> Bools:
        """Steps around which both are known, ``(S,)``."""
        return ~np.isnan(self.before) & ~np.isnan(self.after)

    @property
    def nearer(self) -> Bools:
        """Steps that are known to come nearer, ``(S,)``."""
        return self.after < self.before  # NaN compares false


def potential(distance: Floats, start: float, gamma: float) -> Floats:
    """How good it is to be so far from the goal: 0 at the distance of the start, ``start`` at the goal.

        Phi(d) = start * (gamma^d - gamma^start) / (1 - gamma^start),    start - d for gamma = 1

    ``gamma^d`` is the value under optimal play of a reward of 1 at the goal, discounted by ``gamma`` a step. The factor
    makes a step of a shortest way from the start earn 1 on average, whatever the task's length.

    Args:
        distance: Distances in transitions.
        start: Distance of the state in which the task begins, above 0.
        gamma: In (0, 1]; the smaller, the more of the potential lies near the goal.
    """
    if gamma == 1.0:
        return start - distance
    # expm1 keeps the digits where gamma is next to 1.
    rate = np.log(gamma)
    whole = -np.expm1(start * rate)
    values: Floats = start * (np.expm1(distance * rate) + whole) / whole
    return values


def potential_gains(frame: Frame, distances: StepDistances, gamma: float) -> Floats:
    """What each step adds to the potential, ``(S,)``.

    Where a state's distance is unknown the rollout is taken to be where it was last known to be, so that leaving known
    ground and coming back earns the difference at the step that comes back. Before the first known state nothing is
    earned. Over a rollout the gains sum to the potential of its last known state less that of its first.

    The rollouts of a task share one potential: its start is the distance of the task's first state, or, where that is
    unknown, the largest that any of them met.
    """
    gains = np.zeros(frame.owner.size)
    starts = _starts(frame, distances)
    for i in range(len(frame.rollouts)):
        own = frame.segment(i)
        if own.start == own.stop or not starts[frame.tasks[i]] > 0:
            continue
        met = np.concatenate([distances.before[own.start : own.start + 1], distances.after[own]])
        known = ~np.isnan(met)
        if known.any():
            gains[own] = np.diff(potential(_carried(met, known), starts[frame.tasks[i]], gamma))
    return gains


def shuffled_gains(frame: Frame, gains: Floats, seed: int) -> Floats:
    """A control: the gains ``(S,)`` of each rollout at other steps of it, so that their sum alone is kept."""
    return gains[np.lexsort((frame.draws(seed), frame.owner))]


def even_gains(frame: Frame, gains: Floats, kept: Bools) -> Floats:
    """A control: what each rollout gains in all, ``(S,)``, spread evenly over its steps that a mask keeps.

    It rewards a way to the goal as much as the distances do and says no more of its steps than the mask. Where a
    rollout has no such step, all of its steps take a share.
    """
    size = len(frame.rollouts)
    sharing = kept | (sum_by_owner(kept.astype(np.float64), frame.owner, size) == 0)[frame.owner]
    shares = sum_by_owner(sharing.astype(np.float64), frame.owner, size)
    each = sum_by_owner(gains, frame.owner, size) / np.maximum(shares, 1.0)
    return np.where(sharing, each[frame.owner], 0.0)


def _carried(met: Floats, known: Bools) -> Floats:
    """Each unknown distance replaced by the last known one, those before the first by the first."""
    last = np.maximum.accumulate(np.where(known, np.arange(met.size), -1))
    return met[np.where(last < 0, int(np.argmax(known)), last)]


def _starts(frame: Frame, distances: StepDistances) -> Floats:
    """Distance at which each task begins, one a task; 0 where nothing is known of it."""
    starts = np.zeros(int(frame.tasks.max(initial=-1)) + 1)
    farthest = starts.copy()
    for i in range(len(frame.rollouts)):
        own = frame.segment(i)
        if own.start == own.stop:
            continue
        task, first = frame.tasks[i], distances.before[own.start]
        starts[task] = max(starts[task], np.nan_to_num(first))
        met = np.concatenate([distances.before[own], distances.after[own]])
        farthest[task] = max(farthest[task], np.nan_to_num(met).max())
    return np.where(starts > 0, starts, farthest)
