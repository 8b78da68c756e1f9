"""The saved queries of Neo4j Browser, asked for a page: what they return is drawn, and their tables are tables.

Questions of :mod:`proas.views.choosing` with the same names see a layer's base too and go through versions; a page
asks those. The others are asked here, with the same statements that Browser runs.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace

from neo4j.graph import Node, Relationship

from proas.errors import UsageError
from proas.graph.client import Client
from proas.graph.saved import Answer, Saved, saved_queries
from proas.graph.store import ReferenceGraph
from proas.views.choosing import QUESTIONS, Question, questions
from proas.views.drawing import DrawnDetour, DrawnRollout, DrawnStep, DrawnTask, draw_task, with_outside

__all__ = ["drawn_answer", "query_named"]

_VERDICTS = {"STEP_PROGRESS": "progress", "STEP_AGAIN": "reasonable", "STEP_ASTRAY": "unreasonable"}


def query_named(name: str) -> Question | Saved:
    """What a page asks by that name.

    Raises:
        UsageError: There is no such query; the hint has all of them.
    """
    if name in {question.name for question in QUESTIONS}:
        return questions(name)
    known = saved_queries()
    for saved in known:
        if saved.name == name:
            return saved
    listed = "".join(f"\n      {saved.name:12}{saved.meaning}" for saved in known)
    raise UsageError(f"there is no query {name!r}", hint=f"there are:{listed}")


def drawn_answer(graph: ReferenceGraph, answer: Answer, *, version: int | None = None) -> tuple[DrawnTask, ...]:
    """The picture of an answer, task by task, in the order in which the tasks come in it.

    States and transitions that the graph, or its base, holds as of the version are drawn as such; states and ways that
    rollouts alone took are drawn as what they are.

    Args:
        graph: The graph.
        answer: From :func:`ask`.
        version: As of this version; the newest if not given.

    Raises:
        GraphNotFound: No such version.
    """
    client = Client(graph.connection)
    version = graph.info().version if version is None else version
    states: defaultdict[str, set[str]] = defaultdict(set)
    strays: defaultdict[str, dict[str, tuple[str, ...]]] = defaultdict(dict)
    for node in answer.nodes.values():
        if node.labels & {"State", "Stray"}:
            states[node["task"]].add(node["key"])
            strays[node["task"]][node["key"]] = tuple(node["facts"])
    ways = {kind.get("marks") or kind.get("key") for kind in answer.relationships.values()}
    tasks = []
    for key in states:
        found = graph.read(key, version=version)
        ages = {
            row["key"]: row["since"]
            for row in client.rows("view_state_ages", graph=graph.name, tasks=[key], version=version)
        }
        task = draw_task(
            found, ages, transitions={t.key for t in found.transitions if t.key in ways}, states=states[key]
        )
        task = with_outside(task, {k: facts for k, facts in strays[key].items() if k not in found.states})
        rollouts = tuple(_rollouts(answer, key))
        if rollouts:  # steps are read against all that is known of the task
            task = replace(with_outside(draw_task(found, ages), dict(strays[key])), rollouts=rollouts)
        tasks.append(replace(task, detours=tuple(_detours(answer, key))))
    return tuple(tasks)


def _detours(answer: Answer, task: str) -> Iterator[DrawnDetour]:
    for way in answer.relationships.values():
        if way.type == "DETOUR" and way["task"] == task:
            here, there = _ends(answer, way)
            if here is not None and there is not None:
                yield DrawnDetour(here["key"], way["action"], there["key"], way["times"], way["rollouts"])


def _ends(answer: Answer, way: Relationship) -> Sequence[Node | None]:
    return [answer.nodes.get(end.element_id) if end is not None else None for end in way.nodes]


def _rollouts(answer: Answer, task: str) -> Iterator[DrawnRollout]:
    for node in answer.nodes.values():
        if "Rollout" not in node.labels or node["task"] != task:
            continue
        steps = [
            (way["t"], way, _ends(answer, way)[1])
            for way in answer.relationships.values()
            if way.type.startswith("STEP_") and way.nodes[0] is not None and way.nodes[0].element_id == node.element_id
        ]
        steps.sort(key=lambda step: step[0])
        keys = [place["key"] if place is not None else "" for _, _, place in steps]
        drawn = tuple(
            DrawnStep(
                action=way["action"],
                source_state=keys[i],
                target_state=keys[i + 1],
                verdict=_VERDICTS.get(way.type, ""),
                drift=way.get("drift"),
                valid=way.get("valid"),
                seeks=bool(way.get("seeks")),
                base=way.get("base_advantage"),
                shaped=way.get("advantage"),
            )
            for i, (_, way, _) in enumerate(steps[1:])
        )
        yield DrawnRollout(node["id"], node["success"], node["version"], drawn)
