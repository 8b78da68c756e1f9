"""How rollouts travel from verl's agent loops to its trainer, row by row, and come together there.

A row of verl's batch is one sequence of tokens: a whole trajectory, or one step of it. Its ``extra_fields["proas"]``
holds plain values of one form in every row (lists may differ in length, nothing else): the rollout's record with those
steps that the row covers, where in the trajectory they are, and which tokens of the response each of them sampled.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from pydantic import ValidationError

from proas.errors import DataError
from proas.integrations.token_advantages import TokenSpans
from proas.rollouts import Reject, Rollout, RolloutBatch

__all__ = ["FIELD", "Gathered", "carried", "gather"]

FIELD = "proas"
"""Name of the extra field."""

_FORM = 1


def carried(rollout: Rollout, *, first: int, count: int, spans: Sequence[tuple[int, int]]) -> dict[str, Any]:
    """What one row carries.

    Args:
        rollout: The whole trajectory.
        first: Number of the first step that this row covers.
        count: Number of steps that it covers.
        spans: For each of these, the first token of the response that it sampled, and the one after the last.

    Raises:
        ValueError: Not one span a step.
    """
    if len(spans) != count:
        msg = f"{len(spans)} spans for {count} steps"
        raise ValueError(msg)
    part = rollout.model_copy(update={"steps": rollout.steps[first : first + count]})
    return {
        "form": _FORM,
        "first": first,
        "total": len(rollout.steps),
        "spans": [[int(a), int(b)] for a, b in spans],
        "rollout": part.model_dump_json(exclude_defaults=True),
    }


@dataclass(frozen=True, slots=True)
class Gathered:
    """The trajectories behind the rows of a batch.

    Attributes:
        batch: Whole rollouts in order of their first rows; among ``rejects`` those that could not be put together.
        rows: The row of every step, rollout after rollout, ``(S,)``.
        spans: The tokens of every step, in the flat array of all rows.
        plain: Rows that carry no rollout: other agent loops'. Their advantages stay as they are.
    """

    batch: RolloutBatch
    rows: npt.NDArray[np.int64]
    spans: TokenSpans
    plain: int


@dataclass(frozen=True, slots=True)
class _Part:
    row: int
    first: int
    total: int
    spans: list[list[int]]
    rollout: Rollout


def gather(fields: Sequence[Any], offsets: Sequence[int], *, padding: Sequence[bool]) -> Gathered:
    """Put the rollouts together.

    Args:
        fields: ``extra_fields["proas"]`` of every row; ``None`` where it has none.
        offsets: ``(R + 1,)``, the rows' responses in the flat array of tokens.
        padding: Rows that only fill the batch.

    Raises:
        DataError: A field is not what :func:`carried` makes, or spans do not fit the responses.
    """
    parts: dict[str, list[_Part]] = {}
    plain = 0
    for row, (field, fills) in enumerate(zip(fields, padding, strict=True)):
        if fills:
            continue
        if field is None:
            plain += 1
            continue
        part = _part(row, field)
        parts.setdefault(part.rollout.id, []).append(part)
    whole: list[Rollout] = []
    rejects: list[Reject] = []
    rows: list[int] = []
    spans: list[list[int]] = []
    for name, members in parts.items():
        ordered = sorted(members, key=lambda part: part.first)
        if reason := _gap(ordered):
            rejects.append(Reject(reason, id=name))
            continue
        steps = tuple(step for part in ordered for step in part.rollout.steps)
        whole.append(ordered[0].rollout.model_copy(update={"steps": steps}))
        for part in ordered:
            rows += [part.row] * len(part.spans)
            spans += part.spans
    made = TokenSpans.of(offsets, rows, spans)
    return Gathered(RolloutBatch(tuple(whole), tuple(rejects)), np.asarray(rows, dtype=np.int64), made, plain)


def _part(row: int, field: Any) -> _Part:
    try:
        if field["form"] != _FORM:
            raise DataError(f"row {row} carries a rollout of form {field['form']}, not {_FORM}", hint=_SAME_RELEASE)
        rollout = Rollout.model_validate_json(field["rollout"])
        part = _Part(row, int(field["first"]), int(field["total"]), list(field["spans"]), rollout)
    except (KeyError, TypeError, ValidationError) as error:
        raise DataError(f"row {row} carries no readable rollout: {error}", hint=_SAME_RELEASE) from error
    if len(part.spans) != len(rollout.steps):
        raise DataError(f"row {row} carries {len(part.spans)} spans for {len(rollout.steps)} steps")
    return part


_SAME_RELEASE = "agent loops and trainer must run the same release of ProAS"


def _gap(parts: Sequence[_Part]) -> str:
    """Why the rows of a trajectory do not make a whole; empty where they do."""
    reached = 0
    for part in parts:
        if part.first != reached:
            return f"steps {min(part.first, reached)} to {max(part.first, reached)} are missing or there twice"
        reached += len(part.spans)
    if reached != parts[0].total:
        return f"only {reached} of {parts[0].total} steps are in the batch"
    return ""
