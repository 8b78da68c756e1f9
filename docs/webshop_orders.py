"""Draws ``docs/images/webshop_orders.svg``: one goal's reference graph, and two rollouts that choose in other orders.

    python docs/webshop_orders.py

The graph is the one that the builder makes of a sample goal; the rollouts are played in the shop, their states told
from the text. Needs matplotlib (extra ``viz``).
"""

from __future__ import annotations

from itertools import pairwise, permutations
from pathlib import Path

import matplotlib as mpl
from matplotlib import pyplot as plt
from matplotlib.patches import FancyArrowPatch

from proas.envs.webshop import Shop, WebShopEnv, WebShopGoal, open_shop
from proas.graph.records import TaskGraph
from proas.graph_builders.webshop import build_goal
from proas.rollouts import State
from proas.states.webshop import TextObserver, target_of

OUT = Path(__file__).parent / "images" / "webshop_orders.svg"
WIDE = 2.4
STYLES = (("#0b6e99", 0.05), ("#c2571a", -0.05))
SHORT = {
    "at the search bar": "search bar",
    "at results": "",
    "target in view": "target in view",
    "at a product": "",
    "target open": "target open",
    "target bought": "",
    "goal reached": "",
}


def told(state: State) -> str:
    """A state in a few words."""
    words = [SHORT.get(fact, fact.removeprefix("chosen ")) for fact in state.facts]
    if any(word.startswith(("color", "size")) for word in words):
        words = [word for word in words if word != "target open"]
    return "\n".join(sorted(filter(None, words), key=lambda word: ("target" not in word and word != "bought", word)))


def places(graph: TaskGraph) -> dict[str, tuple[float, float]]:
    """Where each state stands: by subgoal from left to right, states of one subgoal above each other."""
    columns: dict[int, list[str]] = {}
    for key in sorted(graph.states, key=lambda key: graph.states[key].facts):
        columns.setdefault(graph.subgoal_of[key], []).append(key)
    return {
        key: (WIDE * m, 1.6 * (place - (len(keys) - 1) / 2))
        for m, keys in columns.items()
        for place, key in enumerate(keys)
    }


def rollout(shop: Shop, goal: WebShopGoal, values: tuple[str, ...]) -> list[State]:
    """States of a rollout that chooses the values in this order, from its text."""
    env = WebShopEnv(shop)
    observer = TextObserver(goal.key, target_of(goal.key))
    states = [observer.begin(env.reset(goal)[0])]
    chosen = [f"click[{value}]" for value in values]
    actions = (f"search[{goal.title}]", f"click[{goal.target.asin}]", *chosen, "click[buy now]")
    states += [observer.observe(action, env.step(action).observation).state for action in actions]
    return states


def main() -> None:
    """Draw it."""
    mpl.rcParams["svg.hashsalt"] = "webshop"  # the same file at every run
    mpl.rcParams["svg.fonttype"] = "none"
    shop, goals = open_shop()
    two = [goal for goal in goals if {group.name for group in goal.target.wanted} == {"color", "size"}]
    goal = min(two, key=lambda goal: (len(goal.phrase), goal.key))
    graph = build_goal(shop, goal).graph
    at = places(graph)
    figure, axes = plt.subplots(figsize=(10, 3.9))
    for key, (x, y) in at.items():
        box = {"boxstyle": "round,pad=0.4", "facecolor": "#f5f1e6", "edgecolor": "#555555"}
        axes.text(x, y, told(graph.states[key]), ha="center", va="center", fontsize=9, bbox=box, zorder=3)
    for subgoal in graph.ladder.subgoals:
        axes.text(WIDE * subgoal.index, 1.75, f"$g_{subgoal.index}$", ha="center", fontsize=12)
    walked: set[tuple[str, str]] = set()
    wanted = {group.name: group.wanted for group in goal.target.wanted}
    for (names, (colour, offset)), low in zip(
        zip(permutations(sorted(wanted)), STYLES, strict=True), (-1.55, -1.9), strict=True
    ):
        states = rollout(shop, goal, tuple(wanted[name] for name in names))
        for before, after in pairwise(states):
            (x0, y0), (x1, y1) = at[before.key], at[after.key]
            ends = (x0, y0 + offset), (x1, y1 + offset)
            walked.add((before.key, after.key))
            axes.add_patch(
                FancyArrowPatch(*ends, arrowstyle="-|>", mutation_scale=12, color=colour, shrinkA=34, shrinkB=40)
            )
        name = {"color": "colour"}.get(names[0], names[0])
        axes.text(
            2.5 * WIDE, low, f"{name} first: every step is progress (PA = 1)", ha="center", fontsize=10, color=colour
        )
    assert walked == {(edge.source_state, edge.target_state) for edge in graph.transitions}  # nothing is left out
    axes.set(xlim=(-1.1, 5 * WIDE + 1.1), ylim=(-2.1, 2.15))
    axes.axis("off")
    figure.savefig(OUT, bbox_inches="tight", metadata={"Date": None})


if __name__ == "__main__":
    main()
