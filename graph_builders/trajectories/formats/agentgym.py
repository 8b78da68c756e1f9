"""Conversations of AgentGym: AgentTraj, AgentTraj-L, and what its evaluator writes.

Source: ``README.md`` ("Trajectory Set: AgentTraj"), ``docs/tutorials/en/02-behavioral-cloning.md`` and
``agentenv/agentenv/trainer/distributed_evaluator.py`` of WooooDyy/AgentGym. A record is
``{"item_id": "webshop_6", "conversations": [{"from": "human"|"gpt", "value": ..., "loss": null|false|true}, ...]}``,
with ``reward`` and ``success`` where the evaluator wrote it. The first two messages are instructions and their
acknowledgement (``loss: false``). Answers read ``Thought: ... Action: ...`` or are a JSON object of ``thought``,
``function_name`` and ``arguments``; an observation of ALFWorld ends in ``AVAILABLE ACTIONS: ...``. The last action's
observation is not recorded. ShareGPT's conversations have the same form.
"""

from __future__ import annotations

from dataclasses import replace

from proas.graph_builders.trajectories.chat import conversation_of, message_of
from proas.graph_builders.trajectories.episodes import Episode, Record, Unreadable
from proas.graph_builders.trajectories.fields import labels_of

__all__ = ["NAME", "SUMMARY", "fits", "read"]

NAME = "agentgym"
SUMMARY = "conversations of AgentGym: item_id, conversations of human and gpt"


def fits(value: object) -> bool:
    """Whether it has ``conversations``."""
    return isinstance(value, dict) and "conversations" in value


def read(record: Record) -> Episode:
    """The conversation as an episode. Raises ``Unreadable`` where it is none."""
    value = record.value
    assert isinstance(value, dict)
    said = value["conversations"]
    if not said:
        raise Unreadable("no_turns", "the record names a task and holds no conversation")
    if not isinstance(said, list):
        raise Unreadable("bad_message", "conversations is not a list")
    told = conversation_of([message_of(message) for message in said])
    labels = labels_of(value)
    item = value.get("item_id")
    # An item is named by its environment and a number: webshop_6, lmrlgym_wordle_3.
    of_item = item.rpartition("_")[0] if isinstance(item, str) else ""
    named = replace(labels, env=labels.env or of_item, id=labels.id or (item if isinstance(item, str) else ""))
    return named.episode(NAME, record, told)
