"""ALFWorld's trials as a world: opened by name, played in environments, with policies."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from pathlib import Path

from proas.envs.alfworld.data import Trial, iter_trials, sample_root
from proas.envs.alfworld.env import DEFAULT_STEP_LIMIT, AlfWorldEnv
from proas.envs.alfworld.game import Game
from proas.envs.alfworld.policies import POLICIES, Policy, make_policy
from proas.envs.base import RewardSettings
from proas.envs.registry import EnvKind

__all__ = ["ALFWORLD", "AlfWorldWorld"]


class AlfWorldWorld:
    """Trials or games by key; implements ``proas.envs.base.World``.

    Args:
        games: The trials or games, in the order in which they are to be played.
    """

    name = AlfWorldEnv.name
    policies = POLICIES

    def __init__(self, games: Sequence[Trial | Game]) -> None:
        self._games = {game.key: game for game in games}

    @property
    def tasks(self) -> Sequence[str]:
        """Keys of the trials, those that cannot be played included."""
        return tuple(self._games)

    def environment(self, *, step_limit: int | None = None, rewards: RewardSettings = RewardSettings()) -> AlfWorldEnv:
        """A new environment over these trials; see :class:`proas.envs.base.World`."""
        limit = DEFAULT_STEP_LIMIT if step_limit is None else step_limit
        return AlfWorldEnv(self._games, step_limit=limit, rewards=rewards)

    def policy(self, name: str, rng: random.Random) -> Policy:
        """A policy by name. Raises ``UsageError`` where there is none of that name."""
        return make_policy(name, rng)

    def close(self) -> None:
        """Nothing is held outside this process."""


def _open(data: Path | None, options: Mapping[str, str]) -> AlfWorldWorld:
    del options  # it has none
    return AlfWorldWorld(list(iter_trials(data)))


ALFWORLD = EnvKind(
    name=AlfWorldWorld.name,
    summary="household tasks in text: find, clean, heat, cool, place",
    data="folder or archive of trials; ALFWORLD_DATA if not given",
    step_limit=DEFAULT_STEP_LIMIT,
    open=_open,
    samples=sample_root,
)
