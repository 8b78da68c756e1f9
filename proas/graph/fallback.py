"""Labels by fallback: where a rollout's own task has nothing to say, a lifted task may.

A lifted task is an ordinary task of the same graph (``proas.states.lifting`` makes the rollouts). So both are asked in
the one round trip of a batch, and this module only decides whose verdict a step takes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

from proas.graph.labelling import OnFailure
from proas.graph.store import ReferenceGraph
from proas.rollouts import Label, Rollout, RolloutBatch, Step

__all__ = ["LiftedReport", "LiftedUse", "label_with_fallback"]

LiftedUse = Literal["off", "uncovered", "always"]
"""When a lifted verdict counts: never; for rollouts whose own task the graph does not know; or as well for steps of
other rollouts whose own transition is not there."""


def label_with_fallback(
    graph: ReferenceGraph,
    batch: RolloutBatch,
    lifted: RolloutBatch,
    origin: Mapping[str, str],
    use: LiftedUse,
    *,
    version: int | None = None,
    min_support: int = 1,
    on_failure: OnFailure = "raise",
) -> RolloutBatch:
    """Label a batch, with lifted verdicts where its own are wanting, in one round trip.

    A lifted task without transitions says nothing: what is uncovered then stays uncovered, and its advantages pass
    through. A lifted step is progress where it reaches a lifted state for the first time; its rollout's drift counts
    what is progress by either.

    Args:
        graph: The graph; holds ground and lifted tasks.
        batch: Rollouts with states.
        lifted: The same in roles, those that can be.
        origin: Id of the rollout of ``batch`` that each lifted one stands for.
        use: When a lifted verdict counts.
        version: Version to read.
        min_support: Transitions of less support are treated as absent, lifted ones too.
        on_failure: As in :meth:`proas.graph.store.ReferenceGraph.label`.

    Returns:
        The batch labelled; labels that a lifted task gave say ``lifted``.
    """
    if use == "off" or not len(lifted):
        return graph.label(batch, version=version, min_support=min_support, on_failure=on_failure)
    asked = RolloutBatch((*batch.rollouts, *lifted.rollouts), batch.rejects)
    answered = graph.label(asked, version=version, min_support=min_support, on_failure=on_failure).rollouts
    other = {origin[rollout.id]: rollout for rollout in answered[len(batch) :]}
    merged = (_merged(rollout, other.get(rollout.id), use) for rollout in answered[: len(batch)])
    return RolloutBatch(tuple(merged), batch.rejects)


def _merged(rollout: Rollout, lifted: Rollout | None, use: LiftedUse) -> Rollout:
    if lifted is None or not lifted.covered or (rollout.covered and use != "always"):
        return rollout
    steps = _together(rollout, lifted) if rollout.covered else _taken(rollout, lifted)
    return rollout.model_copy(update={"steps": steps, "covered": True})


def _taken(rollout: Rollout, lifted: Rollout) -> tuple[Step, ...]:
    """Lifted verdicts on every step, lifted distances included."""
    return tuple(
        step.model_copy(
            update={
                "label": _label(said.reasonable, said.progress, said.drift, lifted=True),
                "distance_before": role.distance_before,
                "distance": role.distance,
            }
        )
        for step, role, said in _pairs(rollout, lifted)
    )


def _together(rollout: Rollout, lifted: Rollout) -> tuple[Step, ...]:
    """Own verdicts, and lifted ones on steps whose own transition is not there."""
    steps: list[Step] = []
    drift = 0
    for step, _, said in reversed(list(_pairs(rollout, lifted))):
        own = step.label
        assert own is not None
        by_roles = said.reasonable and not own.reasonable
        progress = said.progress if by_roles else own.progress
        drift += not progress
        reasonable = by_roles or own.reasonable
        steps.append(step.model_copy(update={"label": _label(reasonable, progress, drift, lifted=by_roles)}))
    return tuple(reversed(steps))


def _pairs(rollout: Rollout, lifted: Rollout) -> Iterable[tuple[Step, Step, Label]]:
    for step, role in zip(rollout.steps, lifted.steps, strict=True):
        assert role.label is not None
        yield step, role, role.label


@lru_cache(maxsize=8192)
def _label(reasonable: bool, progress: bool, drift: int, *, lifted: bool) -> Label:
    return Label(reasonable=reasonable, progress=progress, drift=drift, lifted=lifted or None)


@dataclass(frozen=True, slots=True)
class LiftedReport:
    """How much of a labelled batch lifted tasks said.

    Attributes:
        rollouts: Rollouts of the batch.
        by_roles: Rollouts whose every label is a lifted one.
        steps: Labelled steps.
        lifted: Of these, those with a lifted label.
        reasonable: Of the lifted ones, those that are reasonable.
    """

    rollouts: int
    by_roles: int
    steps: int
    lifted: int
    reasonable: int

    @classmethod
    def of(cls, batch: RolloutBatch) -> LiftedReport:
        """Counts of a batch that came out of :func:`label_with_fallback`."""
        labels = [[step.label for step in rollout.steps if step.label is not None] for rollout in batch]
        marked = [label for some in labels for label in some if label.lifted]
        return cls(
            rollouts=len(batch),
            by_roles=sum(bool(some) and all(label.lifted for label in some) for some in labels),
            steps=sum(map(len, labels)),
            lifted=len(marked),
            reasonable=sum(label.reasonable for label in marked),
        )

    def metrics(self) -> dict[str, float]:
        """``proas/lifted/...``, shares."""
        counts: dict[str, tuple[Any, Any]] = {
            "rollouts": (self.by_roles, self.rollouts),
            "steps": (self.lifted, self.steps),
            "reasonable_share": (self.reasonable, self.lifted),
        }
        return {f"proas/lifted/{name}": part / whole if whole else 0.0 for name, (part, whole) in counts.items()}
