"""ALFWorld as an environment: episodes with a step limit and rewards, over the engine."""

from __future__ import annotations

from collections.abc import Mapping

from proas.envs.alfworld.data import Trial, Wording
from proas.envs.alfworld.engine import AlfWorldEngine
from proas.envs.alfworld.game import Game
from proas.envs.alfworld.goal import AlfWorldGoal
from proas.envs.alfworld.load import load_game
from proas.envs.base import Info, RewardSettings, StepResult, begun, check_step_limit
from proas.errors import EnvironmentFailure, UsageError

__all__ = ["DEFAULT_STEP_LIMIT", "ENV", "AlfWorldEnv"]

ENV = "alfworld"
"""Name of the environment."""

DEFAULT_STEP_LIMIT = 50
"""Steps an agent has; the usual setting of the benchmark."""

_TASK_INTRO = "Your task is to: "


class AlfWorldEnv:
    """One ALFWorld episode at a time; implements ``proas.envs.base.Environment``.

    Args:
        tasks: Where ``reset`` looks a task key up: trials or games by key. Empty where games are passed to ``reset``.
        step_limit: Steps after which an unsolved episode is cut.
        rewards: What steps pay.
        name: Name of the environment in its rollouts, which says what their states are made of.
        wording: Play every game by the rules of the release with this wording; by its own if not given.

    Raises:
        UsageError: The step limit is not positive.
    """

    def __init__(
        self,
        tasks: Mapping[str, Trial | Game] | None = None,
        *,
        step_limit: int = DEFAULT_STEP_LIMIT,
        rewards: RewardSettings = RewardSettings(),
        name: str = ENV,
        wording: Wording | None = None,
    ) -> None:
        self.name = name
        self._wording = wording
        self.step_limit = check_step_limit(step_limit)
        self.rewards = rewards
        self._tasks = dict(tasks or {})
        self._engine: AlfWorldEngine | None = None
        self._info: Info | None = None
        self._steps = 0
        self._done = False

    @property
    def engine(self) -> AlfWorldEngine:
        """The engine of the current episode. Raises ``EnvironmentFailure`` before the first reset."""
        return begun(self._engine)

    @property
    def game(self) -> Game:
        """The game of the current episode."""
        return self.engine.game

    @property
    def task(self) -> str:
        """Key of the current episode's task."""
        return self.game.key

    @property
    def info(self) -> Info:
        """The info of the last reset or step. Raises ``EnvironmentFailure`` before the first reset."""
        return begun(self._info)

    @property
    def goal(self) -> AlfWorldGoal:
        """What wins the current episode."""
        return self.game.goal

    @property
    def goal_text(self) -> str:
        """The goal in words, without "Your task is to"."""
        return self.game.task.removeprefix(_TASK_INTRO)

    def reset(self, task: str | Game, seed: int | None = None) -> tuple[str, Info]:
        """Start an episode. ALFWorld is deterministic, so ``seed`` changes nothing.

        Args:
            task: Task key, or the game itself.
            seed: Ignored.

        Raises:
            UsageError: No task of that key is known.
            TrialError: The trial of that key cannot be played.
        """
        game = task if isinstance(task, Game) else self._look_up(task)
        self._engine = AlfWorldEngine(game if self._wording is None else game.in_wording(self._wording))
        self._steps = 0
        observation = self._engine.reset()
        self._done = self._engine.won
        self._info = self._look(valid=True)
        return observation, self._info

    def step(self, action: str) -> StepResult:
        """Carry out one action.

        Raises:
            EnvironmentFailure: Before the first reset, or after the end of the episode.
        """
        engine = self.engine
        if self._done:
            raise EnvironmentFailure("the episode is over", hint="call reset to start another")
        valid = engine.valid(action)
        observation, won = engine.step(action)
        self._steps += 1
        reward = self.rewards.paid(valid=valid, won=won)
        info = self._info = self._look(valid=valid)
        self._done = won or info.truncated
        return StepResult(observation, reward, self._done, info)

    def _look_up(self, key: str) -> Game:
        found = self._tasks.get(key)
        if found is None:
            raise UsageError(f"no ALFWorld task {key!r} among the {len(self._tasks)} known", hint="see iter_trials")
        return found if isinstance(found, Game) else load_game(found)

    def _look(self, *, valid: bool) -> Info:
        engine = self.engine
        return Info(
            admissible=tuple(engine.admissible()),
            valid=valid,
            won=engine.won,
            truncated=self._steps >= self.step_limit and not engine.won,
            steps=self._steps,
            facts=engine.facts(),
        )
