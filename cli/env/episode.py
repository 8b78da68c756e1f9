"""One episode under a person's hands: played, followed by states and the graph, taken back, written down."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from proas.cli.env.guide import Guide, Look, Verdict
from proas.envs.collect import recorded_step
from proas.envs.vector.episodes import check_answer
from proas.errors import EnvironmentFailure, ProASError, StateError
from proas.rollouts import Ended, Rollout, State, Step

if TYPE_CHECKING:
    from proas.envs import Environment, Info
    from proas.states import Follower

__all__ = ["Episode", "Moment"]


_PATIENCE = 2.0
"""Seconds in which the numbers of hints are looked for."""


@dataclass(frozen=True, slots=True)
class Moment:
    """What there is to see after a reset or a step.

    Attributes:
        number: Number of the step, 0 for the reset.
        action: The action; empty for the reset.
        observation: The environment's words.
        admissible: What applies now.
        valid: Whether the action applied.
        reward: Reward of the step.
        look: Where the episode stands; ``None`` where states are not known.
        verdict: What the step was worth; ``None`` where no graph says.
    """

    number: int
    action: str
    observation: str
    admissible: tuple[str, ...]
    valid: bool
    reward: float
    look: Look | None
    verdict: Verdict | None


class Episode:
    """An episode of a task.

    Args:
        env: Where it is played.
        task: Key of the task.
        seed: Source of whatever is random in the environment.

    Raises:
        TaskError: The task cannot be played.
        UsageError: There is no such task.
    """

    def __init__(self, env: Environment, task: str, seed: int) -> None:
        self.env = env
        self.task = task
        self.seed = seed
        self.guide: Guide | None = None
        self.stateless = ""
        self.moments: list[Moment] = []
        self._steps: list[Step] = []
        self._states: list[State] = []
        self._follower: Follower | None = None
        self._first = ""
        self._done = False
        self._begin()

    @property
    def goal(self) -> str:
        """The goal as the agent reads it."""
        return self.env.goal_text

    @property
    def now(self) -> Moment:
        """The present moment."""
        return self.moments[-1]

    @property
    def start(self) -> State | None:
        """The state in which the episode began, where states are known."""
        return self._states[0] if self._states else None

    def guided(self, guide: Guide) -> None:
        """From now on, say what the graph says; at the beginning of the episode only."""
        self.guide = guide
        self._states = self._states[:1]
        self.moments = [self._moment("", self._first, self.env.info, 0.0, None)]

    @property
    def done(self) -> bool:
        """Whether the episode is over."""
        return self._done

    def act(self, action: str) -> Moment:
        """Carry out an action. Raises ``ProASError`` where the environment fails."""
        with _environment_at_fault(self.env.name):
            result = self.env.step(action)
            check_answer(result.observation, result.reward, result.done, result.info)
        info = result.info
        self._done = result.done
        state: State | None = None
        verdict: Verdict | None = None
        canonical: str | None = None
        seeks = False
        if self._follower is not None:
            try:
                seen = self._follower.observe(self.env, action, result.observation, valid=info.valid, won=info.won)
            except StateError as error:
                self._lose_states(error)
            else:
                state, canonical, seeks = seen.state, seen.canonical, seen.seeks
                if self.guide is not None:
                    visited = frozenset(known.key for known in self._states)
                    verdict = self.guide.verdict(self._states[-1], canonical, state, visited)
                self._states.append(state)
        self._steps.append(
            recorded_step(
                action,
                result.observation,
                result.reward,
                valid=info.valid,
                state=state,
                canonical=canonical,
                seeks=seeks,
            )
        )
        moment = self._moment(action, result.observation, info, result.reward, verdict)
        self.moments.append(moment)
        return moment

    def undo(self) -> bool:
        """Take the last step back, by playing all before it again. Says whether there was one."""
        if not self._steps:
            return False
        self._again([step.action for step in self._steps[:-1]])
        return True

    def numbers_of(self, wanted: Collection[str]) -> dict[str, int]:
        """Numbers of the admissible actions that come to these canonical ones from here.

        Canonical actions need not be in the environment's words (a search is told by its result), so each is tried in
        its turn, and the episode is played again up to where it was. What is not found in two seconds stays out.
        """
        found = {action: n for n, action in enumerate(self.now.admissible, start=1) if action in wanted}
        actions = [step.action for step in self._steps]
        deadline = time.monotonic() + _PATIENCE
        tried = False
        for number, action in enumerate(self.now.admissible, start=1):
            if len(found) == len(set(wanted)) or time.monotonic() > deadline:
                break
            tried = True
            self._again([*actions, action])
            canonical = self._steps[-1].canonical
            if canonical is not None and canonical in wanted:
                found.setdefault(canonical, number)
        if tried:
            self._again(actions)
        return found

    def rollout(self) -> Rollout:
        """What was played until now."""
        info = self.env.info
        ended: Ended = "stopped"
        if self._done:
            ended = "success" if info.won else "step_limit" if info.truncated else "stopped"
        return Rollout(
            id=f"{self.task}#{self.seed}",
            env=self.env.name,
            task=self.task,
            goal=self.goal,
            observation=self._first,
            start=self._states[0] if self._states and self._follower is not None else None,
            steps=tuple(self._steps),
            success=info.won,
            reward=sum(step.reward for step in self._steps),
            ended=ended,
        )

    def _again(self, actions: Sequence[str]) -> None:
        """Play these actions from the start."""
        self._begin()
        for action in actions:
            self.act(action)

    def _begin(self) -> None:
        from proas.states import follower_for

        self._steps = []
        self._states = []
        self._follower = None
        with _environment_at_fault(self.env.name):
            self._first, info = self.env.reset(self.task, seed=self.seed)
            check_answer(self._first, 0.0, info.won, info)
        self._done = info.won
        try:
            self._follower = follower_for(self.env)
            self._states.append(self._follower.begin(self.env, self._first))
        except StateError as error:
            self._lose_states(error)
        self.moments = [self._moment("", self._first, info, 0.0, None)]

    def _lose_states(self, error: StateError) -> None:
        self._follower = None
        self.stateless = str(error)

    def _moment(self, action: str, observation: str, info: Info, reward: float, verdict: Verdict | None) -> Moment:
        look = self.guide.look(self._states[-1]) if self.guide is not None and self._follower is not None else None
        number = len(self._steps)
        return Moment(number, action, observation, info.admissible, info.valid, reward, look, verdict)


@contextmanager
def _environment_at_fault(name: str) -> Iterator[None]:
    """Whatever an environment raises of its own is told as its fault.

    Raises:
        EnvironmentFailure: In place of any error that is not ours.
    """
    try:
        yield
    except ProASError:
        raise
    except Exception as error:
        raise EnvironmentFailure(
            f"{name}: {type(error).__name__}: {error}", hint="a fault of the environment, not of what was typed"
        ) from error
