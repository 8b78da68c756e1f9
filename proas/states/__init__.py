"""State identity for each environment: text or an engine's facts become canonical states, actions and subgoals."""

from proas.states.attach import attach_all, attach_states, ladder_for, observer_for
from proas.states.observer import Observed, StateMaker, StateObserver

__all__ = [
    "Observed",
    "StateMaker",
    "StateObserver",
    "attach_all",
    "attach_states",
    "ladder_for",
    "observer_for",
]
