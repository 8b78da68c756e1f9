"""Chats as TRL's trainers and OpenAI's interfaces write them.

Source: "Dataset formats and types" of TRL's documentation: ``{"messages": [{"role", "content"}, ...]}``, or ``prompt``
and ``completion`` that are lists of such messages, with ``tool_calls`` (``{"type": "function", "function": {"name",
"arguments"}}``, arguments an object or JSON in a text) and messages of role ``tool``; content may be a list of parts.
``label`` is the outcome in a set of unpaired preferences. Columns beside them, such as ``reward``, are free.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from proas.graph_builders.trajectories.chat import Message, conversation_of, message_of
from proas.graph_builders.trajectories.episodes import Episode, Record, Unreadable
from proas.graph_builders.trajectories.fields import Labels, labels_of

__all__ = ["NAME", "SUMMARY", "fits", "read"]

NAME = "trl"
SUMMARY = "chats of TRL and OpenAI: messages, or prompt and completion, of roles and content"


def fits(value: object) -> bool:
    """Whether it has messages, or a prompt with a completion, or is a list of messages."""
    if isinstance(value, list):
        return bool(value) and all(isinstance(message, dict) and "role" in message for message in value)
    return isinstance(value, dict) and ("messages" in value or {"prompt", "completion"} <= value.keys())


def read(record: Record) -> Episode:
    """The chat as an episode. Raises ``Unreadable`` where it is none."""
    value = record.value
    labels = labels_of(value) if isinstance(value, dict) else Labels(None, None, "", (), (), "", "")
    told = conversation_of(list(_messages(value)))
    success = labels.success if labels.success is not None else _label(value)
    return replace(labels, success=success).episode(NAME, record, told)


def _label(value: Any) -> bool | None:
    """Whether an unpaired preference is one for the completion; ``None`` where the record is no such thing."""
    label = value.get("label") if isinstance(value, dict) else None
    return label if isinstance(label, bool) else None


def _messages(value: Any) -> list[Message]:
    if isinstance(value, list):
        return _list(value, "the record")
    if "messages" in value:
        return _list(value["messages"], "messages")
    prompt, completion = value["prompt"], value["completion"]
    told = [Message("user", prompt)] if isinstance(prompt, str) else _list(prompt, "prompt")
    said = [Message("assistant", completion)] if isinstance(completion, str) else _list(completion, "completion")
    return told + said


def _list(messages: object, where: str) -> list[Message]:
    if not isinstance(messages, list):
        raise Unreadable("bad_message", f"{where} is not a list of messages")
    return [message_of(message) for message in messages]
