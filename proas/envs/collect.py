"""Collects rollouts: a group of them for each game, by a policy, reproducibly.

Every rollout draws from a generator of its own, seeded by the run's seed, the task and its number in the group. So a
rollout does not depend on which other games are played, nor in what order.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Protocol

from proas.envs.alfworld.data import Trial, TrialError
from proas.envs.alfworld.engine import AlfWorldEngine
from proas.envs.alfworld.env import DEFAULT_STEP_LIMIT, AlfWorldEnv
from proas.envs.alfworld.game import Game
from proas.envs.alfworld.load import load_game
from proas.envs.alfworld.policies import Policy, make_policy
from proas.envs.base import RewardSettings, check_step_limit
from proas.errors import EnvironmentFailure, UsageError
from proas.keys import digest
from proas.rollouts import Ended, Reject, Rollout, State, Step

__all__ = ["CollectSettings", "StateFollower", "collect", "play"]


class _Seen(Protocol):
    @property
    def state(self) -> State: ...
    @property
    def canonical(self) -> str: ...
    @property
    def seeks(self) -> bool: ...


class StateFollower(Protocol):
    """Says in which state a game is; ``proas.states.alfworld.EngineObserver`` is one."""

    def begin(self, engine: AlfWorldEngine) -> State:
        """State of a game that was just reset."""
        ...

    def observe(self, action: str, engine: AlfWorldEngine, *, valid: bool, won: bool = False) -> _Seen:
        """State after an action, its canonical form, and whether it looked for something."""
        ...


@dataclass(frozen=True, slots=True)
class CollectSettings:
    """How rollouts are made.

    Attributes:
        policy: ``expert``, ``noisy`` or ``random``.
        group_size: Rollouts of each game (G).
        seed: Source of all randomness.
        step_limit: Steps after which an unsolved rollout is cut.
        rewards: What steps pay.

    Raises:
        UsageError: A value makes no sense.
    """

    policy: str = "expert"
    group_size: int = 8
    seed: int = 0
    step_limit: int = DEFAULT_STEP_LIMIT
    rewards: RewardSettings = field(default_factory=RewardSettings)

    def __post_init__(self) -> None:
        """Refuse settings that no collection can follow, before any game is loaded."""
        if self.group_size < 1:
            raise UsageError(f"the group size must be at least 1, not {self.group_size}")
        check_step_limit(self.step_limit)
        make_policy(self.policy, random.Random(0))  # noqa: S311  # only to check the name


def collect(
    games: Iterable[Trial | Game],
    settings: CollectSettings,
    follower: Callable[[Game], StateFollower] | None = None,
) -> Iterator[Rollout | Reject]:
    """Play a group of rollouts of each game.

    Args:
        games: What to play, in this order.
        settings: How.
        follower: Makes what attaches states to a game's rollouts; without it they carry none.

    Yields:
        Rollouts ``<task>#0``, ``<task>#1``, ... of one game after the other; a reject in place of a game that cannot
        be played.
    """
    for given in games:
        try:
            game = given if isinstance(given, Game) else load_game(given)
        except TrialError as error:
            source = str(given.path) if isinstance(given, Trial) else ""
            yield Reject(f"{error.problem}: {error.reason}", source=source, id=error.key)
            continue
        states = follower(game) if follower is not None else None
        for number in range(settings.group_size):
            yield play(game, settings, number, states)


def play(game: Game, settings: CollectSettings, number: int, states: StateFollower | None = None) -> Rollout:
    """One rollout.

    Args:
        game: The game.
        settings: How to play.
        number: Its number in the group.
        states: Attaches states, if given.

    Returns:
        The rollout. One whose policy sees no way on ends with ``error`` and is a failed one. ``tokens`` counts words:
        these policies sample none. ``reward`` is the sum over the steps.
    """
    # Randomness for a simulation, not for secrets.
    rng = random.Random(digest("rollout", settings.seed, game.key, number))  # noqa: S311
    policy = make_policy(settings.policy, rng)
    env = AlfWorldEnv(step_limit=settings.step_limit, rewards=settings.rewards)
    observation, info = env.reset(game)
    start = states.begin(env.engine) if states is not None else None
    steps, ended = _steps(env, policy, states) if not info.won else ([], "success")
    return Rollout(
        id=f"{game.key}#{number}",
        env=env.name,
        task=game.key,
        goal=env.goal_text,
        observation=observation,
        start=start,
        steps=tuple(steps),
        success=ended == "success",
        reward=sum(step.reward for step in steps),
        ended=ended,
    )


def _steps(env: AlfWorldEnv, policy: Policy, states: StateFollower | None) -> tuple[list[Step], Ended]:
    """Play to the end of the episode."""
    steps: list[Step] = []
    while True:
        try:
            action = policy.act(env)
        except EnvironmentFailure:
            return steps, "error"
        result = env.step(action)
        info = result.info
        seen = states.observe(action, env.engine, valid=info.valid, won=info.won) if states is not None else None
        steps.append(
            Step(
                action=action,
                observation=result.observation,
                reward=result.reward,
                valid=info.valid,
                tokens=max(1, len(action.split())),
                canonical=seen.canonical if seen else None,
                state=seen.state if seen else None,
                seeks=seen.seeks if seen else False,
            )
        )
        if result.done:
            return steps, "success" if info.won else "step_limit"
