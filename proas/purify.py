"""Purification: which steps of a rollout are worth keeping as reference.

Two rules, both over the states visited:

- ``paper`` drops invalid steps and self-loops (Ding et al., 2026, graph evolution).
- ``loop_erased`` also cuts every return to an earlier state, so that a simple path is left (Lawler's loop erasure,
  in order of time: whenever the walk comes back to a state on its current path, all since that state is dropped).

The kept steps of ``loop_erased`` are a subset of those of ``paper`` and still lead from the first state to the last.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

__all__ = ["Purification", "kept_steps", "loop_erased_steps", "moving_steps"]

Purification = Literal["paper", "loop_erased"]
"""Name of a purification rule."""


def moving_steps(states: Sequence[str], valid: Sequence[bool]) -> list[bool]:
    """Steps that are valid and change the state.

    Args:
        states: Keys of the T + 1 states, start first.
        valid: T flags, whether each action was applicable.

    Returns:
        T flags.

    Raises:
        ValueError: The lengths do not fit.
    """
    if len(states) != len(valid) + 1:
        msg = f"{len(valid)} steps need {len(valid) + 1} states, not {len(states)}"
        raise ValueError(msg)
    return [ok and states[t] != states[t + 1] for t, ok in enumerate(valid)]


def loop_erased_steps(states: Sequence[str], valid: Sequence[bool]) -> list[bool]:
    """Steps on the loop-erased path from the first state to the last.

    Args:
        states: Keys of the T + 1 states, start first.
        valid: T flags, whether each action was applicable.

    Returns:
        T flags.

    Raises:
        ValueError: The lengths do not fit.
    """
    moving = moving_steps(states, valid)
    path: list[int] = []  # indices of the steps on the current simple path
    depth = {states[0]: 0}  # number of path steps before each state on the path
    for t, moves in enumerate(moving):
        if not moves:
            continue
        target = states[t + 1]
        if target in depth:
            for dropped in path[depth[target] :]:
                del depth[states[dropped + 1]]
            del path[depth[target] :]
        else:
            path.append(t)
            depth[target] = len(path)
    kept = set(path)
    return [t in kept for t in range(len(moving))]


def kept_steps(rule: Purification, states: Sequence[str], valid: Sequence[bool]) -> list[bool]:
    """Steps that a purification rule keeps; see :func:`moving_steps` and :func:`loop_erased_steps`."""
    return moving_steps(states, valid) if rule == "paper" else loop_erased_steps(states, valid)
