"""Records that are one step of an episode, or the first part of one, with the reward of the whole.

Source: the prompts of verl-agent (``agent_system/environments/prompts`` of langfengQ/verl-agent), which asks the model
anew at each step: "Prior to this step, you have already taken {k} step(s). Below are the most recent {n} observations
and the corresponding actions you took", and at the first one "Your current observation is: ..." with "Your admissible
actions of the current situation are: ...". Its dumps have a record for each step.
"""

from __future__ import annotations

import re

from proas.graph_builders.trajectories.episodes import Episode

__all__ = ["partial"]

_TAKEN = re.compile(r"already taken (?:\*\*)?0*([1-9]\d*)(?:\*\*)? (?:step|action|turn)", re.IGNORECASE)
_NOW_AT = re.compile(r"you are now at step (?:\*\*)?0*(\d+)\b", re.IGNORECASE)
_STEPWISE = re.compile(
    r"your (?:current observation is|admissible actions of the current situation are)", re.IGNORECASE
)
_WHAT_TO_DO = "log whole episodes, one record each (docs/trajectories.md, One step a record)"


def partial(episode: Episode) -> str:
    """Why a record is not a whole episode, and what to do; empty where nothing says so.

    Args:
        episode: The episode as it was read.
    """
    if episode.rollout is not None:
        return ""
    taken = _TAKEN.search(episode.context)
    if taken is not None:
        return f"its prompt says that it comes after step {taken[1]}: {_WHAT_TO_DO}"
    at = _NOW_AT.search(episode.context)
    if at is not None and int(at[1]) > 1:
        return f"its prompt begins at step {at[1]}: {_WHAT_TO_DO}"
    turns = len(episode.turns)
    if turns == 1 and not episode.turns[0].observation and _STEPWISE.search(episode.context):
        return f"its prompt asks for one step, and it holds no other: {_WHAT_TO_DO}"
    if turns + _COUNTED_APART < episode.length:
        return f"it holds {turns} of {episode.length} steps: {_WHAT_TO_DO}"
    return ""


_COUNTED_APART = 1
"""Logs may count the reset, or the agent's last words, as a step."""
