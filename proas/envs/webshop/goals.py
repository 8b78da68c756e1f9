"""Builds the goals of a shop as the original does: people's and synthetic ones.

The upper price is drawn among the multiples of ten dollars just above the product's price. The original draws before it
seeds its generator, so that its prices differ from start to start; here they come from a seed. The order of the goals
is the original's: the list is shuffled by Python's generator with seed 233.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, get_args

from proas.envs.webshop.goal import OptionGroup, Target, WebShopGoal
from proas.envs.webshop.matching import option_met
from proas.envs.webshop.products import Catalogue, Product
from proas.errors import UsageError

__all__ = ["GoalSource", "build_goals", "goal_source", "product_prices", "resolved", "resolved_among"]

GoalSource = Literal["human", "synthetic"]
"""Whose instructions: people's, or those made from attributes and options."""

_ORDER_SEED = 233
_LIMITS = tuple(10.0 * step for step in range(1, 100))
_LIMITS_CONSIDERED = 4


def goal_source(name: str) -> GoalSource:
    """The source of that name. Raises ``UsageError`` for any other name."""
    for known in get_args(GoalSource):
        if name == known:
            return known  # type: ignore[no-any-return]  # one of the literals
    raise UsageError(f"unknown goals {name!r}", hint="known: " + ", ".join(get_args(GoalSource)))


def product_prices(catalogue: Catalogue, seed: int = 0) -> dict[str, float]:
    """A price for each product: its own, or one drawn between its lowest and its highest."""
    rng = random.Random(seed)  # noqa: S311  # a draw, not a secret
    return {p.asin: p.prices[0] if len(p.prices) == 1 else rng.uniform(*p.prices) for p in catalogue}


def build_goals(
    catalogue: Catalogue, prices: Mapping[str, float], source: GoalSource = "human", *, seed: int = 0
) -> tuple[WebShopGoal, ...]:
    """All goals of a shop, in the original's order.

    Args:
        catalogue: The products.
        prices: What each costs (:func:`product_prices`).
        source: Whose instructions.
        seed: Source of the upper prices.
    """
    rng = random.Random(seed)  # noqa: S311  # a draw, not a secret
    make = _human if source == "human" else _synthetic
    goals = [goal for product in catalogue for goal in make(product, prices[product.asin], rng)]
    random.Random(_ORDER_SEED).shuffle(goals)  # noqa: S311  # the original's order
    return tuple(goals)


def _human(product: Product, price: float, rng: random.Random) -> Iterator[WebShopGoal]:
    for given in product.human_instructions:
        if given.attributes:
            target = resolved(product, given.options)
            yield _goal(product, given.text.strip("."), target, given.attributes, given.options, _limit(price, rng))


def _synthetic(product: Product, price: float, rng: random.Random) -> Iterator[WebShopGoal]:
    if not product.instruction or not product.instruction_attributes:
        return
    limit = _limit(price, rng)
    names = sorted(product.options)
    for values in itertools.product(*(product.options[name] for name in names)):
        chosen = dict(zip(names, values, strict=True))
        told = ", and ".join(f"{name}: {value}" for name, value in chosen.items())
        instruction = f"{product.instruction} with {told}" if told else product.instruction
        target = Target(product.asin, tuple(OptionGroup(name, chosen.get(name, "")) for name in product.options))
        yield _goal(product, instruction, target, product.instruction_attributes, tuple(values), limit)


def _goal(  # one value for each part of a goal
    product: Product,
    instruction: str,
    target: Target,
    attributes: tuple[str, ...],
    options: tuple[str, ...],
    limit: float | None,
) -> WebShopGoal:
    return WebShopGoal(
        instruction=instruction,
        target=target,
        attributes=attributes,
        options=options,
        price_limit=limit,
        title=product.title,
        category=product.category,
        query=product.query,
        product_category=product.product_category,
    )


def _limit(price: float, rng: random.Random) -> float | None:
    above = [limit for limit in _LIMITS if limit > price][:_LIMITS_CONSIDERED]
    return max(rng.sample(above, 2)) if len(above) > 1 else None


def resolved(product: Product, wanted: Sequence[str]) -> Target:
    """Which option group each wanted value belongs to.

    A group that has the very value is preferred to one that has something like it; each group takes one value. What
    belongs to no group stays in the goal's ``options`` and counts in the reward alone.
    """
    return resolved_among(product.asin, product.options, wanted)


def resolved_among(asin: str, options: Mapping[str, Sequence[str]], wanted: Sequence[str]) -> Target:
    """The same, of a product of which only the option groups of its page are known."""
    found: dict[str, str] = {}
    for value in wanted:
        free = [name for name in options if name not in found]
        exact = (name for name in free if value in options[name])
        alike = (name for name in free if any(option_met(value, shown) for shown in options[name]))
        name = next(exact, None) or next(alike, None)
        if name is not None:
            found[name] = value
    return Target(asin, tuple(OptionGroup(name, found.get(name, "")) for name in options))
