"""Subgoals of a ScienceWorld task: the simulator's own sequential ones, as far as an agent can know of them.

The simulator keeps a list of sub-goals for each task, to be reached in order. Those that text tells are milestones: a
focus, which loses the episode at once where it is wrong; a stage of growth or a state of matter once it was shown; and
the goal, which the environment alone decides.
"""

from __future__ import annotations

import re

from proas.envs.scienceworld.goal import ScienceWorldGoal
from proas.subgoals import GOAL_REACHED, Condition, Ladder, Subgoal

__all__ = ["task_ladder"]

_NUMBER = re.compile(r"\b(\d+) life stages\b")


def task_ladder(goal: ScienceWorldGoal, text: str) -> Ladder:
    """The subgoals of a task.

    Args:
        goal: The task.
        text: The task in words, which becomes the description of the last one.
    """
    rungs: list[tuple[str, Condition]] = [("start", ()), *_rungs(goal, text)]
    rungs.append((text or "reach the goal", ((GOAL_REACHED,),)))
    return Ladder(tuple(Subgoal(m, told, (), holds) for m, (told, holds) in enumerate(rungs)))


def _focus(nth: int, told: str) -> tuple[str, Condition]:
    return told, ((f"focus {nth}: {{x:*}}",),)


def _rungs(goal: ScienceWorldGoal, text: str) -> list[tuple[str, Condition]]:
    name, family = goal.name, goal.family
    if family == "matter":
        rungs = [_focus(1, "focus on the substance")]
        between = {"boil": "liquid", "melt": "solid", "freeze": "liquid"}.get(name)
        if between:
            rungs.append((f"have it {between}", ((f"seen {between}", "focus 1: {x:*}"),)))
        return rungs
    if family in ("thermometer", "melting"):
        return [_focus(1, "focus on the thermometer"), _focus(2, "focus on what is to be measured")]
    if family == "circuit":
        return [_focus(1, "focus on the part that the task names")]
    if family == "find":
        return [_focus(1, "focus on such a thing")]
    if name == "grow-plant":
        stages = (("seedling", "have a seedling"), ("adult", "have an adult plant"))
        grown: list[tuple[str, Condition]] = [(told, ((f"seen {stage}", "focus 1: {x:*}"),)) for stage, told in stages]
        seed: Condition = (("focus 1: {x:*} seed",),)  # here alone a wrong focus does not lose the episode
        return [("focus on a seed", seed), *grown]
    if family == "stages":
        counted = _NUMBER.search(text)
        return [_focus(nth, f"focus on stage {nth}") for nth in range(1, int(counted[1]) if counted else 4)]
    if name == "lifespan-longest-lived-then-shortest-lived":
        return [_focus(1, "focus on the animal that lives longest")]
    if name == "chemistry-mix-paint-tertiary-color":
        return [_focus(1, "focus on the paint in between")]
    return []
