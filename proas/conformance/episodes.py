"""Plays episodes for the suite, and keeps everything that can be seen of them."""

from __future__ import annotations

import random
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from proas.conformance.report import Where
from proas.envs.base import Environment, Info, Policy, World
from proas.envs.registry import EnvSpec, open_world
from proas.errors import EnvironmentFailure, ProASError, TaskError
from proas.keys import digest
from proas.rollouts import Ended, Rollout, State, Step
from proas.states.attach import follower_for
from proas.states.kinds import Follower, StateKind, state_kind
from proas.states.observer import StateObserver

__all__ = ["Crash", "Moment", "Playing", "Subject", "Trace", "followed", "told"]


@dataclass(frozen=True, slots=True)
class Moment:
    """A situation of an episode, and the step that led there.

    Attributes:
        action: The action taken; empty at the start.
        observation: The environment's words.
        reward: What the step paid.
        done: Whether the episode was over.
        info: What the environment said besides. Some keep ``facts`` and ``admissible`` only until the next step, so
            that they are kept here.
        facts: The hidden state.
        admissible: What applied.
        state: The state, by the follower where there is one, else by text.
        canonical: Canonical form of the action.
        seeks: Whether the step looked for something.
    """

    action: str
    observation: str
    reward: float
    done: bool
    info: Info
    facts: frozenset[tuple[str, ...]]
    admissible: tuple[str, ...]
    state: State | None = None
    canonical: str = ""
    seeks: bool = False

    @property
    def seen(self) -> tuple[object, ...]:
        """All that the environment gave, to be compared."""
        info = self.info
        return (self.observation, self.reward, self.done, info.valid, info.won, self.admissible, self.facts)


@dataclass(frozen=True)
class Trace:
    """One episode.

    Attributes:
        task: Key of the task.
        seed: Seed of the reset.
        policy: Who played; empty for given actions.
        goal: The goal as the agent reads it.
        moments: The situations, the start first.
        stuck: Whether the policy saw no way on.
    """

    task: str
    seed: int
    policy: str
    goal: str
    moments: tuple[Moment, ...]
    stuck: bool = False

    @cached_property
    def actions(self) -> tuple[str, ...]:
        """What was done."""
        return tuple(moment.action for moment in self.moments[1:])

    @property
    def won(self) -> bool:
        """Whether the task was solved."""
        return self.moments[-1].info.won

    def where(self, steps: int | None = None) -> Where:
        """The place after so many steps; the end if not given."""
        return Where(self.task, self.seed, self.actions[:steps], self.policy)

    def rollout(self, env: str, *, states: bool = True) -> Rollout:
        """The record of it, with the states or without."""
        end = self.moments[-1].info
        ended: Ended = "error" if self.stuck else "success" if end.won else "step_limit" if end.truncated else "stopped"
        steps = tuple(
            Step(
                action=moment.action,
                observation=moment.observation,
                reward=moment.reward,
                valid=moment.info.valid,
                canonical=moment.canonical if states else None,
                state=moment.state if states else None,
                seeks=moment.seeks if states else False,
            )
            for moment in self.moments[1:]
        )
        return Rollout(
            id=f"{self.task[:400]}#{self.policy}{self.seed}",
            env=env,
            task=self.task,
            goal=self.goal,
            observation=self.moments[0].observation,
            start=self.moments[0].state if states else None,
            steps=steps,
            success=end.won,
            reward=sum(step.reward for step in steps),
            ended=ended,
        )


class Crash(Exception):
    """The environment, a policy or an observer broke down while an episode was played.

    Args:
        error: What it raised.
        where: The episode up to there.
    """

    def __init__(self, error: Exception, where: Where) -> None:
        super().__init__(told(error))
        self.where = where


def told(error: Exception) -> str:
    """An error in a line, with the place in the code that raised it unless it is one that ProAS raises on purpose."""
    if isinstance(error, ProASError):
        return f"{type(error).__name__}: {error}"
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error}, raised at {frame.filename}:{frame.lineno} in {frame.name}"


@dataclass
class Playing:
    """An episode under way.

    Attributes:
        env: The environment.
        task: Key of the task.
        seed: Seed of the reset.
        policy: Name of who plays.
        follower: Says in which state it is; ``None`` to leave that out.
    """

    env: Environment
    task: str
    seed: int
    policy: str = ""
    follower: Follower | None = None
    moments: list[Moment] = field(default_factory=list)

    def begin(self) -> Moment:
        """Reset the environment. Raises ``Crash``."""
        with _Guard(self):
            observation, info = self.env.reset(self.task, seed=self.seed)
            facts, listed = info.facts.as_tuples(), tuple(info.admissible)
            state = self.follower.begin(self.env, observation) if self.follower is not None else None
            self.moments = [Moment("", observation, 0.0, info.won, info, facts, listed, state)]
        return self.moments[-1]

    def step(self, action: str) -> Moment:
        """Carry an action out. Raises ``Crash``."""
        with _Guard(self, action):
            result = self.env.step(action)
            info = result.info
            facts, listed = info.facts.as_tuples(), tuple(info.admissible)
            moment = Moment(action, result.observation, result.reward, result.done, info, facts, listed)
            if self.follower is not None:
                seen = self.follower.observe(self.env, action, result.observation, valid=info.valid, won=info.won)
                moment = replace(moment, state=seen.state, canonical=seen.canonical, seeks=seen.seeks)
            self.moments.append(moment)
        return moment

    def trace(self, *, stuck: bool = False) -> Trace:
        """What was played."""
        with _Guard(self):
            goal = self.env.goal_text
        return Trace(self.task, self.seed, self.policy, goal, tuple(self.moments), stuck)


class _Guard:
    """Turns whatever is raised into a ``Crash`` with the place."""

    def __init__(self, playing: Playing, action: str | None = None) -> None:
        self._playing = playing
        self._action = action

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if isinstance(error, Exception) and not isinstance(error, Crash):
            playing = self._playing
            done = tuple(moment.action for moment in playing.moments[1:])
            actions = done if self._action is None else (*done, self._action)
            raise Crash(error, Where(playing.task, playing.seed, actions, playing.policy)) from error


def followed(kind: StateKind | None, env: Environment) -> Follower | None:
    """What says in which state a running environment is; ``None`` where no states are known."""
    return None if kind is None else follower_for(env)


class Subject:
    """The environment under test, and episodes of it.

    Args:
        spec: The environment.
        tasks: Number of tasks to play.
        policies: Names of policies; empty for all that the environment has.
        group_size: Episodes of each task by each policy.
        samples: Episodes of each task that are played again with other actions.
        seed: Source of all randomness.

    Raises:
        UsageError: The environment or a policy is not known.
    """

    def __init__(
        self, spec: EnvSpec, *, tasks: int, policies: Sequence[str], group_size: int, samples: int, seed: int
    ) -> None:
        self.spec = spec
        self.samples = samples
        self.world: World = open_world(spec)
        self.kind = state_kind(spec.name)
        self.policies = tuple(policies or self.world.policies)
        for name in self.policies:
            self.world.policy(name, random.Random(0))  # noqa: S311  # only to check the name
        every = self.world.tasks
        apart = max(1, len(every) // max(1, tasks))
        self.tasks: tuple[str, ...] = tuple(every[::apart][:tasks])
        self.crashes: list[Crash] = []
        self.unplayable: dict[str, str] = {}
        self._group_size = group_size
        self._seed = seed

    def rng(self, *purpose: object) -> random.Random:
        """A source of randomness for one purpose, independent of what else is drawn."""
        return random.Random(digest("conformance", self._seed, *purpose))  # noqa: S311  # a draw, not a secret

    @cached_property
    def traces(self) -> tuple[Trace, ...]:
        """Episodes of each task by each policy; ``crashes`` and ``unplayable`` say what there is none of, and why."""
        return tuple(self._played())

    @cached_property
    def environment_limit(self) -> int:
        """The usual step limit."""
        return self.environment().step_limit

    def of_task(self, task: str) -> tuple[Trace, ...]:
        """Those of one task."""
        return tuple(trace for trace in self.traces if trace.task == task)

    def environment(self) -> Environment:
        """Another environment."""
        return self.world.environment()

    def playing(self, env: Environment, task: str, seed: int, follower: Follower | None = None) -> Playing:
        """An episode to be played, its states followed by a follower of its own if none is given."""
        return Playing(env, task, seed, follower=follower or followed(self.kind, env))

    def again(
        self,
        env: Environment,
        trace: Trace,
        actions: Sequence[str] | None = None,
        *,
        follower: Follower | None = None,
    ) -> Trace:
        """The same episode once more, or another one from the same reset; it ends where the environment ends it.

        Raises:
            Crash: Something broke down.
        """
        playing = self.playing(env, trace.task, trace.seed, follower)
        done = playing.begin().done
        for action in trace.actions if actions is None else actions:
            if done:
                break
            done = playing.step(action).done
        return playing.trace()

    def readers(self) -> Callable[[Trace], StateObserver] | None:
        """Makes the observer that reads a trace's text; ``None`` where no states are known."""
        kind = self.kind
        return None if kind is None else lambda trace: kind.observer(trace.task, trace.goal)

    def _played(self) -> Iterator[Trace]:
        env = self.environment()
        for task in self.tasks:
            for name in self.policies:
                for number in range(self._group_size):
                    policy = self.world.policy(name, self.rng(task, name, number))
                    playing = Playing(env, task, number, name, followed(self.kind, env))
                    try:
                        yield _played(playing, policy)
                    except Crash as crash:
                        if isinstance(crash.__cause__, TaskError) and not playing.moments:
                            self.unplayable[task] = str(crash.__cause__)  # which a world may hold
                        else:
                            self.crashes.append(crash)


def _played(playing: Playing, policy: Policy) -> Trace:
    done = playing.begin().done
    while not done and len(playing.moments) <= playing.env.step_limit:  # one that goes on is told by a check
        with _Guard(playing):
            try:
                action = policy.act(playing.env)
            except EnvironmentFailure:
                return playing.trace(stuck=True)
        done = playing.step(action).done
    return playing.trace()
