"""State identity for each environment: text or an engine's facts become canonical states, actions and subgoals."""

from proas.states.attach import attach_all, attach_states, follower_for, ladder_for, ladder_of_rollout, observer_for
from proas.states.base import States
from proas.states.kinds import Follower, StateKind, register, state_kind, state_names
from proas.states.observer import Observed, StateMaker, StateObserver

__all__ = [
    "Follower",
    "Observed",
    "StateKind",
    "StateMaker",
    "StateObserver",
    "States",
    "attach_all",
    "attach_states",
    "follower_for",
    "ladder_for",
    "ladder_of_rollout",
    "observer_for",
    "register",
    "state_kind",
    "state_names",
]
