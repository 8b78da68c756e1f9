"""Which task an episode is of, and the environments at hand to look it up and play it in."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from proas.envs import EnvSpec, open_world
from proas.envs.base import Environment, World
from proas.errors import DataError, EnvironmentFailure, ProASError, TaskError, UsageError
from proas.graph_builders.trajectories.dialects import Dialect
from proas.graph_builders.trajectories.episodes import Episode
from proas.keys import digest

__all__ = ["Replay", "Task", "Worlds"]

Replay = Literal["auto", "never", "require"]
"""Episodes are played again where it can be had; never; or only those that can be played again count."""

_MOST_LOOKED_AT = 20_000
"""Tasks of a world whose first observations are looked at, so that episodes without an id find theirs."""
_SLOW = frozenset(("scienceworld",))
"""Environments in which starting an episode takes too long for that; their episodes need an id."""
_SAFE = re.compile(r"[A-Za-z0-9_.:/-]{1,80}")


@dataclass(frozen=True, slots=True)
class Task:
    """Where an episode belongs.

    Attributes:
        keys: Keys of the tasks that it may be of; several where games look alike at the start.
        known: These are keys of the environment at hand, in which the episode can be played.
        how: What told: ``id``, ``start``, or ``digest``.
    """

    keys: tuple[str, ...]
    known: bool
    how: Literal["id", "start", "digest"]


class Worlds:
    """The environments' tasks, each opened when the first episode asks for it.

    Args:
        specs: Environments with their data, by name; others are opened from their default, if they have it.
        replay: ``never`` opens none.
    """

    def __init__(self, specs: Mapping[str, EnvSpec] | None = None, *, replay: Replay = "auto") -> None:
        self._specs = dict(specs or {})
        self._replay = replay
        self._opened: dict[str, _Opened | None] = {}

    def environment(self, env: str) -> Environment | None:
        """The environment to play episodes in, one at a time; ``None`` where it is not at hand."""
        opened = self._open(env)
        return None if opened is None else opened.env

    def task_of(self, episode: Episode, dialect: Dialect, goal: str, observation: str) -> Task | None:
        """Which task an episode is of.

        Told, in this order, by a key or a path of a game file in the record; by goal and first observation, among the
        tasks at hand; by the record's own task id with goal and first observation; by those two alone. Other games may
        begin like one that is at hand, so that only playing the episode again confirms the second.

        Args:
            episode: The episode.
            dialect: How its environment's logs read.
            goal: Its goal in words.
            observation: Its first observation.

        Returns:
            ``None`` where nothing tells it from other tasks.
        """
        if episode.rollout is not None:
            return Task((episode.rollout.task,), self._has(dialect.env, episode.rollout.task), "id")
        opened = self._open(dialect.env)
        for words in (*episode.tasks, *episode.names):
            key = words if opened is not None and words in opened.keys else dialect.key_in(words)
            if key:
                return Task((key,), self._has(dialect.env, key), "id")
        signature = dialect.signature(goal, observation)
        if signature is None:
            return None
        alike = opened.alike(signature) if opened is not None else ()
        if alike:
            return Task(alike, known=True, how="start")
        return Task((_derived(dialect.env, signature, episode.tasks),), known=False, how="digest")

    def close(self) -> None:
        """Let go of the environments."""
        for opened in self._opened.values():
            if opened is not None:
                opened.world.close()
        self._opened.clear()

    def _has(self, env: str, task: str) -> bool:
        opened = self._open(env)
        return opened is not None and task in opened.keys

    def _open(self, env: str) -> _Opened | None:
        if env not in self._opened:
            self._opened[env] = self._try(env)
        return self._opened[env]

    def _try(self, env: str) -> _Opened | None:
        """The environment; ``None`` where nobody asked for it and it is not at hand."""
        if self._replay == "never":
            return None
        try:
            return _Opened(open_world(self._specs.get(env) or EnvSpec(env)), env)
        except (DataError, EnvironmentFailure, UsageError) as error:
            if env in self._specs or self._replay == "require":
                raise type(error)(
                    f"the environment {env} is needed to play its episodes again: {error.message}", hint=error.hint
                ) from error
            return None


class _Opened:
    """One environment with its tasks."""

    def __init__(self, world: World, env: str) -> None:
        from proas.graph_builders.trajectories.dialects import dialect_of

        self.world = world
        self.keys: frozenset[str] = frozenset(world.tasks)
        self.env = world.environment(step_limit=_NO_LIMIT)
        self._dialect = dialect_of(env)
        self._by_start: dict[str, tuple[str, ...]] | None = None

    def alike(self, signature: Sequence[object]) -> tuple[str, ...]:
        """Tasks that begin like this, in the order of their keys."""
        if self._by_start is None:
            self._by_start = self._starts()
        return self._by_start.get(digest(*signature), ())

    def _starts(self) -> dict[str, tuple[str, ...]]:
        found: dict[str, list[str]] = {}
        if self._dialect.env in _SLOW:
            return {}
        for task in sorted(self.keys)[:_MOST_LOOKED_AT]:
            try:
                observation, _info = self.env.reset(task)
            except (TaskError, UsageError):  # cannot be played: no episode is of it
                continue
            except ProASError:
                break
            signature = self._dialect.signature(self.env.goal_text, observation)
            if signature is not None:
                found.setdefault(digest(*signature), []).append(task)
        return {start: tuple(tasks) for start, tasks in found.items()}


_NO_LIMIT = 1_000_000


def _derived(env: str, signature: Sequence[object], ids: Sequence[str]) -> str:
    """A key from what the record tells: the same for every episode of the task in logs of one kind."""
    told_apart = digest("task", env, signature, list(ids[:1]))[:16]
    name = ids[0] if ids and _SAFE.fullmatch(ids[0]) else env
    return f"{name}~{told_apart}"
