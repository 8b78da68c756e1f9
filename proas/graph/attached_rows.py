"""Attached rollouts as rows: what is stored of a rollout, of its steps, and of the ways off the graph."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from proas.keys import digest
from proas.rollouts import Rollout, State, Step

__all__ = ["detour_rows", "key_of", "labels_of", "rollout_row", "states_of", "step_rows"]


def states_of(rollout: Rollout) -> list[State]:
    """The T + 1 states visited, start first."""
    return [state for state in (rollout.start, *(step.state for step in rollout.steps)) if state is not None]


def key_of(rollout: Rollout) -> str:
    """What makes it the same rollout: task, id and way."""
    return digest(
        "attached rollout",
        rollout.task,
        rollout.id,
        rollout.start.key if rollout.start else "",
        list(rollout.transition_keys),
    )


def labels_of(rollout: Rollout) -> str:
    """What it says of its steps."""
    said = [
        (step.label.reasonable, step.label.progress, step.label.drift, step.advantage, step.base_advantage)
        for step in rollout.steps
        if step.label is not None
    ]
    return digest("labels of a rollout", rollout.version, said)


def rollout_row(key: str, rollout: Rollout, place: int, run: str) -> dict[str, Any]:
    """Properties of its node; ``place`` is its place in the file, ``run`` where it comes from."""
    steps = len(rollout.steps)
    short = rollout.id.rpartition("#")[2][-40:]
    outcome = f"solved in {steps} steps" if rollout.success else f"failed after {steps} steps"
    row = {
        "key": key,
        "id": rollout.id,
        "task": rollout.task,
        "name": f"{short}, {outcome}",
        "success": rollout.success,
        "ended": rollout.ended,
        "reward": rollout.reward,
        "advantage": rollout.advantage,
        "steps": steps,
        "version": rollout.version if rollout.version is not None else 0,
        "labels": labels_of(rollout),
        "run": run,
        "place": place,
    }
    return {name: value for name, value in row.items() if value is not None}


def _kind(step: Step) -> str:
    if step.label is None or not step.label.reasonable:
        return "astray"
    return "progress" if step.label.progress else "again"


def step_rows(key: str, rollout: Rollout, homes: Mapping[str, str], graph: str) -> Iterator[dict[str, Any]]:
    """Its steps, the start first; ``homes`` says which graph holds a state, those off the graph are in none."""
    keys = rollout.state_keys
    start = {"graph": graph, "t": 0, "action": "starts"}
    yield {"rollout": key, "kind": "start", "home": homes.get(keys[0]), "place": keys[0], "step": start}
    for t, (step, way) in enumerate(zip(rollout.steps, rollout.transition_keys, strict=True)):
        values = {
            "graph": graph,
            "t": t + 1,
            "action": step.canonical or step.action,
            "key": way,
            "re": step.label.reasonable if step.label else None,
            "pa": step.label.progress if step.label else None,
            "drift": step.label.drift if step.label else None,
            "advantage": step.advantage,
            "base_advantage": step.base_advantage,
            "valid": step.valid,
            "seeks": step.seeks or None,
        }
        told = {name: value for name, value in values.items() if value is not None}
        place = keys[t + 1]
        yield {"rollout": key, "kind": _kind(step), "home": homes.get(place), "place": place, "step": told}


def detour_rows(rollouts: Collection[Rollout], homes: Mapping[str, str]) -> list[dict[str, Any]]:
    """Ways that the graph does not know, with how often they were taken; what changed nothing is none."""
    times: Counter[str] = Counter()
    takers: Counter[str] = Counter()
    ways: dict[str, dict[str, Any]] = {}
    for rollout in rollouts:
        keys = rollout.state_keys
        taken: set[str] = set()
        for t, (step, way) in enumerate(zip(rollout.steps, rollout.transition_keys, strict=True)):
            if _kind(step) != "astray" or keys[t] == keys[t + 1]:
                continue
            times[way] += 1
            taken.add(way)
            ways[way] = {
                "key": way,
                "task": rollout.task,
                "action": step.canonical or step.action,
                "from": keys[t],
                "from_home": homes.get(keys[t]),
                "to": keys[t + 1],
                "to_home": homes.get(keys[t + 1]),
            }
        takers.update(taken)
    return [{**row, "times": times[way], "rollouts": takers[way]} for way, row in sorted(ways.items())]
