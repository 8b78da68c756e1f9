"""ScienceWorld's states by the name of the environment."""

from __future__ import annotations

from typing import Protocol

from proas.envs.scienceworld.goal import ENV, ScienceWorldGoal, stated_goal
from proas.errors import DataError
from proas.rollouts import State
from proas.states.kinds import StateKind
from proas.states.observer import Observed, StateObserver
from proas.states.scienceworld.engine import Hidden, SimulatorObserver
from proas.states.scienceworld.ladders import task_ladder
from proas.states.scienceworld.text import TextObserver
from proas.subgoals import Ladder, generic_ladder

__all__ = ["SCIENCEWORLD", "SimulatorFollower"]


class _Info(Protocol):
    @property
    def facts(self) -> Hidden: ...


class _Running(Protocol):
    """What is read of an environment; ``proas.envs.scienceworld.ScienceWorldEnv`` is one."""

    @property
    def task(self) -> str: ...
    @property
    def goal_text(self) -> str: ...
    @property
    def info(self) -> _Info: ...


class SimulatorFollower:
    """Follows episodes by the simulator's hidden state."""

    def begin(self, env: _Running, observation: str) -> State:
        """State of an episode that was just reset."""
        self._observer = SimulatorObserver(env.task, env.goal_text)
        return self._observer.begin(observation, env.info.facts)

    def observe(self, env: _Running, action: str, observation: str, *, valid: bool, won: bool) -> Observed:
        """State after an action; see :class:`proas.states.kinds.Follower`."""
        return self._observer.observe(action, observation, env.info.facts, valid=valid, won=won)


def _observer(task: str, goal_text: str) -> StateObserver:
    return TextObserver(task, goal_text)


def _ladder(task: str, goal_text: str) -> Ladder:
    try:
        return task_ladder(ScienceWorldGoal.from_key(task), goal_text)
    except DataError:
        return generic_ladder(goal_text)


def _follower(env: _Running) -> SimulatorFollower:
    del env  # the task is known once an episode begins
    return SimulatorFollower()


SCIENCEWORLD = StateKind(ENV, _observer, _ladder, stated_goal, _follower)
