"""From goals to reference graphs.

A goal's metadata names the target product and the options wanted of it. The solution is played in the shop: a search
that brings the target into view, its page, the options in every order, the purchase. Only what ends in a purchase
with the full score enters the graph.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from proas.envs.webshop.env import open_shop
from proas.envs.webshop.goal import ENV, WebShopGoal
from proas.envs.webshop.goals import GoalSource, build_goals
from proas.envs.webshop.shop import Shop, Situation
from proas.envs.webshop.solutions import searches
from proas.graph.records import Task, TaskGraph, Transition
from proas.graph_builders.base import BuildOptions, Built, Expand, Rejected
from proas.graph_builders.webshop.lattice import Move, Player, Unreachable
from proas.states.webshop import target_ladder

__all__ = ["ALL_GOALS", "WebShopBuilder", "build_goal"]

ALL_GOALS: tuple[GoalSource, ...] = ("human", "synthetic")


class WebShopBuilder:
    """Builds from a folder of WebShop's data files; without one, from the product set that ships with the package.

    The work is done in the calling process: a goal takes about a millisecond.

    Args:
        goals: Whose goals, in this order.
        seed: Source of the prices that the original leaves to chance.
    """

    def __init__(self, goals: tuple[GoalSource, ...] = ALL_GOALS, *, seed: int = 0) -> None:
        self._sources = goals
        self._seed = seed
        self._opened: tuple[Path | None, Shop, tuple[WebShopGoal, ...]] | None = None

    def count(self, data: Path | None, options: BuildOptions) -> int:
        """Number of goals that will be answered for. Raises ``DataError`` where the data cannot be read."""
        return len(self._open(data)[1][: options.limit])

    def build(self, data: Path | None, options: BuildOptions) -> Iterator[Built | Rejected]:
        """Build goal by goal in the original's order; see :class:`proas.graph_builders.base.Builder`."""
        shop, goals = self._open(data)
        for goal in islice(goals, options.limit):
            try:
                yield build_goal(shop, goal, expand=options.expand)
            except Unreachable as obstacle:
                yield Rejected(goal.key, obstacle.problem, obstacle.reason, shop.catalogue.source)
            except Exception as error:  # noqa: BLE001  # one odd goal must not cost the others; the report names it
                yield Rejected(goal.key, "fault", f"{type(error).__name__}: {error}", shop.catalogue.source)

    def _open(self, data: Path | None) -> tuple[Shop, tuple[WebShopGoal, ...]]:
        """The shop and its goals, each task once: some values occur twice on a page and make the same goal."""
        if self._opened is None or self._opened[0] != data:
            shop, first = open_shop(data, self._sources[0], seed=self._seed)
            others = (build_goals(shop.catalogue, shop.prices, source, seed=self._seed) for source in self._sources[1:])
            unique = {goal.key: goal for goals in (first, *others) for goal in goals}
            self._opened = data, shop, tuple(unique.values())
        return self._opened[1:]


def build_goal(shop: Shop, goal: WebShopGoal, *, expand: Expand = "plan") -> Built:
    """The reference graph of one goal.

    Args:
        shop: Where it is played.
        goal: The goal.
        expand: ``plan`` takes the search that needs the least leafing; ``optimal`` adds the other searches.

    Raises:
        Unreachable: No search finds the target, or buying it with its options does not meet the goal.
    """
    player = Player(shop, goal)
    found = _found(player)
    path, results = found[0]
    opened, page = player.play(results, f"click[{goal.target.asin.lower()}]")
    moves = [*path, opened, *player.buy(page)]
    others = [move for path, _results in found[1:] for move in path] if expand == "optimal" else []
    graph = _graph(Task(goal.key, ENV, goal.phrase, goal.text), player, moves, others)
    return Built(graph, "plan", {"options": len(goal.target.wanted), "leafed": int(len(path) > 1)})


def _found(player: Player) -> list[tuple[list[Move], Situation]]:
    """The searches that bring the target into view, the one with the least leafing first.

    Raises:
        Unreachable: None does.
    """
    paths = []
    for words in searches(player.goal):
        try:
            paths.append(player.find(words))
        except Unreachable as obstacle:
            missing = obstacle
    if not paths:
        raise missing
    return sorted(paths, key=lambda path: len(path[0]))


def _graph(task: Task, player: Player, moves: Sequence[Move], others: Sequence[Move]) -> TaskGraph:
    """The graph of what was played. Neither self-loops nor falls to an earlier subgoal enter it."""
    ladder = target_ladder(player.goal.told)
    states = {player.start.key: player.start}
    transitions: dict[str, Transition] = {}
    for played, source in ((moves, "plan"), (others, "expand")):
        for move in played:
            before, after = move.before, move.after
            if before.key == after.key or ladder.index(before.facts) > ladder.index(after.facts):
                continue
            states |= {before.key: before, after.key: after}
            transition = Transition(before.key, move.action, after.key, source)
            transitions.setdefault(transition.key, transition)
    return TaskGraph(task, ladder, player.start, states, tuple(transitions.values()))
