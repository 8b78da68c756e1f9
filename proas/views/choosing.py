"""Which part of a graph a page shows, by the name of a question."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from proas.errors import UsageError
from proas.graph.client import Client
from proas.graph.reading import scope_at
from proas.graph.records import TaskGraph
from proas.graph.reports import VersionInfo
from proas.graph.store import ReferenceGraph
from proas.views.drawing import DrawnTask, draw_task

__all__ = ["QUESTIONS", "Question", "draw", "history", "questions"]


@dataclass(frozen=True, slots=True)
class Asked:
    """What a question may look at."""

    graph: TaskGraph
    ages: Mapping[str, int]
    after: int
    subgoal: int


Chosen = tuple[set[str], set[str]]
"""Keys of transitions, and of states beside their ends."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question with a name.

    Attributes:
        name: Its name.
        meaning: What it shows, in a few words.
        choose: Picks from a task.
    """

    name: str
    meaning: str
    choose: Callable[[Asked], Chosen]


def _task(asked: Asked) -> Chosen:
    return {t.key for t in asked.graph.transitions}, set(asked.graph.states)


def _subgoal(asked: Asked) -> Chosen:
    if asked.subgoal > asked.graph.ladder.last:
        return set(), set()
    own = {key for key, index in asked.graph.subgoal_of.items() if index == asked.subgoal}
    touching = {t.key for t in asked.graph.transitions if t.source_state in own or t.target_state in own}
    return touching, own


def _added(asked: Asked) -> Chosen:
    new = {t.key for t in asked.graph.transitions if t.since > asked.after}
    return new, {key for key, since in asked.ages.items() if since > asked.after}


def _shortest(asked: Asked) -> Chosen:
    """One shortest way from the start to the goal; ties go to the action that is first in the alphabet."""
    leaving: defaultdict[str, list[tuple[str, str, str]]] = defaultdict(list)
    for t in asked.graph.transitions:
        leaving[t.source_state].append((t.action, t.target_state, t.key))
    came: dict[str, tuple[str, str] | None] = {asked.graph.start.key: None}
    queue = deque([asked.graph.start.key])
    while queue:
        state = queue.popleft()
        if asked.graph.subgoal_of[state] == asked.graph.ladder.last:
            way: set[str] = set()
            while (step := came[state]) is not None:
                way.add(step[1])
                state = step[0]
            return way, {state}
        for _, target, key in sorted(leaving[state]):
            if target not in came:
                came[target] = (state, key)
                queue.append(target)
    return set(), set()


def _support(asked: Asked) -> Chosen:
    return {t.key for t in asked.graph.transitions if t.support > 1}, set()


QUESTIONS: tuple[Question, ...] = (
    Question("task", "all that is known of a task", _task),
    Question("subgoal", "the states of one subgoal, with the ways in and out", _subgoal),
    Question("added", "what came after a version", _added),
    Question("shortest", "a shortest way from the start to the goal", _shortest),
    Question("support", "transitions that more than one demonstration took", _support),
)


def questions(name: str) -> Question:
    """The question of that name.

    Raises:
        UsageError: There is none.
    """
    for question in QUESTIONS:
        if question.name == name:
            return question
    raise UsageError(f"there is no question {name!r}", hint=f"there are {', '.join(q.name for q in QUESTIONS)}")


def draw(
    graph: ReferenceGraph,
    tasks: Iterable[str],
    question: Question,
    *,
    version: int | None = None,
    after: int = 0,
    subgoal: int = 0,
    limit: int = 2000,
) -> tuple[tuple[DrawnTask, ...], int]:
    """Ask a question of tasks until enough states are chosen.

    Args:
        graph: The graph.
        tasks: Keys.
        question: What to pick.
        version: As of this version.
        after: For ``added``.
        subgoal: For ``subgoal``.
        limit: Most states, but for the first task, which is shown whole.

    Returns:
        The tasks of which something was chosen, and how many were left out as there was no more room.

    Raises:
        GraphNotFound: No such task or version.
    """
    client = Client(graph.connection)
    scope = scope_at(client, graph.name, version)
    drawn: list[DrawnTask] = []
    left_out = states = 0
    for key in tasks:
        found = graph.read(key, version=scope.version)
        rows = client.rows("view_state_ages", graph=graph.name, tasks=[key], version=scope.version)
        ages = {row["key"]: row["since"] for row in rows}
        transitions, beside = question.choose(Asked(found, ages, after, subgoal))
        if not transitions and not beside:
            continue
        task = draw_task(found, ages, transitions=transitions, states=beside)
        if drawn and states + len(task.states) > limit:
            left_out += 1
            continue
        states += len(task.states)
        drawn.append(task)
    return tuple(drawn), left_out


def history(graph: ReferenceGraph, version: int | None = None) -> tuple[VersionInfo, ...]:
    """The graph's own versions up to one."""
    client = Client(graph.connection)
    scope = scope_at(client, graph.name, version)
    rows = client.rows("version_history", graph=graph.name, after=-1, upto=scope.version)
    return tuple(
        VersionInfo(row["k"], row["run"], row["added_states"], row["added_transitions"], row["at"]) for row in rows
    )
