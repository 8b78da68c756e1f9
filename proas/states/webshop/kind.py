"""WebShop's states by the name of the environment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from proas.envs.webshop.goal import ENV, Target
from proas.rollouts import State
from proas.states.kinds import StateKind
from proas.states.observer import Observed, StateObserver
from proas.states.webshop.engine import Selling, ShopObserver, Visit
from proas.states.webshop.ladders import target_ladder
from proas.states.webshop.pages import stated_goal
from proas.states.webshop.text import TextObserver, target_of
from proas.subgoals import Ladder, generic_ladder

__all__ = ["WEBSHOP", "ShopFollower"]


class _Shopping(Protocol):
    """What is read of an environment; ``proas.envs.webshop.WebShopEnv`` is one."""

    @property
    def task(self) -> str: ...
    @property
    def shop(self) -> Selling: ...
    @property
    def situation(self) -> Visit: ...


class ShopFollower:
    """Follows episodes by the shop's hidden state."""

    def begin(self, env: _Shopping, observation: str) -> State:
        """State of a visit that has just begun."""
        del observation
        self._observer = ShopObserver(env.task, Target.from_key(env.task))
        return self._observer.begin(env.situation, _listed(env))

    def observe(self, env: _Shopping, action: str, observation: str, *, valid: bool, won: bool) -> Observed:
        """State after an action; see :class:`proas.states.kinds.Follower`."""
        del observation, won  # the situation holds the score
        return self._observer.observe(action, env.situation, _listed(env), valid=valid)


def _listed(env: _Shopping) -> Sequence[str]:
    return env.shop.listed(env.situation) if env.situation.page == "search_results" else ()


def _observer(task: str, goal_text: str) -> StateObserver:
    del goal_text  # the key names the target; the instruction does not
    return TextObserver(task, target_of(task))


def _ladder(task: str, goal_text: str) -> Ladder:
    target = target_of(task)
    return generic_ladder(goal_text) if target is None else target_ladder(target)


def _follower(env: _Shopping) -> ShopFollower:
    del env  # the task is known once an episode begins
    return ShopFollower()


WEBSHOP = StateKind(ENV, _observer, _ladder, stated_goal, _follower)
