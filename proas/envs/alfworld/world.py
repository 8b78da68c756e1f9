"""ALFWorld's trials as a world: opened by name, played in environments, with policies."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from pathlib import Path

from proas.envs.alfworld.data import WORDINGS, Trial, Wording, iter_trials, sample_root
from proas.envs.alfworld.env import DEFAULT_STEP_LIMIT, ENV, AlfWorldEnv
from proas.envs.alfworld.game import Game
from proas.envs.alfworld.policies import POLICIES, Policy, make_policy
from proas.envs.base import RewardSettings
from proas.envs.registry import EnvKind, EnvOption

__all__ = ["ALFWORLD", "ALFWORLD_KNOWLEDGE", "KNOWLEDGE_ENV", "AlfWorldWorld"]

KNOWLEDGE_ENV = "alfworld-knowledge"
"""The same games under a name whose states also tell what has been seen (``proas.states.alfworld.knowledge``)."""


class AlfWorldWorld:
    """Trials or games by key; implements ``proas.envs.base.World``.

    Args:
        games: The trials or games, in the order in which they are to be played.
        name: Name of the environment in their rollouts.
        wording: Play all of them by the rules of the release with this wording; each by its own if not given.
    """

    policies = POLICIES

    def __init__(self, games: Sequence[Trial | Game], name: str = ENV, *, wording: Wording | None = None) -> None:
        self.name = name
        self._wording = wording
        self._games = {game.key: game for game in games}

    @property
    def tasks(self) -> Sequence[str]:
        """Keys of the trials, those that cannot be played included."""
        return tuple(self._games)

    def environment(self, *, step_limit: int | None = None, rewards: RewardSettings = RewardSettings()) -> AlfWorldEnv:
        """A new environment over these trials; see :class:`proas.envs.base.World`."""
        limit = DEFAULT_STEP_LIMIT if step_limit is None else step_limit
        return AlfWorldEnv(self._games, step_limit=limit, rewards=rewards, name=self.name, wording=self._wording)

    def policy(self, name: str, rng: random.Random) -> Policy:
        """A policy by name. Raises ``UsageError`` where there is none of that name."""
        return make_policy(name, rng)

    def close(self) -> None:
        """Nothing is held outside this process."""


_OPTIONS = (
    EnvOption(
        "wording",
        "release whose rules all games are played by, by its wording",
        "own",
        ("own", *WORDINGS),
        chooses=False,
    ),
)


def _open(data: Path | None, options: Mapping[str, str]) -> AlfWorldWorld:
    return AlfWorldWorld(list(iter_trials(data)), wording=_wording(options))


def _open_knowing(data: Path | None, options: Mapping[str, str]) -> AlfWorldWorld:
    return AlfWorldWorld(list(iter_trials(data)), KNOWLEDGE_ENV, wording=_wording(options))


def _wording(options: Mapping[str, str]) -> Wording | None:
    return next((known for known in WORDINGS if known == options["wording"]), None)


ALFWORLD = EnvKind(
    name=ENV,
    summary="household tasks in text: find, clean, heat, cool, place",
    data="folder or archive of trials; ALFWORLD_DATA if not given",
    step_limit=DEFAULT_STEP_LIMIT,
    open=_open,
    options=_OPTIONS,
    samples=sample_root,
)

ALFWORLD_KNOWLEDGE = EnvKind(
    name=KNOWLEDGE_ENV,
    summary="the same household tasks; states also tell what has been seen",
    data=ALFWORLD.data,
    step_limit=DEFAULT_STEP_LIMIT,
    open=_open_knowing,
    options=_OPTIONS,
    samples=sample_root,
)
