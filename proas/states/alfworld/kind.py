"""ALFWorld's states by the name of the environment."""

from __future__ import annotations

from typing import Protocol

from proas.envs.alfworld.goal import AlfWorldGoal
from proas.rollouts import State
from proas.states.alfworld.commands import canonical_words, parse_command
from proas.states.alfworld.engine import EngineObserver, Playing
from proas.states.alfworld.knowledge import FACTS, KNOWLEDGE, Noting
from proas.states.alfworld.ladders import goal_ladder
from proas.states.alfworld.lifting import AlfWorldLifting
from proas.states.alfworld.text import ENV, TextObserver, goal_of, stated_goal
from proas.states.kinds import StateKind
from proas.states.observer import Observed, StateObserver
from proas.subgoals import Ladder, generic_ladder

__all__ = ["ALFWORLD", "ALFWORLD_KNOWLEDGE", "EngineFollower"]


class _Playing(Protocol):
    """What is read of an environment; ``proas.envs.alfworld.AlfWorldEnv`` is one."""

    @property
    def task(self) -> str: ...
    @property
    def goal(self) -> AlfWorldGoal: ...
    @property
    def engine(self) -> Playing: ...


class EngineFollower:
    """Follows episodes by the engine's hidden state.

    Args:
        noting: Which kind of states.
    """

    def __init__(self, noting: Noting = FACTS) -> None:
        self._noting = noting

    def begin(self, env: _Playing, observation: str) -> State:
        """State of a game that was just reset."""
        del observation
        self._observer = EngineObserver(env.task, env.goal, self._noting)
        return self._observer.begin(env.engine)

    def observe(self, env: _Playing, action: str, observation: str, *, valid: bool, won: bool) -> Observed:
        """State after a command; see :class:`proas.states.kinds.Follower`."""
        del observation
        return self._observer.observe(action, env.engine, valid=valid, won=won)


def _observer(task: str, goal_text: str) -> StateObserver:
    return TextObserver(task, goal_of(task, goal_text))


def _ladder(task: str, goal_text: str) -> Ladder:
    goal = goal_of(task, goal_text)
    return generic_ladder(goal_text) if goal is None else goal_ladder(goal)


def _knowing_observer(task: str, goal_text: str) -> StateObserver:
    return TextObserver(task, goal_of(task, goal_text), KNOWLEDGE)


def _follower(env: _Playing) -> EngineFollower:
    del env  # the task is known once an episode begins
    return EngineFollower()


def _knowing_follower(env: _Playing) -> EngineFollower:
    del env
    return EngineFollower(KNOWLEDGE)


def _canonical(command: str) -> str:
    parsed = parse_command(command)
    return canonical_words(command) if parsed is None else parsed.canonical


def _lifting(task: str, goal_text: str) -> AlfWorldLifting | None:
    goal = goal_of(task, goal_text)
    return None if goal is None else AlfWorldLifting(goal)


ALFWORLD_KNOWLEDGE = StateKind(KNOWLEDGE.env, _knowing_observer, _ladder, stated_goal, _knowing_follower, _canonical)
"""States that also tell what has been seen. There is no lifting: what was seen where is of one task."""

ALFWORLD = StateKind(ENV, _observer, _ladder, stated_goal, _follower, _canonical, _lifting)
