"""What the formats have in common: fields that say which task a record is of and how it ended, under many names.

Fields are looked for in the record itself and in the objects that logs keep such things in (``metadata``, ``extra``,
...). The first name of each list that is there decides.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from proas.graph_builders.trajectories.episodes import Conversation, Episode, Record, Unreadable

__all__ = ["Labels", "labels_of", "plain_text", "text_at"]

_NESTS = (
    "metadata",
    "meta",
    "info",
    "extra",
    "extra_info",
    "extra_fields",
    "final_metrics",
    "metrics",
    "result",
    "verifier_result",
    "rewards",
    "reward_info",
    "task_info",
)
_SUCCESS = ("success", "won", "is_success", "is_successful", "succeeded", "solved", "is_correct", "correct", "acc")
_SCORE = (
    "score",
    "reward",
    "total_reward",
    "episode_reward",
    "final_reward",
    "final_score",
    "outcome_reward",
    "return",
    "episode_return",
)
_TASK_IDS = ("task_key", "task_id", "item_id", "gamefile", "game_file", "goal_id", "instance_id", "problem_id")
_TASK_NAMES = ("extra.gamefile", "game", "task_name", "task", "task_type")
_ENV = ("env", "environment", "env_name", "env_type", "environment_name", "benchmark", "data_source", "dataset")
_GOAL = ("goal", "instruction", "task_description", "task_desc", "objective", "question")
_LENGTH = ("episode_length", "episode_steps", "num_steps", "n_steps", "step_count")
_DEEPEST = 3
_LONGEST_ID = 512


@dataclass(frozen=True, slots=True)
class Labels:
    """What a record says beside its turns.

    Attributes:
        success: Whether the task was solved; ``None`` where no field says so.
        score: Score or reward; ``None`` where there is none.
        env: Environment, in the record's own words.
        tasks: What tells tasks apart: ids, keys, paths of game files.
        names: Words that may name the task, or only its kind.
        goal: The task in words.
        id: The record's own name for itself.
        length: Steps of the whole episode; 0 where the record does not say.
    """

    success: bool | None
    score: float | None
    env: str
    tasks: tuple[str, ...]
    names: tuple[str, ...]
    goal: str
    id: str
    length: int = 0

    def episode(self, named: str, record: Record, told: Conversation) -> Episode:
        """The record as an episode.

        Args:
            named: Name of its format.
            record: Where it comes from.
            told: What was said in it.
        """
        return Episode(
            format=named,
            turns=told.turns,
            observation=told.observation,
            context=told.context,
            goal=self.goal,
            env=self.env,
            tasks=self.tasks,
            names=self.names,
            success=self.success,
            score=self.score,
            id=self.id,
            length=self.length,
            source=record.source,
            line=record.line,
        )


def labels_of(record: Mapping[str, Any]) -> Labels:
    """The fields of a record that are no turns."""
    nests = tuple(_nests(record, _DEEPEST))
    truths = (_truth(nest.get(name)) for nest in nests for name in _SUCCESS)
    numbers = (_number(nest.get(name)) for nest in nests for name in _SCORE)
    goals = [text_at(nest, n) for nest in nests for n in _GOAL]
    goals += [text for nest in nests if " " in (text := text_at(nest, "task"))]
    return Labels(
        success=next((known for known in truths if known is not None), None),
        score=next((known for known in numbers if known is not None), None),
        env=next((text for nest in nests for n in _ENV if (text := text_at(nest, n))), ""),
        tasks=_short(nests, _TASK_IDS),
        names=_short(nests, _TASK_NAMES),
        goal=next(filter(None, goals), ""),
        id=next((text for n in ("id", "session_id", "trajectory_id", "uid") if (text := text_at(record, n))), "")[:200],
        length=int(max((_number(nest.get(name)) or 0 for nest in nests for name in _LENGTH), default=0)),
    )


def _short(nests: Sequence[Mapping[str, Any]], names: Sequence[str]) -> tuple[str, ...]:
    """What stands under these names and may be an identity, each once."""
    texts = (text_at(nest, name) for nest in nests for name in names)
    return tuple(dict.fromkeys(text for text in texts if text and " " not in text and len(text) <= _LONGEST_ID))


def text_at(record: Mapping[str, Any], name: str) -> str:
    """A text or a whole number under a name, as text; empty where there is neither."""
    value = record.get(name)
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value) if abs(value) < 10**18 else ""
    return plain_text(value.strip()) if isinstance(value, str) else ""


def plain_text(value: object) -> str:
    """The text of a message's content: a text, nothing, or a list of parts of which those of text count.

    Raises:
        Unreadable: It is something else.
    """
    if value is None:
        return ""
    if isinstance(value, str):
        # Half of a surrogate pair, as agents that cut an emoji leave it, is no text for anyone further on.
        return value if value.isascii() else value.encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, list):
        return "\n".join(filter(None, (_part(part) for part in value)))
    if isinstance(value, dict):
        return _part(value)
    raise Unreadable("bad_content", f"a message's content is {_kind(value)}, not text")


def _part(part: object) -> str:
    if isinstance(part, str):
        return plain_text(part)
    if isinstance(part, dict):
        inner = part.get("text", part.get("content", ""))
        return plain_text(inner) if isinstance(inner, str) else ""
    raise Unreadable("bad_content", f"a part of a message's content is {_kind(part)}, not an object")


def _kind(value: object) -> str:
    names = {bool: "true or false", int: "a number", float: "a number", list: "a list", dict: "an object"}
    return "null" if value is None else names.get(type(value), type(value).__name__)


def _nests(record: Mapping[str, Any], deepest: int) -> Iterator[Mapping[str, Any]]:
    yield record
    if deepest:
        for name in _NESTS:
            inner = record.get(name)
            if isinstance(inner, dict):
                yield from _nests(inner, deepest - 1)


def _truth(value: object) -> bool | None:
    if isinstance(value, bool):
        return value
    if isinstance(value, int | float) and value in (0, 1):
        return bool(value)
    if isinstance(value, str) and value.strip().lower() in ("true", "false"):
        return value.strip().lower() == "true"
    return None


def _number(value: object) -> float | None:
    if isinstance(value, bool):
        return float(value)
    if isinstance(value, str):
        try:
            value = float(value) if len(value) < 40 else None
        except ValueError:
            return None
    if not isinstance(value, int | float) or abs(value) > 1e12 or not math.isfinite(value):
        return None
    return float(value)
