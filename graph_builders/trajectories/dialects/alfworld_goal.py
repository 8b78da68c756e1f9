"""Whether the text of an ALFWorld episode shows that its goal was met."""

from __future__ import annotations

import re

from proas.envs.alfworld.goal import AlfWorldGoal
from proas.rollouts import Rollout
from proas.states.alfworld.answers import read_answer
from proas.states.alfworld.ladders import held, lit, put_in, treated
from proas.states.alfworld.memory import kind_of
from proas.subgoals import GOAL_REACHED, Ladder, Subgoal

__all__ = ["missing"]

_TAKE = re.compile(r"take (.+ \d+) from .+ \d+")
_MOVE = re.compile(r"move (.+ \d+) to (.+ \d+)")


def missing(goal: AlfWorldGoal, rollout: Rollout) -> str:
    """What of a goal the text of an episode does not show; empty where it shows all of it.

    Args:
        goal: The goal.
        rollout: The episode, with states.
    """
    last = rollout.steps[-1].state if rollout.steps else None
    told_by_state = set(() if last is None else last.facts) - {GOAL_REACHED}  # which is the claim itself
    facts = told_by_state | _places(goal, rollout)
    for pattern, told in _demands(goal):
        if not _holds(pattern, facts):
            return f"nothing in its text shows {told} at its end"
    if goal.kind == "look" and not _ends_at_lamp(goal, rollout):
        return f"nothing in its text shows that it ends at a {goal.lamp}"
    return ""


def _demands(goal: AlfWorldGoal) -> list[tuple[tuple[str, ...], str]]:
    """What must hold in the end, each demand with those before it, since all are of one object."""
    kind, place = goal.object, goal.receptacle
    so_far: tuple[str, ...] = ()
    demands: list[tuple[tuple[str, ...], str]] = []
    for mark in (*(("sliced",) if goal.sliced else ()), *((goal.treatment,) if goal.treatment else ())):
        so_far = (*so_far, treated(kind, mark))
        demands.append((so_far, f"a {kind} that is {mark}"))
    if goal.kind == "look":
        demands.append(((*so_far, held(kind)), f"that a {kind} is held"))
        return [*demands, ((*so_far, held(kind), lit(goal.lamp)), f"that a {goal.lamp} is on")]
    so_far = (*so_far, put_in(kind, place))
    demands.append((so_far, f"such a {kind} in/on a {place}"))
    if goal.kind == "two":
        both = tuple(pattern.replace("{a:", "{b:") for pattern in so_far)
        demands.append(((*so_far, *both), f"two such {kind}s in/on one {place}"))
    return demands


def _holds(pattern: tuple[str, ...], facts: set[str]) -> bool:
    return Ladder((Subgoal(0, "start"), Subgoal(1, "all of it", condition=(pattern,)))).index(facts) == 1


def _places(goal: AlfWorldGoal, rollout: Rollout) -> set[str]:
    """Where objects were put last, as facts. States leave out what was put back where it came from.

    Of two objects that are asked for, one may have been in its place from the start: there what is seen counts too.
    """
    found: dict[str, str] = {}
    for step in rollout.steps:
        if step.valid is False:
            continue
        if goal.kind == "two" and (answer := read_answer(step.observation)).receptacle:
            found |= dict.fromkeys(answer.contents, answer.receptacle)
        words = step.canonical or ""
        if (moved := _MOVE.fullmatch(words)) is not None:
            found[moved[1]] = moved[2]
        elif (taken := _TAKE.fullmatch(words)) is not None:
            found.pop(taken[1], None)
    return {f"{thing} in {place}" for thing, place in found.items()}


def _ends_at_lamp(goal: AlfWorldGoal, rollout: Rollout) -> bool:
    """Whether it ends where a lamp was seen, or switched on.

    The place is the one it last went to: several receptacles can share a spot, and things are taken from each.
    """
    here, places = "", set[str]()
    for step in rollout.steps:
        if step.valid is False:
            continue
        words, answer = step.canonical or "", read_answer(step.observation)
        here = words.removeprefix("go to ") if words.startswith("go to ") else here
        if answer.receptacle and goal.lamp in map(kind_of, answer.contents):
            places |= {answer.receptacle, here}
        if words.startswith(f"use {goal.lamp} "):
            places.add(here)
    return here in places
