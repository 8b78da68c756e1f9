"""A batch of rollouts as arrays: what shaping reads from the records, checked once."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
import numpy.typing as npt

from proas.errors import DataError
from proas.rollouts import Rollout, RolloutBatch
from proas.shaping.ragged import Bools, Floats, Ints, codes, offsets_of, owner_of, sum_by_owner

__all__ = ["Frame", "anchors_of", "given_advantages", "state_keys_of", "success_of"]


@dataclass(frozen=True, slots=True)
class Frame:
    """The estimator's and the diagnostics' view of a batch; shapes as in :mod:`proas.shaping.ragged`.

    Attributes:
        rollouts: The records, N of them.
        offsets: ``(N + 1,)``.
        owner: ``(S,)``.
        groups: Baseline group of each rollout, ``(N,)``.
        tasks: Task of each rollout, ``(N,)``.
        success: ``(N,)``; false for a rollout cut at the step limit, whatever the record claims.
        cut_success: ``(N,)``, the record claims a success and that the step limit cut it.
        covered: ``(N,)``, the graph knows the task.
        invalid: ``(S,)``, the action was not applicable; a source that does not say counts as applicable.
        seeks: ``(S,)``.
        tokens: ``(S,)``.
        recorded_penalty: ``(S,)``, the negative part of an invalid step's recorded reward, else 0.
    """

    rollouts: tuple[Rollout, ...]
    offsets: Ints
    owner: Ints
    groups: Ints
    tasks: Ints
    success: Bools
    cut_success: Bools
    covered: Bools
    invalid: Bools
    seeks: Bools
    tokens: Ints
    recorded_penalty: Floats

    @classmethod
    def of(cls, batch: RolloutBatch) -> Frame:
        """Arrays of a batch."""
        rollouts = batch.rollouts
        steps = [step for rollout in rollouts for step in rollout.steps]
        offsets = offsets_of([len(rollout.steps) for rollout in rollouts])
        claimed = _flags(rollout.success for rollout in rollouts)
        success = _flags(success_of(rollout) for rollout in rollouts)
        invalid = _flags(step.valid is False for step in steps)
        rewards = np.array([step.reward for step in steps], dtype=np.float64)
        return cls(
            rollouts=rollouts,
            offsets=offsets,
            owner=owner_of(offsets),
            groups=codes(rollout.baseline_group for rollout in rollouts),
            tasks=codes((rollout.env, rollout.task) for rollout in rollouts),
            success=success,
            cut_success=claimed & ~success,
            covered=_flags(rollout.covered is True for rollout in rollouts),
            invalid=invalid,
            seeks=_flags(step.seeks for step in steps),
            tokens=np.array([step.tokens for step in steps], dtype=np.int64),
            recorded_penalty=np.where(invalid & (rewards < 0), rewards, 0.0),
        )

    def segment(self, i: int) -> slice:
        """The steps of rollout ``i`` in arrays of shape ``(S,)``."""
        return slice(int(self.offsets[i]), int(self.offsets[i + 1]))

    def draws(self, seed: int) -> Floats:
        """A uniform number for each step, ``(S,)``, that depends on the seed, the rollout's id and its place only."""
        drawn = np.empty(self.owner.size)
        for i, rollout in enumerate(self.rollouts):
            digest = blake2b(f"{seed}:{rollout.id}".encode("utf-8", "surrogatepass"), digest_size=16).digest()
            own = self.segment(i)
            drawn[own] = np.random.default_rng(int.from_bytes(digest)).random(own.stop - own.start)
        return drawn

    def sum_by_rollout(self, values: npt.NDArray[np.generic]) -> Floats:
        """Sums over the steps of each rollout, ``(N,)``."""
        return sum_by_owner(values.astype(np.float64), self.owner, len(self.rollouts))


def success_of(rollout: Rollout) -> bool:
    """Whether a rollout solved its task; one cut at the step limit did not."""
    return rollout.success and rollout.ended != "step_limit"


def given_advantages(frame: Frame) -> tuple[Floats, list[float | None]]:
    """The base advantages that the records carry: per step, else the trajectory's broadcast.

    Returns:
        Base advantages ``(S,)``, and the trajectory's advantage of each rollout where it has one.

    Raises:
        DataError: A step has neither, or an advantage is not finite.
    """
    base: list[float] = []
    for rollout in frame.rollouts:
        for t, step in enumerate(rollout.steps):
            value = rollout.advantage if step.base_advantage is None else step.base_advantage
            if value is None:
                raise DataError(
                    f"rollout {rollout.id!r}, step {t}: no base_advantage, and the rollout has no advantage",
                    hint="algorithm=given needs one; or choose grpo, dapo or gigpo",
                )
            if not math.isfinite(value):
                raise DataError(f"rollout {rollout.id!r}, step {t}: base advantage is {value}")
            base.append(value)
    return np.array(base, dtype=np.float64), [rollout.advantage for rollout in frame.rollouts]


def anchors_of(frame: Frame, anchor: str) -> Ints:
    """Numbers of the states, or of the observations, in which the steps were taken, ``(S,)``.

    Raises:
        DataError: States are wanted and a rollout carries none.
    """
    names: list[str] = []
    for rollout in frame.rollouts:
        if not rollout.steps:
            continue
        if anchor == "observation":
            names += [rollout.observation, *(step.observation for step in rollout.steps[:-1])]
        else:
            names += state_keys_of(rollout, "GiGPO's anchors", "set anchor=observation")[:-1]
    return codes(names)


def state_keys_of(rollout: Rollout, purpose: str, otherwise: str) -> tuple[str, ...]:
    """Keys of the states visited.

    Raises:
        DataError: The rollout carries no states.
    """
    try:
        return rollout.state_keys
    except ValueError:
        raise DataError(
            f"rollout {rollout.id!r} carries no states, which {purpose} need",
            hint=f"label the rollouts first, or {otherwise}",
        ) from None


def _flags(values: Iterable[bool]) -> Bools:
    return np.fromiter(values, dtype=np.bool_)
