"""Harbor's Agent Trajectory Interchange Format, versions 1.0 to 1.7.

Source: ``docs/rfcs/0001-trajectory-format.md`` of laude-institute/harbor. A trajectory is ``{"schema_version":
"ATIF-v1.4", "session_id", "agent", "steps": [...], "final_metrics", "extra"}``. A step has a ``source`` (``system``,
``user`` or ``agent``), a ``message`` (a text, or parts from 1.6 on), ``reasoning_content``, ``tool_calls`` of
``{tool_call_id, function_name, arguments}`` and an ``observation`` whose ``results`` name the call that they answer by
``source_call_id``. The format has no field for the outcome: it is looked for in ``extra``, ``final_metrics`` and beside
them (``reward``, ``score``, ``success``), where agents and verifiers leave it. Steps that 1.7 marks as
``is_copied_context`` are history that is told again, and left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from proas.graph_builders.trajectories.chat import Message, Role, conversation_of, tool_call
from proas.graph_builders.trajectories.episodes import Episode, Record, Unreadable
from proas.graph_builders.trajectories.fields import labels_of, plain_text

__all__ = ["NAME", "SUMMARY", "fits", "read"]

NAME = "atif"
SUMMARY = "Harbor's ATIF: schema_version, steps of system, user and agent"

_SOURCES = ("system", "user", "agent")  # compared, not hashed: a broken record may hold anything


def fits(value: object) -> bool:
    """Whether it names a version of ATIF, or has steps with a source."""
    if not isinstance(value, dict):
        return False
    version, steps = value.get("schema_version"), value.get("steps")
    if isinstance(version, str) and version.upper().startswith("ATIF"):
        return True
    return isinstance(steps, list) and bool(steps) and isinstance(steps[0], dict) and steps[0].get("source") in _SOURCES


def read(record: Record) -> Episode:
    """The trajectory as an episode. Raises ``Unreadable`` where it is none."""
    value = record.value
    assert isinstance(value, dict)
    version, steps = value.get("schema_version"), value.get("steps")
    if isinstance(version, str) and not version.upper().startswith("ATIF-V1."):
        raise Unreadable("unknown_version", f"schema_version {version!r:.40} is none of ATIF 1")
    if not isinstance(steps, list):
        raise Unreadable("bad_message", "steps is not a list")
    told = conversation_of([message for step in steps for message in _messages(step)])
    # What ATIF counts as steps are messages too, so no length is taken from it.
    return replace(labels_of(value), length=0).episode(NAME, record, told)


def _messages(step: object) -> Iterator[Message]:
    """A step as the messages that it stands for: what was said, then what came back for it."""
    if not isinstance(step, dict):
        raise Unreadable("bad_message", "a step is not an object")
    source = step.get("source")
    if source not in _SOURCES:
        raise Unreadable("bad_role", f"a step's source is {source!r:.60}, not system, user or agent")
    if step.get("is_copied_context") is True:
        return
    text = plain_text(step.get("message"))
    if source == "agent":
        calls = step.get("tool_calls") or []
        if not isinstance(calls, list):
            raise Unreadable("bad_tool_call", "tool_calls is not a list")
        yield Message("assistant", text, tuple(tool_call(call) for call in calls))
    else:
        yield Message("system" if source == "system" else "user", text)
    for result in _results(step):
        answers = result.get("source_call_id")
        role: Role = (
            "tool" if source != "system" else "user"
        )  # an environment that was reset shows its first observation
        yield Message(role, plain_text(result.get("content")), (), answers if isinstance(answers, str) else "")


def _results(step: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    observation = step.get("observation")
    if observation is None:
        return
    results = observation.get("results") if isinstance(observation, dict) else None
    if not isinstance(results, list) or not all(isinstance(result, dict) for result in results):
        raise Unreadable("bad_message", "an observation has no list of results")
    yield from results
