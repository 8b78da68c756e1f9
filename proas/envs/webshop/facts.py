"""The hidden state of a visit to the shop, as named fields."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["WebShopFacts"]


@dataclass(frozen=True, slots=True)
class WebShopFacts:
    """What is so in a situation.

    Attributes:
        page: Kind of page: ``index``, ``search_results``, ``item_page``, ``item_sub_page`` or ``done``.
        number: Page of the results, from 1; 0 where none is shown.
        listed: Products on the page of results.
        asin: The product that is open, or was bought.
        sub_page: Which page about the product is open.
        options: Chosen options as (group, value).
        score: What the purchase was worth; ``None`` before it.
    """

    page: str
    number: int
    listed: tuple[str, ...]
    asin: str
    sub_page: str
    options: frozenset[tuple[str, str]]
    score: float | None

    def as_tuples(self) -> frozenset[tuple[str, ...]]:
        """The same as an unordered set of ``(predicate, argument, ...)``."""
        facts: set[tuple[str, ...]] = {("page", self.page)}
        facts |= {("listed", asin) for asin in self.listed}
        facts |= {("chosen", group, value) for group, value in self.options}
        if self.number:
            facts.add(("results page", str(self.number)))
        if self.asin:
            facts.add(("product", self.asin))
        if self.sub_page:
            facts.add(("sub page", self.sub_page))
        if self.score is not None:
            facts.add(("score", str(self.score)))
        return frozenset(facts)
