"""Plays a goal's solutions in the shop: searches that find the target, and its options in every order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from proas.envs.webshop.goal import WebShopGoal
from proas.envs.webshop.shop import Shop, Situation, parse_action
from proas.envs.webshop.solutions import clickable_value, page_of_target
from proas.rollouts import State
from proas.states.webshop import ShopObserver

__all__ = ["Move", "Player", "Unreachable"]


class Move(NamedTuple):
    """One step between two states."""

    before: State
    action: str
    after: State


class Unreachable(Exception):  # an answer, not a fault of the program
    """The goal cannot be reached in the shop.

    Args:
        problem: Kind of obstacle, for counting.
        reason: What is in the way, in words.
    """

    def __init__(self, problem: str, reason: str) -> None:
        super().__init__(reason)
        self.problem = problem
        self.reason = reason


class Player:
    """Carries actions out in a shop and records the states between them.

    Args:
        shop: The shop.
        goal: The goal that purchases are scored against.
    """

    def __init__(self, shop: Shop, goal: WebShopGoal) -> None:
        self.shop = shop
        self.goal = goal
        self._observer = ShopObserver(goal.key, goal.told)
        self.start = self.state(Situation())

    def state(self, situation: Situation) -> State:
        """The state of a situation."""
        return self._observer.state(situation, self._listed(situation))

    def play(self, situation: Situation, words: str) -> tuple[Move, Situation]:
        """One action that must apply.

        Raises:
            Unreachable: It does not.
        """
        after = self.shop.after(situation, parse_action(words), self.goal)
        if after is None:
            raise Unreachable("not_clickable", f"{words} does not apply on the {situation.page} page")
        self._observer.begin(situation, self._listed(situation))
        seen = self._observer.observe(words, after, self._listed(after), valid=True)
        return Move(self.state(situation), seen.canonical, seen.state), after

    def find(self, words: str) -> tuple[list[Move], Situation]:
        """Search and leaf through the results until the target is in view.

        Raises:
            Unreachable: The search does not find it.
        """
        page = page_of_target(self.shop, self.goal, words)
        if not page:
            raise Unreachable("not_found", f"no search brings {self.goal.target.asin} among the results")
        move, now = self.play(Situation(), f"search[{words}]")
        moves = [move]
        for _ in range(1, page):
            move, now = self.play(now, "click[next >]")
            moves.append(move)
        return moves, now

    def buy(self, situation: Situation) -> Iterator[Move]:
        """Every order of choosing the wanted options on the target's page, and the purchase after the last.

        Raises:
            Unreachable: An option cannot be chosen, or the purchase does not meet the goal.
        """
        values = {group.name: self._value(group.name) for group in self.goal.target.wanted}
        layer: dict[frozenset[str], Situation] = {frozenset(): situation}
        while layer:
            following: dict[frozenset[str], Situation] = {}
            for chosen, now in layer.items():
                for name, value in values.items():
                    if name not in chosen:
                        move, after = self.play(now, f"click[{value}]")
                        following.setdefault(chosen | {name}, after)
                        yield move
                if len(chosen) == len(values):
                    yield self._purchase(now)
            layer = following

    def _purchase(self, now: Situation) -> Move:
        move, after = self.play(now, "click[buy now]")
        score = after.score
        assert score is not None  # a purchase is scored
        if not score.full:
            short = [
                name for name in ("type", "attributes", "options", "price") if getattr(score, name) not in (None, 1)
            ]
            raise Unreachable(
                "not_won", f"buying the target scores {score.total:.2f} for want of {' and '.join(short)}"
            )
        return move

    def _value(self, name: str) -> str:
        """The value of a group to be clicked: the wanted one, else the first that counts as it."""
        value = clickable_value(self.shop, self.goal, name)
        if value is None:
            asin, wanted = self.goal.target.asin, self.goal.target.group(name)
            raise Unreachable("no_option", f"{asin} comes in no {name} that counts as {wanted and wanted.wanted!r}")
        return value

    def _listed(self, situation: Situation) -> Sequence[str]:
        return self.shop.listed(situation) if situation.page == "search_results" else ()
