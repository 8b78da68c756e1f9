"""Reference graphs and rollouts of any size, well-formed and the same at every run.

The tasks are corridors: place 0 to place 59, with a step to the next place and a stride over one, and a milestone
every ten places. Rollouts walk them with mistakes. Sizes and overlaps are those of ALFWorld: about sixty states and
a hundred and twenty transitions a task.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

from proas.graph.records import Task, TaskGraph, Transition
from proas.rollouts import Rollout, RolloutBatch, State, Step
from proas.subgoals import GOAL_REACHED, Ladder, Subgoal

ENV = "corridor"
PLACES = 60
EDGES = 2 * PLACES - 3
"""Transitions of one task."""


def ladder() -> Ladder:
    """A milestone every ten places, and the goal."""
    conditions = [(f"milestone {m} passed",) for m in range(1, PLACES // 10)]
    rungs = [Subgoal(0, "start"), *(Subgoal(m + 1, c[0], condition=(c,)) for m, c in enumerate(conditions))]
    return Ladder((*rungs, Subgoal(len(rungs), "reach the end", condition=((GOAL_REACHED,),))))


def state(task: str, place: int) -> State:
    """The state at a place of a corridor."""
    facts = [f"at place {place}", *(f"milestone {m} passed" for m in range(1, place // 10 + 1))]
    return State.of(ENV, task, [*facts, GOAL_REACHED] if place == PLACES - 1 else facts)


def task_graph(number: int) -> TaskGraph:
    """The whole corridor of one task."""
    name = f"corridor-{number:06d}"
    states = [state(name, place) for place in range(PLACES)]
    transitions = tuple(
        Transition(states[i].key, f"go to place {j}", states[j].key, "plan")
        for i in range(PLACES - 1)
        for j in (i + 1, i + 2)
        if j < PLACES
    )
    task = Task(name, ENV, "reach the end", f"Walk to place {PLACES - 1}.")
    return TaskGraph(task, ladder(), states[0], {s.key: s for s in states}, transitions)


def task_graphs(transitions: int) -> Iterator[TaskGraph]:
    """As many corridors as hold about this many transitions."""
    return (task_graph(number) for number in range(transitions // EDGES))


def rollouts(
    tasks: int, *, group_size: int, steps: int, seed: int, of: int, win: bool = False, prefix: str = ""
) -> RolloutBatch:
    """Groups of walks with mistakes.

    Args:
        tasks: Number of groups.
        group_size: Rollouts a group.
        steps: Steps a rollout.
        seed: Seed of the walks.
        of: Number of corridors to choose from.
        win: End every walk at the goal, by going on with strides.
        prefix: Begin the rollout ids with this.
    """
    rng = random.Random(seed)
    made = []
    for number in rng.sample(range(of), tasks):
        name = f"corridor-{number:06d}"
        places = [state(name, place) for place in range(PLACES)]
        made += [_walk(f"{prefix}{number}-{member}", name, places, steps, rng, win=win) for member in range(group_size)]
    return RolloutBatch(tuple(made))


def _walk(name: str, task: str, places: list[State], steps: int, rng: random.Random, *, win: bool) -> Rollout:
    place, made = 0, []
    while len(made) < steps and not (win and place == PLACES - 1):
        must = win and (PLACES - 1 - place) / 2 >= steps - len(made) - 1
        action, target = _choice(place, rng, must=must)
        made.append(
            Step(
                action=action,
                observation=f"You are at place {target}.",
                canonical=action,
                state=places[target],
                valid=True,
            )
        )
        place = target
    return Rollout(
        id=name,
        env=ENV,
        task=task,
        goal="reach the end",
        start=places[0],
        steps=tuple(made),
        success=win,
        ended="success" if win else "step_limit",
    )


def _choice(place: int, rng: random.Random, *, must: bool) -> tuple[str, int]:
    if must or rng.random() < 0.5:
        target = min(PLACES - 1, place + (2 if must else rng.choice((1, 2))))
        return f"go to place {target}", target
    if rng.random() < 0.5:
        return "look", place
    target = rng.randrange(PLACES - 1)
    return f"wander to place {target}", target
