"""Prints the tables of ``docs/cases.md`` from real runs, as Markdown.

    python docs/cases.py noise RUN/diagnose/noise.json          how unreasonable steps in the past change success
    python docs/cases.py suppress RUN/diagnose/suppress.json    four positions of one failed rollout, and all together
    python docs/cases.py path --data GAMES                      a new path, purified and merged into the graph
    python docs/cases.py orders [--data SHOP]                   options in both orders

The first two read what ``proas diagnose`` wrote. The last two play the data's own games with seeded policies, and
label and evolve in the Neo4j that the environment names, in a graph that is dropped again.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from itertools import islice, pairwise, permutations
from pathlib import Path
from typing import Any

from proas.envs import EnvSpec, open_world
from proas.envs.collect import CollectSettings, collect
from proas.envs.webshop import Shop, WebShopEnv, WebShopGoal, open_shop
from proas.graph import Connection, ReferenceGraph, migrate
from proas.graph_builders import BuildOptions, Built, builder
from proas.graph_builders.webshop import build_goal
from proas.purify import loop_erased_steps, moving_steps
from proas.rollouts import Label, Rollout, RolloutBatch, Step
from proas.states import attach_all, follower_for
from proas.subgoals import Ladder

GRAPH = "docs-cases"


@contextmanager
def fresh_graph() -> Iterator[ReferenceGraph]:
    """An empty graph, dropped at the end."""
    connection = Connection.resolve()
    migrate(connection)
    graph = ReferenceGraph(connection, GRAPH)
    if graph.exists():
        graph.drop(force=True)
    graph = ReferenceGraph.create(connection, GRAPH)
    try:
        yield graph
    finally:
        graph.drop(force=True)


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table as Markdown."""
    lines = [head, ["---"] * len(head), *([str(cell) for cell in row] for row in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def told(label: Label | None) -> str:
    """A label in words."""
    if label is None:
        return "uncovered"
    if label.progress:
        return "progress"
    return "seen before" if label.reasonable else "not in graph"


@dataclass(frozen=True, slots=True)
class Fate:
    """What purification says of one step, and why."""

    kept: bool
    reason: str


def fates(rollout: Rollout, ladder: Ladder) -> list[Fate]:
    """What becomes of each step of a success when it is merged: loop-erased purification, then the rule of order."""
    valid = [step.valid is not False for step in rollout.steps]
    moving = moving_steps(rollout.state_keys, valid)
    kept = loop_erased_steps(rollout.state_keys, valid)
    levels = [ladder.index(state.facts) for state in (rollout.start, *(step.state for step in rollout.steps)) if state]
    return [
        Fate(
            k and not falls,
            ("falls back" if falls else "kept") if k else "loop" if m else "self-loop" if v else "invalid",
        )
        for v, m, k, falls in zip(valid, moving, kept, (b < a for a, b in pairwise(levels)), strict=True)
    ]


def path_case(data: Path | None, *, tasks: int, seed: int) -> Iterator[str]:
    """The success that brings most to its task's graph, step by step, before and after it is merged."""
    settings = CollectSettings(policy="noisy", group_size=8, seed=seed)
    with closing(open_world(EnvSpec("alfworld", data))) as world, fresh_graph() as graph:
        known = list(world.tasks)
        known = known[:: max(1, len(known) // tasks)][:tasks]  # spread over the kinds of task, which names begin with
        built = builder("alfworld").build(data, BuildOptions())
        graph.add(one.graph for one in built if isinstance(one, Built) and one.graph.task.key in known)
        played = [
            one for one in collect(world, known, settings, follower_for) if isinstance(one, Rollout) and one.success
        ]
        if not played:
            sys.exit("no rollout succeeded: more tasks are needed (--tasks)")
        before = graph.label(RolloutBatch(tuple(played)))
        ladders = {key: graph.read(key).ladder for key in known}
        chosen = max(before.rollouts, key=lambda one: _telling(one, before.rollouts, ladders[one.task]))
        size = graph.read(chosen.task)
        report = graph.evolve(RolloutBatch((chosen,)), purification="loop_erased")
        (after,) = graph.label(RolloutBatch((chosen,))).rollouts
        others = [one for one in played if one.task == chosen.task and one.id != chosen.id]
        grown = graph.read(chosen.task)
        shared = _shared(before.rollouts, graph.label(RolloutBatch(tuple(others))).rollouts if others else ())
    rows = [
        (t, f"`{step.canonical}`", told(step.label), fate.reason, told(now.label))
        for t, (step, fate, now) in enumerate(
            zip(chosen.steps, fates(chosen, size.ladder), after.steps, strict=True), start=1
        )
    ]
    yield f"Task `{chosen.task}`, rollout {chosen.id.rpartition('#')[2]} of seed {seed}:"
    yield table(("step", "action", "version 0", "purification", f"version {report.version}"), rows)
    yield (
        f"States {len(size.states)} → {len(grown.states)}, transitions {len(size.transitions)} → "
        f"{len(grown.transitions)}. {shared}"
    )


def _telling(rollout: Rollout, group: Sequence[Rollout], ladder: Ladder) -> tuple[bool, int, int, str]:
    """Whether a loop is erased, and how many steps of others become reasonable; then the shorter, by id."""
    found = fates(rollout, ladder)
    new = {
        key
        for key, step, fate in zip(rollout.transition_keys, rollout.steps, found, strict=True)
        if fate.kept and step.label is not None and not step.label.reasonable
    }
    others = (one for one in group if one.task == rollout.task and one.id != rollout.id)
    gain = sum(key in new for one in others for key in one.transition_keys)
    loop = any(fate.reason == "loop" for fate in found)
    return gain > 0 and loop, gain, -len(rollout.steps), rollout.id


def _shared(before: Sequence[Rollout], after: Sequence[Rollout]) -> str:
    """What the merged path changed for the other successes of the group."""
    old = {rollout.id: rollout for rollout in before}
    gained = sum(
        now.label is not None and now.label.reasonable and not (then.label and then.label.reasonable)
        for rollout in after
        for then, now in zip(old[rollout.id].steps, rollout.steps, strict=True)
    )
    return f"In the {len(after)} other successes of its group, {gained} steps became reasonable."


def orders_case(data: Path | None) -> Iterator[str]:
    """One goal with two wanted options, bought in both orders: states, subgoals and labels."""
    shop, goals = open_shop(data)
    two = [goal for goal in islice(goals, 2000) if len(goal.target.wanted) == 2]
    goal = min(two, key=lambda one: (len(one.phrase), one.key))
    with fresh_graph() as graph:
        built = build_goal(shop, goal)
        graph.add([built.graph])
        walks = [
            _bought(shop, goal, tuple(group.wanted for group in order), number)
            for number, order in enumerate(permutations(goal.target.wanted))
        ]
        labelled = graph.label(RolloutBatch(tuple(attach_all(RolloutBatch(tuple(walks))).rollouts))).rollouts
    ladder = built.graph.ladder
    yield f"Goal `{goal.key}`:"
    rows = []
    for t, steps in enumerate(zip(*(one.steps for one in labelled), strict=True), start=1):
        cells: list[object] = [t]
        for step in steps:
            assert step.state is not None
            cells += [
                f"`{step.canonical}`",
                ladder.index(step.state.facts),
                f"`{step.state.key[:8]}`",
                told(step.label),
            ]
        rows.append(cells)
    head = (name for which in ("one order", "the other") for name in (which, "m", "state", "label"))
    yield table(("step", *head), rows)


def _bought(shop: Shop, goal: WebShopGoal, values: Sequence[str], number: int) -> Rollout:
    """A rollout that chooses the values in this order, as text alone."""
    env = WebShopEnv(shop)
    observation, _info = env.reset(goal)
    actions = (
        f"search[{goal.title}]",
        f"click[{goal.target.asin}]",
        *(f"click[{value}]" for value in values),
        "click[buy now]",
    )
    steps, won = [], False
    for action in actions:
        result = env.step(action)
        won = result.info.won
        steps.append(Step(action=action, observation=result.observation, reward=result.reward, valid=result.info.valid))
    name = f"{goal.key}#{number}"
    return Rollout(
        id=name, env="webshop", task=goal.key, goal=goal.text, observation=observation, steps=tuple(steps), success=won
    )


def noise_case(document: dict[str, Any]) -> Iterator[str]:
    """Success by number of unreasonable steps, and the slopes."""
    rows = [
        (
            row["steps"],
            _points(row["success"]["unreasonable"]),
            _points(row["change"]["unreasonable"]),
            _points(row["success"]["harmless"]),
            _points(row["beyond_length"]),
        )
        for row in document["rows"]
    ]
    yield f"{len(document['states'])} situations, {document['settings']['continuations']} continuations each:"
    yield table(("steps put in", "success", "change", "harmless steps: success", "beyond length"), rows)
    slopes = document["slopes"]
    yield (
        f"Slope a step: {_points(slopes['unreasonable'])} points of percent; beyond what harmless steps as long do, "
        f"{_points(slopes['beyond_length'])}."
    )


def suppress_case(document: dict[str, Any]) -> Iterator[str]:
    """Positions of the rollout whose gain varies most, then quarters of drift over all rollouts."""
    by_rollout: dict[str, list[dict[str, Any]]] = {}
    for position in document["positions"]:
        by_rollout.setdefault(position["rollout"], []).append(position)
    full = [places for places in by_rollout.values() if len(places) == max(map(len, by_rollout.values()))]
    chosen = max(full, key=lambda places: (_spread(places), places[0]["rollout"]))
    yield f"Rollout `{chosen[0]['rollout']}`:"
    rows = [
        (
            one["step"],
            f"`{one['action']}`",
            one["drift"],
            "yes" if one["reasonable"] else "no",
            _percent(one["baseline"]),
            _percent(one["recovery"]),
        )
        for one in sorted(chosen, key=lambda one: one["step"])
    ]
    yield table(("step", "forbidden action", "D", "Re", "baseline", "recovery"), rows)
    count = len(document["positions"])
    yield f"All {count} positions of {len(by_rollout)} failed rollouts, labelled by {document['labels']}:"
    quarters = [
        (
            f"{one['low']} to {one['high']}",
            one["positions"],
            _points(one["baseline"]),
            _points(one["recovery"]),
            _points(one["gain"]),
        )
        for one in document["quarters"]
    ]
    yield table(("drift", "positions", "baseline", "recovery", "gain"), quarters)
    gain = document["slopes"]["gain"]
    yield (
        f"Ten steps of drift more change the gain by {_points(gain['raw'])} points of percent; among like prefix "
        f"lengths, by {_points(gain['matched'])}."
    )


def _spread(places: Sequence[dict[str, Any]]) -> float:
    gains = [place["recovery"] - place["baseline"] for place in places]
    return float(max(gains) - min(gains))


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _points(estimate: dict[str, Any]) -> str:
    """A value in points of percent, with its interval where it has one."""
    value, low, high = estimate["value"], estimate["low"], estimate["high"]
    if value is None:
        return "–"
    interval = "" if low is None or high is None else f" [{100 * low:.1f}, {100 * high:.1f}]"
    return f"{100 * value:.1f}{interval}"


def main() -> None:
    """Print one case."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    cases = parser.add_subparsers(dest="case", required=True)
    for name in ("noise", "suppress"):
        cases.add_parser(name).add_argument("file", type=Path, metavar="FILE")
    path = cases.add_parser("path")
    path.add_argument("--data", type=Path, metavar="GAMES")
    path.add_argument("--tasks", type=int, default=12, metavar="N", help="spread over the data's")
    path.add_argument("--seed", type=int, default=0, metavar="N")
    cases.add_parser("orders").add_argument("--data", type=Path, metavar="SHOP")
    asked = parser.parse_args()
    if asked.case == "path":
        parts = path_case(asked.data, tasks=asked.tasks, seed=asked.seed)
    elif asked.case == "orders":
        parts = orders_case(asked.data)
    else:
        document = json.loads(asked.file.read_text(encoding="utf-8"))
        parts = (noise_case if asked.case == "noise" else suppress_case)(document)
    sys.stdout.write("\n\n".join(parts) + "\n")


if __name__ == "__main__":
    main()
