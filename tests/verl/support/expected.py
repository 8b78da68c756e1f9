"""What ``proas.shaping`` says of the rollouts of a run, against what verl was about to learn from."""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Sequence
from typing import Any

from proas.graph.store import ReferenceGraph
from proas.rollouts import Rollout, RolloutBatch
from proas.shaping import preset as shaping_preset
from proas.shaping import shape
from proas.states import ladder_of_rollout

Rows = Sequence[dict[str, Any]]


def rollouts_of(rows: Rows) -> RolloutBatch:
    """The rollouts as the agent loops recorded them."""
    parts: dict[str, dict[int, Rollout]] = {}
    for row in rows:
        if not row["padding"]:
            part = Rollout.model_validate_json(row["carried"]["rollout"])
            parts.setdefault(part.id, {})[row["carried"]["first"]] = part
    whole = [
        first.model_copy(update={"steps": tuple(step for _, part in sorted(some.items()) for step in part.steps)})
        for some in parts.values()
        for first in [some[0]]
    ]
    return RolloutBatch(tuple(whole))


def check_against_shaping(rows: Rows, layer: ReferenceGraph, algorithm: str, *, version: int = 0) -> RolloutBatch:
    """Every token's advantage is its step's to 1e-6, from labels and estimators that verl had no part in.

    verl's estimator works in single precision, where a return of ten, its group's mean and deviation are each off by up
    to a millionth. A group whose returns differ by penalties alone divides that by its small deviation, and there so
    much is allowed.

    Args:
        rows: The witness's rows of one batch.
        layer: The run's layer.
        algorithm: What computes the advantages.
        version: Version of the layer that labels are read from.

    Returns:
        The rollouts, with the advantages that were expected.
    """
    config = shaping_preset("paper").updated({"algorithm": algorithm, "invalid_penalty": "recorded"})
    expected = shape(layer.label(rollouts_of(rows), version=version), config)
    steps = {rollout.id: rollout.steps for rollout in expected.batch}
    allowed = _rounding(expected.batch)
    compared = 0
    for row in rows:
        if row["padding"]:
            assert not any(row["mask"])
            continue
        name = json.loads(row["carried"]["rollout"])["id"]
        claimed = [False] * len(row["mask"])
        for t, (start, end) in enumerate(row["carried"]["spans"], start=row["carried"]["first"]):
            assert steps[name][t].tokens == end - start
            for place in range(start, end):
                assert row["mask"][place] == 1
                found, wanted = row["advantages"][place], steps[name][t].advantage
                assert math.isclose(found, wanted, rel_tol=1e-6, abs_tol=allowed[name]), (name, t, found, wanted)
                claimed[place] = True
                compared += 1
        for place, sampled in enumerate(row["mask"]):
            assert claimed[place] or not sampled, "every sampled token belongs to a step"
            assert claimed[place] or row["advantages"][place] == 0
    assert compared == sum(step.tokens for rollout in expected.batch for step in rollout.steps) > 0
    return expected.batch


_OFF = 3e-6
"""What a return of ten, its group's mean and deviation are off by in single precision, together."""


def _rounding(batch: RolloutBatch) -> dict[str, float]:
    """By rollout, the difference that single precision in its group's statistics may make."""
    returns: dict[str, list[float]] = {}
    for rollout in batch:
        returns.setdefault(rollout.group, []).append(rollout.reward)
    deviations = {group: statistics.stdev(values) for group, values in returns.items()}
    allowed = {group: _OFF / of if 0 < of < 1 else 1e-6 for group, of in deviations.items()}
    return {rollout.id: allowed[rollout.group] for rollout in batch}


def check_growth(batch: RolloutBatch, layer: ReferenceGraph, seeded: ReferenceGraph) -> None:
    """The layer has learnt what the batch's successes teach, and nothing else."""
    won = [rollout for rollout in batch if rollout.success]
    assert won, "the games are easy enough that some rollout solves one"
    assert layer.stats().successes == len(won)
    control = ReferenceGraph.create(seeded.connection, f"{layer.name}.control", base=seeded.name)
    control.evolve(batch, ladder_of=ladder_of_rollout, version=1)
    for task in {rollout.task for rollout in won}:
        learnt, wanted = layer.read(task), control.read(task)
        assert {t.key: t.support for t in learnt.transitions} == {t.key: t.support for t in wanted.transitions}
    assert layer.verify().ok
