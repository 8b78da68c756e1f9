"""Rollouts of our own (``proas.rollout_files``), one JSON object each."""

from __future__ import annotations

import json

from pydantic import ValidationError

from proas.graph_builders.trajectories.episodes import Episode, Record, Turn, Unreadable
from proas.rollouts import Rollout

__all__ = ["NAME", "SUMMARY", "fits", "read"]

NAME = "proas"
SUMMARY = "rollouts of our own: env, task, steps, success"

_MARKS = frozenset(("env", "task", "success"))


def fits(value: object) -> bool:
    """Whether it has a rollout's fields."""
    return (
        isinstance(value, dict) and value.keys() >= _MARKS and "messages" not in value and "conversations" not in value
    )


def read(record: Record) -> Episode:
    """The rollout as an episode. Raises ``Unreadable`` where a field is missing or wrong."""
    try:
        rollout = Rollout.model_validate_json(json.dumps(record.value))
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        where = ".".join(map(str, first["loc"]))
        message = first["msg"].removeprefix("Value error, ")
        raise Unreadable("bad_rollout", f"{where}: {message}" if where else message) from error
    turns = tuple(Turn(step.action, step.observation, step.valid) for step in rollout.steps)
    return Episode(
        format=NAME,
        turns=turns,
        observation=rollout.observation,
        context=rollout.observation,
        goal=rollout.goal,
        env=rollout.env,
        tasks=(rollout.task,),
        success=rollout.success,
        id=rollout.id,
        source=record.source,
        line=record.line,
        rollout=rollout,
    )
