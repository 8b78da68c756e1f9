"""Environments out of rules: write a :class:`Game`, and :class:`GameWorld` makes an environment of it.

A game says what a situation is, what can be done in it and what comes of that. Situations are values: an action makes a
new one. So everything else follows: episodes, step limit, rewards, errors, and three policies, of which the expert
searches the game itself for a shortest way to the goal. An environment that cannot be copied (a server, a simulator)
implements :class:`proas.envs.base.Environment` and :class:`~proas.envs.base.World` instead.
"""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import ClassVar, Generic, TypeVar

from proas.envs.base import Info, Policy, RandomPolicy, RewardSettings, StepResult, begun, check_step_limit
from proas.errors import EnvironmentFailure, UsageError

__all__ = ["Game", "GameEnv", "GameFacts", "GameWorld", "NoisyPolicy", "ShortestPolicy"]

S = TypeVar("S", bound=Hashable)

_SITUATIONS = 200_000
"""The expert gives up where the goal is not among so many situations."""


class Game(ABC, Generic[S]):
    """The rules of one task. ``S`` is a situation, a hashable value that holds all that changes.

    Attributes:
        goal: The task in words, as the agent reads it.
        start: The situation in which every episode begins.
        refusal: The answer to an action that does not apply.
    """

    goal: str
    start: S
    refusal: ClassVar[str] = "Nothing happens."

    @abstractmethod
    def opening(self) -> str:
        """What the agent reads before its first action; it should state the goal."""

    @abstractmethod
    def admissible(self, now: S) -> Sequence[str]:
        """Actions that apply in a situation, in an order that depends on it alone."""

    @abstractmethod
    def after(self, now: S, action: str) -> tuple[S, str] | None:
        """The situation after an action and the answer to it; ``None`` where the action does not apply."""

    @abstractmethod
    def won(self, now: S) -> bool:
        """Whether the task is solved."""

    def facts(self, now: S) -> Iterable[tuple[str, ...]]:
        """The situation as ``(predicate, argument, ...)``.

        If not told otherwise, the fields of a named tuple or a dataclass by their names, sets member by member.
        """
        if is_dataclass(now):
            parts = {f.name: getattr(now, f.name) for f in fields(now)}
        else:
            names = getattr(now, "_fields", ())
            parts = {name: getattr(now, name) for name in names} or {"situation": now}
        for name, value in parts.items():
            members = value if isinstance(value, frozenset) else (value,)
            yield from ((name, str(member)) for member in members)


@dataclass(frozen=True, slots=True)
class GameFacts:
    """A situation as a set of tuples; implements ``proas.envs.base.Facts``."""

    tuples: frozenset[tuple[str, ...]]

    def as_tuples(self) -> frozenset[tuple[str, ...]]:
        """The set itself."""
        return self.tuples


class GameEnv(Generic[S]):
    """One episode of a game at a time; implements ``proas.envs.base.Environment``.

    Args:
        name: Name of the environment.
        make: Makes the game of a task key; raises ``UsageError`` for a key that it does not know.
        step_limit: Steps after which an unsolved episode is cut.
        rewards: What steps pay.

    Raises:
        UsageError: The step limit is not positive.
    """

    def __init__(
        self, name: str, make: Callable[[str], Game[S]], *, step_limit: int, rewards: RewardSettings = RewardSettings()
    ) -> None:
        self.name = name
        self.step_limit = check_step_limit(step_limit)
        self.rewards = rewards
        self._make = make
        self._begun: tuple[str, Game[S]] | None = None
        self._now: S
        self._info: Info

    @property
    def game(self) -> Game[S]:
        """The game of the current episode. Raises ``EnvironmentFailure`` before the first reset."""
        return self._episode[1]

    @property
    def now(self) -> S:
        """The present situation. Raises ``EnvironmentFailure`` before the first reset."""
        self._episode  # noqa: B018  # raises
        return self._now

    @property
    def task(self) -> str:
        """Key of the current episode's task."""
        return self._episode[0]

    @property
    def goal_text(self) -> str:
        """The goal as the agent reads it."""
        return self.game.goal

    @property
    def info(self) -> Info:
        """The info of the last reset or step."""
        self._episode  # noqa: B018  # raises
        return self._info

    def reset(self, task: str, seed: int | None = None) -> tuple[str, Info]:
        """Start an episode. The rules leave nothing to chance, so ``seed`` changes nothing."""
        del seed
        game = self._make(task)
        self._begun = task, game
        self._now = game.start
        self._info = self._look(valid=True, steps=0)
        return game.opening(), self._info

    def step(self, action: str) -> StepResult:
        """Carry out one action; see :class:`proas.envs.base.Environment`."""
        game = self.game
        if self._info.won or self._info.truncated:
            raise EnvironmentFailure("the episode is over", hint="call reset to start another")
        answer = game.after(self._now, action)
        valid = answer is not None
        self._now, words = answer if answer is not None else (self._now, game.refusal)
        info = self._info = self._look(valid=valid, steps=self._info.steps + 1)
        paid = self.rewards.paid(valid=valid, won=info.won)
        return StepResult(words, paid, info.won or info.truncated, info)

    @property
    def _episode(self) -> tuple[str, Game[S]]:
        return begun(self._begun)

    def _look(self, *, valid: bool, steps: int) -> Info:
        game, now = self.game, self._now
        won = game.won(now)
        return Info(
            admissible=() if won else tuple(game.admissible(now)),
            valid=valid,
            won=won,
            truncated=steps >= self.step_limit and not won,
            steps=steps,
            facts=GameFacts(frozenset(game.facts(now))),
        )


class GameWorld(Generic[S]):
    """Games by task key; implements ``proas.envs.base.World``.

    Args:
        name: Name of the environment.
        tasks: Keys of the tasks.
        make: Makes the game of a key.
        step_limit: Steps that an agent usually has.
    """

    policies = ("expert", "noisy", "random")

    def __init__(self, name: str, tasks: Sequence[str], make: Callable[[str], Game[S]], *, step_limit: int) -> None:
        self.name = name
        self.tasks = tuple(tasks)
        self._known = frozenset(self.tasks)
        self._make = make
        self._step_limit = step_limit

    def environment(self, *, step_limit: int | None = None, rewards: RewardSettings = RewardSettings()) -> GameEnv[S]:
        """A new environment over these games; see :class:`proas.envs.base.World`."""
        limit = self._step_limit if step_limit is None else step_limit
        return GameEnv(self.name, self._game, step_limit=limit, rewards=rewards)

    def policy(self, name: str, rng: random.Random) -> Policy:
        """A policy by name. Raises ``UsageError`` where there is none of that name."""
        if name not in self.policies:
            raise UsageError(f"{self.name} has no policy {name!r}", hint=f"known: {', '.join(self.policies)}")
        kinds: dict[str, Callable[[random.Random], Policy]] = {"expert": ShortestPolicy, "noisy": NoisyPolicy}
        return kinds.get(name, RandomPolicy)(rng)

    def close(self) -> None:
        """Nothing is held outside this process."""

    def _game(self, task: str) -> Game[S]:
        if task not in self._known:
            raise UsageError(f"no {self.name} task {task!r} among the {len(self.tasks)} known")
        return self._make(task)


class ShortestPolicy:
    """Takes a shortest way to the goal, found by trying the game's actions in breadth, and searches anew when astray.

    Args:
        rng: Chooses among several shortest ways.
    """

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._plan: list[tuple[object, object, str]] = []

    def act(self, env: GameEnv[S]) -> str:
        """The next action. Raises ``EnvironmentFailure`` where nothing leads to the goal."""
        here = (env.game, env.now)
        if not self._plan or self._plan[-1][:2] != here:
            self._plan = [(env.game, now, action) for now, action in self._way(env.game, env.now)]
        if not self._plan:
            raise EnvironmentFailure(f"{env.task}: nothing leads to the goal from here")
        return self._plan.pop()[2]

    def _way(self, game: Game[S], start: S) -> list[tuple[S, str]]:
        """Situations and the actions to take in them, the first last; empty where there is no way."""
        came: dict[S, tuple[S, str] | None] = {start: None}
        waiting = deque((start,))
        while waiting and len(came) < _SITUATIONS:
            now = waiting.popleft()
            actions = list(game.admissible(now))
            self._rng.shuffle(actions)
            for action in actions:
                answer = game.after(now, action)
                if answer is None or answer[0] in came:
                    continue
                came[answer[0]] = now, action
                if game.won(answer[0]):
                    return _back(came, answer[0])
                waiting.append(answer[0])
        return []


def _back(came: dict[S, tuple[S, str] | None], end: S) -> list[tuple[S, str]]:
    way: list[tuple[S, str]] = []
    step = came[end]
    while step is not None:
        way.append(step)
        step = came[step[0]]
    return way


class NoisyPolicy:
    """The expert, erring as agents do: it wanders, repeats itself, and says what does not apply.

    Args:
        rng: Source of randomness. It also draws how often each episode errs, so that a group of rollouts has quick,
            slow and failed members.
    """

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._expert = ShortestPolicy(rng)
        self._random = RandomPolicy(rng)
        self._skill = 0.0
        self._before = ""

    def act(self, env: GameEnv[S]) -> str:
        """The expert's action, or an error. Raises ``EnvironmentFailure`` where nothing applies any more."""
        if env.info.steps == 0:
            self._skill = self._rng.random()
            self._before = ""
        self._before = self._expert_or_error(env)
        return self._before

    def _expert_or_error(self, env: GameEnv[S]) -> str:
        if self._rng.random() < self._skill:
            try:
                return self._expert.act(env)
            except EnvironmentFailure:
                return self._error(env)  # astray for good, it stumbles on
        return self._error(env)

    def _error(self, env: GameEnv[S]) -> str:
        kind = self._rng.choices(("wander", "repeat", "invalid"), (0.6, 0.1, 0.3))[0]
        if kind == "repeat" and self._before:
            return self._before
        if kind == "invalid":
            words = self._rng.choice([*env.game.admissible(env.game.start), "look around"]).split()
            self._rng.shuffle(words)
            return " ".join(words)
        return self._random.act(env)
