"""What solves a goal: the searches that find its product, and the values to be clicked on its page."""

from __future__ import annotations

from proas.envs.webshop.goal import WebShopGoal
from proas.envs.webshop.shop import PER_PAGE, Shop, Situation

__all__ = ["clickable_value", "page_of_target", "searches"]


def searches(goal: WebShopGoal) -> tuple[str, ...]:
    """What to search for: the instruction, which is what an agent has, and the product's name, which finds it best."""
    bare = (goal.instruction.lower(), goal.title.lower(), f"{goal.title} {goal.query}".lower())
    return tuple(dict.fromkeys(words.replace("]", " ").strip() for words in bare if words.strip()))


def page_of_target(shop: Shop, goal: WebShopGoal, words: str) -> int:
    """On which page of a search's results the target is, from 1; 0 where the search does not find it."""
    found = shop.found(Situation(words=words))
    return found.index(goal.target.asin) // PER_PAGE + 1 if goal.target.asin in found else 0


def clickable_value(shop: Shop, goal: WebShopGoal, name: str) -> str | None:
    """The value of a wanted group to be clicked: the wanted one, else the first that counts as it; ``None`` without.

    Raises:
        KeyError: The target has no such group.
    """
    group = goal.target.group(name)
    if group is None:
        raise KeyError(name)
    product = shop.product(goal.target.asin)
    clickable = shop.clickables(Situation(page="item_page", asin=product.asin))
    # Of one value in two groups, a click chooses in the later group alone.
    values = [value for value in product.options[name] if clickable[value] == name and group.met_by(value)]
    return next((value for value in values if value == group.wanted), values[0] if values else None)
