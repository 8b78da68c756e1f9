"""What a page draws: tasks with their states, transitions and rollouts, each with the version that brought it.

Values only, so that placing and pages need no database.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from proas.graph.captions import caption_of
from proas.graph.records import TaskGraph
from proas.rollouts import Rollout, Step

__all__ = [
    "OUTSIDE",
    "DrawnDetour",
    "DrawnRollout",
    "DrawnState",
    "DrawnStep",
    "DrawnTask",
    "DrawnTransition",
    "draw_task",
    "short_name",
    "verdict_of",
    "with_outside",
    "with_rollouts",
]

OUTSIDE = "outside"
"""Source of states that rollouts reach and the graph does not know."""


@dataclass(frozen=True, slots=True)
class DrawnState:
    """A state.

    Attributes:
        key: Its key.
        subgoal: Index of its subgoal.
        caption: Its facts in one line.
        facts: All of them.
        source: Where the knowledge comes from; ``outside`` for what only rollouts reach.
        since: Version that brought it.
    """

    key: str
    subgoal: int
    caption: str
    facts: tuple[str, ...]
    source: str
    since: int


@dataclass(frozen=True, slots=True)
class DrawnTransition:
    """A transition, as in :class:`proas.graph.records.Transition`."""

    key: str
    source_state: str
    action: str
    target_state: str
    source: str
    support: int
    since: int


@dataclass(frozen=True, slots=True)
class DrawnStep:
    """A step of a rollout.

    Attributes:
        action: The agent's words.
        source_state: Key of the state before; empty where it is not known.
        target_state: Key of the state after.
        verdict: ``progress``, ``reasonable``, ``unreasonable``; empty without a label.
        drift: ``D_t``, if labelled.
        valid: Whether the action was applicable, if known.
        seeks: Whether it looked for a needed object.
        base: Advantage before shaping, if known.
        shaped: Advantage after shaping, if known.
    """

    action: str
    source_state: str
    target_state: str
    verdict: str
    drift: int | None
    valid: bool | None
    seeks: bool
    base: float | None
    shaped: float | None


@dataclass(frozen=True, slots=True)
class DrawnRollout:
    """A rollout to lay over the drawing.

    Attributes:
        name: Its id.
        success: Whether it solved the task.
        version: Version that labelled it, if any.
        steps: Its steps.
    """

    name: str
    success: bool
    version: int | None
    steps: tuple[DrawnStep, ...]


@dataclass(frozen=True, slots=True)
class DrawnDetour:
    """A way that rollouts took and the graph does not know.

    Attributes:
        source_state: Key of the state before.
        action: What was done.
        target_state: Key of the state after.
        times: How often it was taken.
        rollouts: By how many rollouts.
    """

    source_state: str
    action: str
    target_state: str
    times: int
    rollouts: int


@dataclass(frozen=True, slots=True)
class DrawnTask:
    """A task's graph, or the part of it that is drawn.

    Attributes:
        key: Key of the task.
        goal: The goal in words.
        env: Name of the environment.
        subgoals: What each subgoal is, in order.
        start: Key of the first state.
        states: In order of subgoal and key.
        transitions: In order of keys.
        rollouts: Laid over it.
        detours: Ways off the graph to draw with it.
        graph: What all of it was read from, to place states that rollouts bring.
    """

    key: str
    goal: str
    env: str
    subgoals: tuple[str, ...]
    start: str
    states: tuple[DrawnState, ...]
    transitions: tuple[DrawnTransition, ...]
    graph: TaskGraph = field(repr=False)
    rollouts: tuple[DrawnRollout, ...] = ()
    detours: tuple[DrawnDetour, ...] = ()


def draw_task(
    graph: TaskGraph,
    ages: Mapping[str, int],
    *,
    transitions: Collection[str] | None = None,
    states: Collection[str] = (),
) -> DrawnTask:
    """What to draw of a task.

    Args:
        graph: Its graph.
        ages: Version of each state that is not as old as the graph.
        transitions: Keys of the transitions to draw, with both their ends; all, and all states, if not given.
        states: Keys of more states to draw.
    """
    chosen = [t for t in graph.transitions if transitions is None or t.key in transitions]
    wanted = (
        set(graph.states) if transitions is None else {end for t in chosen for end in (t.source_state, t.target_state)}
    )
    wanted |= set(states) & set(graph.states)
    drawn = [
        DrawnState(
            key,
            graph.subgoal_of[key],
            caption_of(graph.states[key].facts),
            graph.states[key].facts,
            graph.sources.get(key, ""),
            ages.get(key, 0),
        )
        for key in wanted
    ]
    return DrawnTask(
        key=graph.task.key,
        goal=graph.task.text or graph.task.goal,
        env=graph.task.env,
        subgoals=tuple(subgoal.description for subgoal in graph.ladder.subgoals),
        start=graph.start.key,
        states=tuple(sorted(drawn, key=lambda state: (state.subgoal, state.key))),
        transitions=tuple(
            DrawnTransition(t.key, t.source_state, t.action, t.target_state, t.source, t.support, t.since)
            for t in chosen
        ),
        graph=graph,
    )


def with_rollouts(task: DrawnTask, rollouts: Sequence[Rollout]) -> DrawnTask:
    """The same with rollouts over it; states that only they reach are added as ``outside``."""
    visited = {
        state.key: state.facts
        for rollout in rollouts
        for state in (rollout.start, *(step.state for step in rollout.steps))
        if state is not None
    }
    return replace(with_outside(task, visited), rollouts=(*task.rollouts, *map(_drawn_rollout, rollouts)))


def with_outside(task: DrawnTask, visited: Mapping[str, tuple[str, ...]]) -> DrawnTask:
    """The same with states that rollouts visit, by key with their facts; those that the graph lacks are ``outside``."""
    known = {state.key for state in task.states}
    added = [
        DrawnState(
            key,
            task.graph.ladder.index(facts),
            caption_of(facts),
            facts,
            task.graph.sources.get(key, OUTSIDE) if key in task.graph.states else OUTSIDE,
            0,
        )
        for key, facts in visited.items()
        if key not in known
    ]
    states = sorted((*task.states, *added), key=lambda state: (state.subgoal, state.key))
    return replace(task, states=tuple(states))


def _drawn_rollout(rollout: Rollout) -> DrawnRollout:
    before = rollout.start.key if rollout.start is not None else ""
    steps: list[DrawnStep] = []
    for step in rollout.steps:
        after = step.state.key if step.state is not None else ""
        drift = None if step.label is None else step.label.drift
        shown = DrawnStep(
            step.action,
            before,
            after,
            verdict_of(step),
            drift,
            step.valid,
            step.seeks,
            step.base_advantage,
            step.advantage,
        )
        steps.append(shown)
        before = after
    return DrawnRollout(rollout.id, rollout.success, rollout.version, tuple(steps))


def short_name(rollout: str, task: str) -> str:
    """A rollout's id without its task's key, such as ``iteration 20 #1``: what is left tells it from the others."""
    before, _, after = rollout.partition(task) if task else ("", "", rollout)
    return " ".join(part for part in (before.strip(" /"), after.strip(" /")) if part) or rollout


def verdict_of(step: Step) -> str:
    """What the label says in one word; empty without a label."""
    if step.label is None:
        return ""
    if step.label.progress:
        return "progress"
    return "reasonable" if step.label.reasonable else "unreasonable"
