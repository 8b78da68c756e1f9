"""Labels for rollouts that were drawn for an experiment: the graph's, or those of the loop mask where there is none."""

from __future__ import annotations

from collections.abc import Callable

from proas.rollouts import Label, RolloutBatch
from proas.shaping.frame import Frame
from proas.shaping.verdicts import graphless_verdicts

__all__ = ["Labeller", "loop_mask_labels"]

Labeller = Callable[[RolloutBatch], RolloutBatch]
"""Fills in ``steps[].label`` and ``covered``."""


def loop_mask_labels(batch: RolloutBatch) -> RolloutBatch:
    """Labels without a graph: a step that is invalid, a self-loop or inside an erased loop is unreasonable.

    Raises:
        DataError: A rollout carries no states.
    """
    frame = Frame.of(batch)
    verdicts = graphless_verdicts(frame, "loop_mask")
    labelled = []
    for i, rollout in enumerate(frame.rollouts):
        own = frame.segment(i)
        labels = [
            Label(reasonable=bool(r), progress=bool(p), drift=int(d))
            for r, p, d in zip(verdicts.reasonable[own], verdicts.progress[own], verdicts.drift[own], strict=True)
        ]
        steps = tuple(
            step.model_copy(update={"label": label}) for step, label in zip(rollout.steps, labels, strict=True)
        )
        labelled.append(rollout.model_copy(update={"steps": steps, "covered": True}))
    return RolloutBatch(tuple(labelled), batch.rejects)
