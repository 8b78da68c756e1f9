"""What a reader makes of one record: an episode as it was logged, with nothing known yet of its task or its states."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from proas.rollouts import Rollout

__all__ = ["Aside", "Call", "Conversation", "Episode", "Record", "Turn", "Unreadable"]


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call.

    Attributes:
        name: Name of the function.
        arguments: Its arguments by name, in the order of the record.
    """

    name: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Turn:
    """One action and what came of it.

    Attributes:
        action: The agent's words, without thoughts and labels around the action.
        observation: The environment's answer; empty where the record has none.
        valid: ``False`` where the record says that the action was refused; ``None`` where it does not say.
        call: The action as a tool call, where it is one; its wording depends on the environment.
    """

    action: str
    observation: str = ""
    valid: bool | None = None
    call: Call | None = None


class Conversation(NamedTuple):
    """A conversation as an episode: what was told first, what was seen, and the turns."""

    context: str
    observation: str
    turns: tuple[Turn, ...]


@dataclass(frozen=True, slots=True)
class Record:
    """One JSON value of a file.

    Attributes:
        value: The value.
        source: Name of the file.
        line: 1-based line on which it begins; 0 when unknown.
        name: Its name where it is a member of an object.
    """

    value: object
    source: str = ""
    line: int = 0
    name: str = ""


@dataclass(frozen=True, slots=True)
class Episode:
    """An episode as it was logged.

    Attributes:
        format: Name of its format.
        turns: Its turns in order.
        observation: What the agent saw before its first action.
        context: Everything that the agent was told before its first action, the observation included.
        goal: The task in words, where the record has a field for it.
        env: Environment that the record names, in its own words.
        tasks: What the record has to tell tasks apart: ids, keys, paths of game files.
        names: Words of the record that may name the task, or only its kind.
        success: Whether the record says that the task was solved; ``None`` where it does not say.
        score: Score or reward of the episode; ``None`` where there is none.
        id: The record's own name for the episode.
        source: Name of the file.
        line: 1-based line on which the record begins.
        length: Steps that the record says the whole episode had; 0 where it does not say.
        rollout: The record itself where it is a rollout of ours.
    """

    format: str
    turns: tuple[Turn, ...]
    observation: str = ""
    context: str = ""
    goal: str = ""
    env: str = ""
    tasks: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    success: bool | None = None
    score: float | None = None
    id: str = ""
    source: str = ""
    line: int = 0
    length: int = 0
    rollout: Rollout | None = field(default=None, repr=False)

    @property
    def place(self) -> str:
        """Where it stands, for messages."""
        return f"{self.source}:{self.line}" if self.line else self.source


@dataclass(frozen=True, slots=True)
class Aside:
    """A record or an episode that was kept aside.

    Attributes:
        problem: Kind of fault, for counting.
        reason: What is wrong, in words.
        source: Name of the file.
        line: 1-based line; 0 when there is none.
        id: The record's own name, where it could be read.
        excerpt: The first characters of the record.
    """

    problem: str
    reason: str
    source: str = ""
    line: int = 0
    id: str = ""
    excerpt: str = ""

    @property
    def place(self) -> str:
        """Where it stands, for messages."""
        return f"{self.source}:{self.line}" if self.line else self.source


class Unreadable(Exception):  # an answer about one record, which its caller turns into an ``Aside``
    """A record that is no episode.

    Args:
        problem: Kind of fault, for counting.
        reason: What is wrong, in words.
    """

    def __init__(self, problem: str, reason: str) -> None:
        super().__init__(reason)
        self.problem = problem
        self.reason = reason
