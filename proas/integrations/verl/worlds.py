"""Worlds of a worker process: each opened once, its environments used again, a hanging one left behind."""

from __future__ import annotations

import threading
from collections import defaultdict

from proas.envs import Environment, EnvSpec, World, open_world
from proas.errors import EnvironmentFailure
from proas.integrations.verl.play_settings import PlaySettings

__all__ = ["MOST_LOST", "Worlds"]

MOST_LOST = 16
"""Environments that may hang in one process before it gives up: each holds a thread for good."""

_Key = tuple[str, str, tuple[tuple[str, str], ...]]


class Worlds:
    """Environments to play in. All calls may come from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._worlds: dict[_Key, World] = {}
        self._free: defaultdict[tuple[_Key, str], list[Environment]] = defaultdict(list)
        self._lost = 0

    def take(self, settings: PlaySettings, data: str | None) -> Environment:
        """An environment of the settings' world that nobody else plays in.

        Raises:
            ProASError: The world cannot be opened.
            EnvironmentFailure: Too many environments of this process hang.
        """
        key = _key(settings.spec(data))
        with self._lock:
            if self._lost >= MOST_LOST:
                raise EnvironmentFailure(
                    f"{self._lost} environments of this worker hang",
                    hint="give it more time (data.proas.timeout), or look at what the environment waits for",
                )
            if key not in self._worlds:
                self._worlds[key] = open_world(settings.spec(data))
            free = self._free[key, _form(settings)]
            if free:
                return free.pop()
            return self._worlds[key].environment(step_limit=settings.step_limit, rewards=settings.rewards)

    def give_back(self, env: Environment, settings: PlaySettings, data: str | None) -> None:
        """Hand an environment to whoever comes next."""
        with self._lock:
            self._free[_key(settings.spec(data)), _form(settings)].append(env)

    def lose(self) -> None:
        """Count an environment that hangs and is not given back."""
        with self._lock:
            self._lost += 1

    @property
    def lost(self) -> int:
        """Environments that hang."""
        return self._lost


def _key(spec: EnvSpec) -> _Key:
    return spec.name, str(spec.data or ""), tuple(sorted(spec.options.items()))


def _form(settings: PlaySettings) -> str:
    return f"{settings.step_limit} {settings.rewards}"
