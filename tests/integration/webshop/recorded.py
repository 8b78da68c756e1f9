"""Recorded episodes of others, as shops of just what they show, to be replayed in ours.

The products of a record are those on its pages; its search is what the record says was found. So every page that the
record shows can be set against the page to which our shop leads by the same actions.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from proas.envs.webshop import Catalogue, Product, Shop, Situation, WebShopGoal, parse_action
from proas.envs.webshop.goal import OptionGroup, Target
from proas.states.webshop.pages import Shown, read_page


@dataclass(frozen=True)
class Turn:
    """One action of a recorded agent and what it was shown."""

    action: str
    observation: str


@dataclass(frozen=True)
class Episode:
    """A recorded episode of an agent that prompts a model."""

    instruction: str
    score: float | None
    turns: tuple[Turn, ...]


def episodes(path: Path) -> Iterator[Episode]:
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            record = json.loads(line)
            turns = tuple(Turn(turn["action"], turn["observation"]) for turn in record["turns"])
            yield Episode(record["instruction"], record["score"], turns)


def product(asin: str, title: str = "", price: str = "", options: Mapping[str, Sequence[str]] | None = None) -> Product:
    """A product of which only this is known."""
    return Product(
        asin=asin,
        title=title,
        category="",
        query="",
        product_category="",
        description="",
        features=(),
        attributes=(),
        options={name: tuple(values) for name, values in (options or {}).items()},
        prices=(1.0,),
        price_tag=price,
    )


@dataclass
class RecordedSearch:
    """What searches found, where a record tells it: page by page."""

    pages: dict[tuple[str, int], tuple[str, ...]] = field(default_factory=dict)

    def search(self, words: str) -> Sequence[str]:
        """The products of each known page in its place; places that no page shows are filled with nothing known."""
        numbers = [number for known, number in self.pages if known == words]
        found: list[str] = []
        for number in range(1, max(numbers, default=0) + 1):
            shown = self.pages.get((words, number), ())
            found += [*shown, *(f"?{number}-{place}" for place in range(len(shown), 10))]
        return found


def shop_of(episode: Episode) -> Shop:
    """A shop that sells what the episode shows and finds what it found."""
    products: dict[str, Product] = {}
    search = RecordedSearch()
    words, opened = "", ""
    for turn in episode.turns:
        action = parse_action(turn.action)
        shown = read_page(turn.observation)
        if shown.kind == "search_results":
            words = action.argument if action is not None and action.verb == "search" else words
            search.pages[words, shown.number] = shown.listed
            for asin in shown.listed:
                products.setdefault(asin, product(asin))
        elif shown.kind == "item_page" and action is not None and action.argument.upper() in products:
            opened = action.argument.upper()
        if shown.kind == "item_page" and opened:
            products[opened] = product(opened, options=shown.groups)
    for found in search.pages.values():
        for asin in found:
            products.setdefault(asin, product(asin))
    for key in list(search.pages):
        filler = RecordedSearch({key: search.pages[key]}).search(key[0])
        products |= {asin: product(asin) for asin in filler if asin not in products}
    return Shop(Catalogue(products), dict.fromkeys(products, 1.0), search, search_from="index")


def any_goal(instruction: str) -> WebShopGoal:
    return WebShopGoal(instruction, Target(""), ("",))


def differences(episode: Episode) -> Iterator[str]:
    """For each turn that is no thought, empty if our shop answers as the record does, else how it does not."""
    shop = shop_of(episode)
    goal = any_goal(episode.instruction)
    now = Situation()
    for turn in episode.turns[1:]:
        if turn.action.startswith("think["):
            continue
        shown = read_page(turn.observation)
        after = shop.after(now, parse_action(turn.action), goal)
        yield _difference(after, shown, shop)
        now = after or now


def _difference(after: Situation | None, shown: Shown, shop: Shop) -> str:
    if shown.kind == "nothing":
        return "the record shows nothing"
    if after is None or shown.kind == "refused":
        refused = shown.kind == "refused"
        return "" if after is None and refused else ("refused there alone" if refused else "refused here alone")
    if shown.kind == "chosen":
        return "" if after.page == "item_page" and shown.choice in dict(after.options).values() else "another choice"
    if shown.kind != after.page:
        return f"{after.page} here, {shown.kind} there"
    if after.page == "search_results":
        listed = tuple(shop.listed(after))[: len(shown.listed)]
        return "" if (after.number, listed) == (shown.number, shown.listed) else "other products"
    if after.page == "item_page":
        options = dict(shop.product(after.asin).options)
        return "" if options == dict(shown.groups or {}) else "other options"
    return ""


def tally(path: Path) -> Counter[str]:
    return Counter(kind for episode in episodes(path) for kind in differences(episode))


def target_in_hindsight(episode: Episode) -> Target | None:
    """What an episode with the full score was after: the product it bought, with the options it chose."""
    if episode.score != 1.0:
        return None
    shop, goal, now = shop_of(episode), any_goal(episode.instruction), Situation()
    for turn in episode.turns[1:]:
        now = shop.after(now, parse_action(turn.action), goal) or now
    if now.page != "done":
        return None
    chosen = dict(now.options)
    groups = tuple(OptionGroup(name, chosen.get(name, "")) for name in shop.product(now.asin).options)
    return Target(now.asin, groups)


def sessions(folder: Path) -> Iterator[list[dict[str, Any]]]:
    """The records of each human session."""
    for path in sorted(folder.glob("*.jsonl")):
        yield [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
