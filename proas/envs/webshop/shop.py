"""How the shop answers to actions: where each click leads.

A situation is a value; an action makes a new one. So a search for plans can keep as many as it likes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from proas.envs.webshop.goal import WebShopGoal
from proas.envs.webshop.pages import BACK, BUY, NEXT, PREVIOUS, SUB_PAGES
from proas.envs.webshop.products import Catalogue, Product
from proas.envs.webshop.reward import Score, score_purchase
from proas.envs.webshop.search import Ranking

__all__ = ["PER_PAGE", "Action", "PageKind", "SearchFrom", "Shop", "Situation", "parse_action"]

PER_PAGE = 10
"""Products on a page of results."""

PageKind = Literal["index", "search_results", "item_page", "item_sub_page", "done"]
SearchFrom = Literal["every_page", "index"]

_ACTION = re.compile(r"(.+)\[(.+)\]")
_LINKS = {name.lower(): name for name in SUB_PAGES}


class Action(NamedTuple):
    """An action in its two parts: ``click`` and ``buy now``."""

    verb: str
    argument: str


def parse_action(words: str) -> Action | None:
    """What an agent's words ask for, argument in small letters; ``None`` where they are of no known form."""
    found = _ACTION.match(words)
    if found is None or found.group(1) not in ("search", "click"):
        return None
    return Action(found.group(1), found.group(2).lower())


@dataclass(frozen=True, slots=True)
class Situation:
    """Where a visitor of the shop stands.

    Attributes:
        page: Kind of page.
        words: The last search.
        number: Page of its results, from 1.
        asin: The product that is open; empty where none is.
        options: Chosen options by group, in the order of the first choice.
        sub_page: Which page about the product is open.
        seen: Products opened since the visitor was last at the search bar.
        score: What the purchase was worth, once there was one.
    """

    page: PageKind = "index"
    words: str = ""
    number: int = 1
    asin: str = ""
    options: tuple[tuple[str, str], ...] = ()
    sub_page: str = ""
    seen: frozenset[str] = frozenset()
    score: Score | None = None

    def choose(self, group: str, value: str) -> Situation:
        """The same with an option chosen, in place of what was chosen in that group before."""
        chosen = dict(self.options)
        chosen[group] = value
        return replace(self, page="item_page", sub_page="", options=tuple(chosen.items()))


class Shop:
    """Products, prices, and a search over them.

    Args:
        catalogue: The products.
        prices: What each costs, in dollars.
        ranking: The search.
        search_from: The original carries a search out on every page, though only the first shows a search bar; other
            front ends allow it there alone.
        attributes: Whether a product's page links to its attributes.
    """

    def __init__(
        self,
        catalogue: Catalogue,
        prices: Mapping[str, float],
        ranking: Ranking,
        *,
        search_from: SearchFrom = "every_page",
        attributes: bool = False,
    ) -> None:
        self.catalogue = catalogue
        self.prices = prices
        self.ranking = ranking
        self.search_from = search_from
        self.attributes = attributes

    def product(self, asin: str) -> Product:
        """A product by its number."""
        return self.catalogue.products[asin]

    def found(self, situation: Situation) -> Sequence[str]:
        """Everything that the last search found."""
        return [asin for asin in self.ranking.search(situation.words) if asin in self.catalogue.products]

    def listed(self, situation: Situation) -> Sequence[str]:
        """The products on the page of results."""
        first = (situation.number - 1) * PER_PAGE
        return self.found(situation)[first : first + PER_PAGE]

    def clickables(self, situation: Situation) -> Mapping[str, str]:
        """What can be clicked, in the original's order, each with the option group it belongs to, if any."""
        names: list[str] = []
        groups: dict[str, str] = {}
        if situation.page == "search_results":
            pages = [PREVIOUS, NEXT] if situation.number > 1 else [NEXT]
            names = [BACK, *pages, *self.listed(situation)]
        elif situation.page == "item_page":
            names = [BACK, PREVIOUS, *(SUB_PAGES if self.attributes else SUB_PAGES[:3]), BUY]
            options = self.product(situation.asin).options
            # Of one value in two groups, the later group is chosen in.
            groups = {value: group for group, values in options.items() for value in values}
        elif situation.page == "item_sub_page":
            names = [BACK, PREVIOUS]
        return {name.lower(): "" for name in names} | groups

    def after(self, situation: Situation, action: Action | None, goal: WebShopGoal) -> Situation | None:
        """Where an action leads.

        Args:
            situation: Where the visitor stands.
            action: What is done.
            goal: What a purchase is scored against.

        Returns:
            The next situation; ``None`` where the action does not apply and changes nothing.
        """
        if action is None or situation.page == "done":
            return None
        if action.verb == "search":
            if self.search_from == "index" and situation.page != "index":
                return None
            return self._results(situation, action.argument, 1)
        groups = self.clickables(situation)
        if action.argument not in groups or action.argument == "search":
            return None
        return self._clicked(situation, action.argument, groups[action.argument], goal)

    def _clicked(self, now: Situation, name: str, group: str, goal: WebShopGoal) -> Situation:
        if name == BUY.lower():
            return replace(now, page="done", score=self._score(now, goal))
        if name == BACK.lower():
            return Situation()
        if name in (NEXT.lower(), PREVIOUS.lower()) and now.page == "search_results":
            return self._results(now, now.words, now.number + (1 if name == NEXT.lower() else -1))
        if name == PREVIOUS.lower():
            if now.page == "item_page":
                return self._results(now, now.words, now.number)
            return replace(now, page="item_page", sub_page="")
        if name in _LINKS:
            return replace(now, page="item_sub_page", sub_page=_LINKS[name])
        if group:
            return now.choose(group, name)
        asin = next(asin for asin in self.listed(now) if asin.lower() == name)
        return replace(now, page="item_page", asin=asin, seen=now.seen | {asin})

    def _results(self, now: Situation, words: str, number: int) -> Situation:
        return replace(now, page="search_results", words=words, number=number, asin="", options=(), sub_page="")

    def _score(self, now: Situation, goal: WebShopGoal) -> Score:
        chosen = [value for _group, value in now.options]
        return score_purchase(self.product(now.asin), goal, self.prices[now.asin], chosen)
