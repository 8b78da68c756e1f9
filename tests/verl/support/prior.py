"""What an agent would rather try, before anything is known of a model's likelihoods."""

from __future__ import annotations

import re

_IDLE = ("inventory", "look", "help")
_COMMON = {"your", "task", "a", "an", "the", "put", "some", "in", "on", "with", "and", "under", "look", "at", "examine"}


def prior(action: str, task: str, done: set[str]) -> float:
    """Words of the task attract, what was done before repels.

    Args:
        action: An action that applies.
        task: The task in words.
        done: Actions taken so far.
    """
    if action in _IDLE:
        return 0.01
    weight = 40.0 if _words(action) & (_words(task) - _COMMON) else 1.0
    if action in done or action.startswith(("examine", "close")):
        weight *= 0.02
    return weight


def _words(text: str) -> set[str]:
    return set(re.findall("[a-z]+", text.lower()))
