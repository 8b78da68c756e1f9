"""The progress-relevant facts of a situation, whoever looked.

Where the goal's product is known, a situation is: the kind of page; whether the target is in view, open, or bought; the
wanted options that are chosen, as a set. The words of a search, options that the goal does not ask for, and which other
product is open make no difference. A page of results without the target keeps its number, so that leafing on to the
target is progress. Where nothing is known of the goal, every product and every option counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from proas.envs.webshop.goal import Target

__all__ = [
    "TARGET_BOUGHT",
    "TARGET_IN_VIEW",
    "TARGET_OPEN",
    "Look",
    "OpenProjection",
    "Projection",
    "Searching",
    "TargetProjection",
    "projection_of",
]

TARGET_IN_VIEW = "target in view"
TARGET_OPEN = "target open"
TARGET_BOUGHT = "target bought"

_PLACES = {
    "index": "at the search bar",
    "search_results": "at results",
    "item_page": "at a product",
    "item_sub_page": "at a product's details",
    "done": "bought",
}


@dataclass(frozen=True, slots=True)
class Look:
    """A situation as far as both the shop and its text tell it.

    Attributes:
        page: Kind of page.
        number: Page of the results, from 1; 0 elsewhere.
        listed: Products on the page of results.
        asin: The product that is open or was bought, in capitals.
        options: Chosen options by group.
    """

    page: str = "index"
    number: int = 0
    listed: tuple[str, ...] = ()
    asin: str = ""
    options: Mapping[str, str] = field(default_factory=dict)


class Projection(Protocol):
    """What counts of a situation, and what an action is called."""

    def names(self) -> tuple[str, ...]:
        """Names of the option groups of the product whose options count, in the order of its page."""
        ...

    def counts(self, asin: str) -> bool:
        """Whether the options of that product count."""
        ...

    def facts(self, look: Look) -> Iterator[str]:
        """Facts of a situation, in any order."""
        ...

    def searched(self, look: Look) -> str:
        """Canonical form of a search that led there."""
        ...

    def opened(self, asin: str) -> str:
        """Canonical form of a click on a product."""
        ...

    def chose(self, asin: str, group: str, value: str) -> str:
        """Canonical form of a click on an option."""
        ...

    def sought(self, look: Look) -> bool:
        """Whether what is looked for is in view."""
        ...


@dataclass(frozen=True, slots=True)
class TargetProjection:
    """What counts where the target is known.

    Attributes:
        target: What is to be bought.
    """

    target: Target

    def names(self) -> tuple[str, ...]:
        """Names of the target's option groups."""
        return tuple(group.name for group in self.target.groups)

    def counts(self, asin: str) -> bool:
        """Whether it is the target."""
        return asin == self.target.asin

    def facts(self, look: Look) -> Iterator[str]:
        """Facts of a situation."""
        yield _PLACES[look.page]
        if look.page == "search_results":
            yield TARGET_IN_VIEW if self.sought(look) else f"results page {look.number}"
        if look.asin and not self.counts(look.asin):
            yield "another product bought" if look.page == "done" else "another product open"
        elif look.asin:
            yield TARGET_BOUGHT if look.page == "done" else TARGET_OPEN
            yield from (group.fact for group in self.target.wanted if group.met_by(look.options.get(group.name, "")))

    def searched(self, look: Look) -> str:
        """A search is told by its result alone."""
        return "search: target in view" if self.sought(look) else "search: target not in view"

    def opened(self, asin: str) -> str:
        """The target, or any other product."""
        return "click[target]" if self.counts(asin) else "click[another product]"

    def chose(self, asin: str, group: str, value: str) -> str:
        """A wanted option, another one in its place, or one that does not matter."""
        found = self.target.group(group) if self.counts(asin) else None
        if found is None or not found.wanted:
            return "click[option that does not matter]"
        return f"click[{found.name}: {found.wanted}]" if found.met_by(value) else f"click[{found.name}: another]"

    def sought(self, look: Look) -> bool:
        """Whether the target is listed."""
        return self.target.asin in look.listed


@dataclass(frozen=True, slots=True)
class OpenProjection:
    """What counts where the target is not known: everything but the words of a search."""

    def names(self) -> tuple[str, ...]:
        """No names are known."""
        return ()

    def counts(self, asin: str) -> bool:
        """Every product's options count."""
        return bool(asin)

    def facts(self, look: Look) -> Iterator[str]:
        """Facts of a situation."""
        yield _PLACES[look.page]
        if look.page == "search_results":
            yield f"results page {look.number}"
        if look.asin:
            yield f"product {look.asin}"
            yield from (f"chosen {value}" for value in look.options.values())

    def searched(self, look: Look) -> str:
        """All searches are one."""
        return "search"

    def opened(self, asin: str) -> str:
        """The product by its number."""
        return f"click[{asin.lower()}]"

    def chose(self, asin: str, group: str, value: str) -> str:
        """The option by its value."""
        return f"click[{value}]"

    def sought(self, look: Look) -> bool:
        """Nothing is known to be looked for."""
        return False


def projection_of(target: Target | None) -> Projection:
    """What counts for a goal, or without one."""
    return OpenProjection() if target is None else TargetProjection(target)


class Searching:
    """Tells which steps of a rollout looked for the target where it had not looked before."""

    def __init__(self, projection: Projection) -> None:
        self._projection = projection
        self._seen: set[str] = set()
        self._found = False

    def seeks(self, look: Look) -> bool:
        """Whether a page of results shows products for the first time, the target not having been in view before."""
        if look.page != "search_results":
            return False
        new = not self._seen.issuperset(look.listed)
        seeks = new and not self._found
        self._seen.update(look.listed)
        self._found = self._found or self._projection.sought(look)
        return seeks
