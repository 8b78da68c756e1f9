"""What a purchase is worth: Yao et al. (2022), section 3.

``score = r_type * (attributes met + options met + price kept) / (attributes + options + 1)``, in [0, 1].
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from proas.envs.webshop.goal import WebShopGoal
from proas.envs.webshop.matching import option_met, similar
from proas.envs.webshop.nouns import title_nouns
from proas.envs.webshop.products import Product

__all__ = ["FULL_SCORE", "Score", "score_purchase", "title_score"]

FULL_SCORE = 1.0 - 1e-9
"""A score from here on is a purchase that meets the goal in everything."""

_NO_NOUNS = 0.2
_CATEGORIES_SHARED = 2


@dataclass(frozen=True, slots=True)
class Score:
    """A purchase's score and its parts, each in [0, 1].

    Attributes:
        total: The score.
        type: How far the product is of the target's kind.
        attributes: Share of the goal's attributes that it has.
        options: Share of the goal's options that were chosen; ``None`` where the goal has none.
        price: Whether the price is within the limit.
        query_match: The products were found by the same query.
        category_match: They share two categories.
        title_score: Share of the target name's nouns in the product's name.
    """

    total: float
    type: float
    attributes: float
    options: float | None
    price: bool
    query_match: bool
    category_match: bool
    title_score: float

    @property
    def full(self) -> bool:
        """Whether the purchase meets the goal in everything."""
        return self.total >= FULL_SCORE


def score_purchase(product: Product, goal: WebShopGoal, price: float, chosen: Collection[str]) -> Score:
    """Score of a purchase.

    Args:
        product: What was bought.
        goal: What was to be bought.
        price: What it cost, in dollars.
        chosen: Values of the chosen options.
    """
    attributes = sum(_has(product, wanted) for wanted in goal.attributes)
    options = sum(any(option_met(wanted, value) for value in chosen) for wanted in goal.options)
    kept = goal.price_limit is None or price <= goal.price_limit
    query_match = product.query == goal.query
    shared = _categories(product.product_category) & _categories(goal.product_category)
    category_match = len(shared) >= _CATEGORIES_SHARED
    title = title_score(product.title, goal.title)
    kind = _type(title, match=query_match or category_match)
    return Score(
        total=kind * (attributes + options + kept) / (len(goal.attributes) + len(goal.options) + 1),
        type=kind,
        attributes=attributes / len(goal.attributes) if goal.attributes else 1.0,
        options=options / len(goal.options) if goal.options else None,
        price=kept,
        query_match=query_match,
        category_match=category_match,
        title_score=title,
    )


def title_score(bought: str, wanted: str) -> float:
    """Share of the nouns of the wanted name that the bought name has; 0.2 where the wanted name has none."""
    nouns = title_nouns(wanted)
    return len(set(nouns) & set(title_nouns(bought))) / len(nouns) if nouns else _NO_NOUNS


def _type(title: float, *, match: bool) -> float:
    if title == 0.0:
        return 0.0
    if title < 0.1:  # the paper's thresholds
        return 0.1
    return 1.0 if match or title > 0.2 else 0.5


def _has(product: Product, wanted: str) -> bool:
    if any(similar(attribute, wanted) for attribute in product.attributes):
        return True
    where = (product.title, " ".join(product.features), product.description)
    return any(wanted in text.lower() for text in where)


def _categories(path: str) -> set[str]:
    return {part.strip() for part in path.split("›")}
