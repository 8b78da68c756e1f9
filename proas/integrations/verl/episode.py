"""One episode that a language model plays: prompts, replies, steps and states, without a word of verl.

The environment is called from another thread, so that one that hangs costs an episode and not the worker.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any, TypeVar

from proas.agents.prompts import Layout, Prompter, PromptSettings, Turn
from proas.agents.replies import parse_reply
from proas.envs import Environment
from proas.envs.base import Info
from proas.envs.collect import taken_step
from proas.errors import ProASError, StateError
from proas.integrations.verl.play_settings import PlaySettings
from proas.integrations.verl.worlds import Worlds
from proas.rollouts import Ended, Rollout, State, Step
from proas.states import Follower, follower_for

__all__ = ["Episode", "TaskRef"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class TaskRef:
    """What is to be played.

    Attributes:
        data: Data of the environment; empty for its default.
        task: Key of the task.
        number: Number of the rollout in its group: seed of whatever is random in the environment.
        rollout: Id of the rollout.
        group: Its baseline group.
    """

    data: str
    task: str
    number: int
    rollout: str
    group: str


@dataclass(frozen=True, slots=True)
class _Opening:
    """How an episode began."""

    observation: str = ""
    goal: str = ""
    admissible: tuple[str, ...] = ()
    follower: Follower | None = None
    start: State | None = None
    won: bool = False


@dataclass(frozen=True, slots=True)
class _Played:
    """What became of a reply."""

    step: Step
    turn: Turn
    malformed: bool
    ended: Ended | None
    why: str
    score: float | None


class Episode:
    """Plays one episode, reply by reply.

    Args:
        ref: The task.
        settings: How.
        layout: Layout of the prompts: ``dialogue`` for one growing conversation, ``turns`` for one a step.
        worlds: Where environments come from.
        threads: Where they run.
    """

    def __init__(self, ref: TaskRef, settings: PlaySettings, layout: Layout, worlds: Worlds, threads: Executor) -> None:
        self.ref = ref
        self.settings = settings
        self._worlds = worlds
        self._threads = threads
        self._prompter = Prompter(
            settings.env,
            PromptSettings(
                layout=layout,
                history=None if layout == "dialogue" else settings.history,
                admissible=settings.admissible,
                admissible_limit=settings.admissible_limit,
                thoughts=settings.thoughts,
                observation_limit=settings.observation_limit,
            ),
        )
        self._env: Environment | None = None
        self._opening = _Opening()
        self._turns: list[Turn] = []
        self._steps: list[Step] = []
        self._malformed = 0
        self._ended: Ended | None = None
        self._why = ""
        self._score: float | None = None

    def is_over(self) -> bool:
        """Whether no action is asked for any more."""
        return self._ended is not None

    @property
    def taken(self) -> int:
        """Number of steps taken."""
        return len(self._steps)

    async def begin(self) -> None:
        """Start the episode. A task that cannot be played, or an environment that hangs, ends it with ``error``.

        Raises:
            ProASError: There is no environment to play in.
        """
        # Opening a world may take minutes and is waited for; it is done once a process.
        self._env = await self._in_thread(lambda: self._worlds.take(self.settings, self.ref.data))
        begun = await self._guarded(lambda env: _begin(env, self.ref))
        if begun is not None:
            self._opening = begun
            if begun.won:
                self._ended, self._why = "success", "won before the first action"

    async def act(self, reply: str, tokens: int) -> None:
        """Read a reply and carry out its action; an environment that hangs or fails ends the episode without a step.

        Args:
            reply: What the model said.
            tokens: Number of tokens that were sampled for it.
        """
        follower = self._opening.follower
        played = await self._guarded(lambda env: _act(env, follower, reply, tokens, thoughts=self.settings.thoughts))
        if played is None:
            return
        self._steps.append(played.step)
        self._turns.append(played.turn)
        self._malformed += played.malformed
        self._ended, self._why, self._score = played.ended, played.why, played.score

    def stop(self, why: str) -> None:
        """End the episode before its environment does: it has failed."""
        self._ended, self._why = "stopped", why

    def messages(self, *, history: int | None = None) -> list[dict[str, str]]:
        """The conversation before the next action, as chat templates take it.

        Args:
            history: Show at most so many past steps, where the prompt would be too long otherwise.
        """
        prompter = self._prompter
        if history is not None:
            prompter = Prompter(self.settings.env, _with_history(prompter.settings, history))
        begun = self._opening
        made = prompter.messages(begun.goal, begun.observation, self._turns, admissible=begun.admissible)
        return [{"role": message.role, "content": message.content} for message in made]

    def rollout(self) -> Rollout:
        """The record of the episode, and the environment goes to the next one."""
        if self._env is not None:
            self._worlds.give_back(self._env, self.settings, self.ref.data)
            self._env = None
        more: dict[str, Any] = {"ended_because": self._why, "malformed_replies": self._malformed}
        return Rollout(
            id=self.ref.rollout,
            env=self.settings.env,
            task=self.ref.task,
            goal=self._opening.goal,
            group=self.ref.group,
            observation=self._opening.observation,
            start=self._opening.start,
            steps=tuple(self._steps),
            success=self._ended == "success",
            reward=sum(step.reward for step in self._steps),
            score=self._score,
            ended=self._ended or "stopped",
            **more,
        )

    async def _in_thread(self, call: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, call)

    async def _guarded(self, call: Callable[[Environment], T]) -> T | None:
        """Ask the environment, within its time; whatever goes wrong ends this episode and no other."""
        env = self._env
        assert env is not None
        try:
            # What the thread finds comes back as a value: one that was given up must not change the episode later.
            return await asyncio.wait_for(self._in_thread(lambda: call(env)), self.settings.timeout)
        except TimeoutError:
            self._env = None
            self._worlds.lose()
            self._fail(f"the environment took more than {self.settings.timeout:g} s")
        except ProASError as error:
            self._fail(str(error))
        return None

    def _fail(self, why: str) -> None:
        self._ended, self._why = "error", why


def _with_history(settings: PromptSettings, history: int) -> PromptSettings:
    return PromptSettings(
        layout=settings.layout,
        history=history,
        admissible=settings.admissible,
        admissible_limit=settings.admissible_limit,
        thoughts=settings.thoughts,
        observation_limit=settings.observation_limit,
    )


def _begin(env: Environment, ref: TaskRef) -> _Opening:
    observation, info = env.reset(ref.task, seed=ref.number)
    try:
        follower = follower_for(env)
        start = follower.begin(env, observation)
    except StateError:
        # An environment whose states nobody knows is played all the same; its rollouts pass unchanged.
        return _Opening(observation, env.goal_text, info.admissible, won=info.won)
    return _Opening(observation, env.goal_text, info.admissible, follower, start, info.won)


def _act(env: Environment, follower: Follower | None, text: str, tokens: int, *, thoughts: bool) -> _Played:
    reply = parse_reply(text, admissible=env.info.admissible, thoughts=thoughts, reading="strict")
    step, result = taken_step(env, reply.action, follower, tokens=tokens)
    info = result.info
    turn = Turn(text, reply.action, result.observation, info.admissible, reply.readable)
    ended, why = _end(info) if result.done else (None, "")
    return _Played(step, turn, not reply.format_valid, ended, why, info.score)


def _end(info: Info) -> tuple[Ended, str]:
    """Why an episode that its environment ended is over, and in words where it is no success."""
    if info.won:
        return "success", ""
    return ("step_limit", "step limit") if info.truncated else ("stopped", "the environment ended it")
