"""Goals of WebShop, and the task key that carries what states need of one.

A task key reads ``<asin>:<group>=<wanted>,<group>=:<digest>``: the target product, its option groups in the order of
its page, the value that the goal wants in each (nothing where any will do), and a digest that tells goals of one
product apart. Where the key would grow beyond 400 characters, values are given by a digest; where that does not do, the
groups are left out. It is made of the goal alone: the price limit, which the original draws anew at every start, is no
part of it. So states can be told from text on any machine, with nothing but the key.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from urllib.parse import quote, unquote

from proas.envs.webshop.matching import option_met
from proas.errors import DataError
from proas.keys import digest

__all__ = ["ENV", "OptionGroup", "Target", "WebShopGoal", "bare_instruction"]

ENV = "webshop"
"""Name of the environment in every key."""

_LONGEST_KEY = 400
_DIGEST = "~"
_BRACES = str.maketrans("{}", "()")
_KEY = re.compile(r"(?P<asin>[^:\s]{1,10}):(?P<groups>[^:\s]*):(?P<digest>[0-9a-f]{12})")
_PRICE = re.compile(r",? and price lower than (\d+(?:\.\d+)?) dollars\s*$")


def bare_instruction(text: str) -> str:
    """An instruction without its price clause, ``, and price lower than 40.00 dollars``."""
    return _PRICE.sub("", text.strip())


@dataclass(frozen=True, slots=True)
class OptionGroup:
    """A group of options on the target's page.

    Attributes:
        name: Its name in small letters, for example ``color``.
        wanted: The value that the goal wants; empty where any will do. ``~`` and eight digits of a digest stand for a
            value too long for a task key.
    """

    name: str
    wanted: str = ""

    def met_by(self, value: str) -> bool:
        """Whether choosing a value counts as choosing the wanted one, as the reward sees it."""
        if not self.wanted:
            return False
        if self.wanted.startswith(_DIGEST):
            return _short(value) == self.wanted
        return option_met(self.wanted, value)

    @property
    def fact(self) -> str:
        """The fact that the wanted value is chosen, for example ``chosen color: black``.

        Braces would read as variables of a subgoal's pattern, so they are written as parentheses.
        """
        return f"chosen {self.name}: {self.wanted}".translate(_BRACES)


@dataclass(frozen=True, slots=True)
class Target:
    """What states need of a goal: the product and what is to be chosen on its page.

    Attributes:
        asin: Number of the target product.
        groups: Its option groups in the order of its page.
    """

    asin: str
    groups: tuple[OptionGroup, ...] = ()

    @property
    def wanted(self) -> tuple[OptionGroup, ...]:
        """The groups in which the goal wants a value."""
        return tuple(group for group in self.groups if group.wanted)

    def group(self, name: str) -> OptionGroup | None:
        """The group of that name, if the target's page has it."""
        return next((group for group in self.groups if group.name == name), None)

    @classmethod
    def from_key(cls, key: str) -> Target:
        """The target that a task key names.

        Raises:
            DataError: The key is of another form.
        """
        found = _KEY.fullmatch(key)
        if found is None:
            raise DataError(f"{key!r} is no key of a WebShop task", hint="a key reads asin:group=wanted,group=:digest")
        groups = []
        for part in filter(None, found["groups"].split(",")):
            name, equals, wanted = part.partition("=")
            if not equals or not name:
                raise DataError(f"{key!r} is no key of a WebShop task: {part!r} has no '='")
            groups.append(OptionGroup(_decoded(name), _decoded(wanted)))
        return cls(_decoded(found["asin"]).upper(), tuple(groups))


@dataclass(frozen=True, slots=True)
class WebShopGoal:
    """What an agent is to buy.

    Attributes:
        instruction: The instruction without its price clause.
        target: The product, and the options wanted of it.
        attributes: Attributes that the purchase should have.
        options: Option values that the purchase should have, as the goal words them.
        price_limit: The most that it may cost, in dollars; ``None`` for no limit.
        title: Name of the target product.
        category: Its department.
        query: Its query.
        product_category: Its path of categories.
    """

    instruction: str
    target: Target
    attributes: tuple[str, ...]
    options: tuple[str, ...] = ()
    price_limit: float | None = None
    title: str = ""
    category: str = ""
    query: str = ""
    product_category: str = ""

    @property
    def text(self) -> str:
        """The instruction as the agent reads it."""
        if self.price_limit is None:
            return self.instruction
        return f"{self.instruction}, and price lower than {self.price_limit:.2f} dollars"

    @property
    def phrase(self) -> str:
        """The goal in a few words, for example ``buy B09R4RJSFP with color: 120ml``."""
        wanted = ", ".join(f"{group.name}: {group.wanted}" for group in self.target.wanted)
        return f"buy {self.target.asin}{' with ' + wanted if wanted else ''}"

    @property
    def key(self) -> str:
        """Key of the task."""
        told_apart = digest(ENV, self.target.asin, self.instruction, sorted(self.options), sorted(self.attributes))[:12]
        for target in (self.target, _shortened(self.target)):
            written = _written(target, told_apart)
            if len(written) <= _LONGEST_KEY:
                return written
        return _written(Target(self.target.asin), told_apart)

    @property
    def told(self) -> Target:
        """The target as the key tells it, which is all that states may know: long values are digests there."""
        return Target.from_key(self.key)


def _shortened(target: Target) -> Target:
    groups = tuple(replace(group, wanted=_short(group.wanted)) if group.wanted else group for group in target.groups)
    return replace(target, groups=groups)


def _written(target: Target, told_apart: str) -> str:
    groups = ",".join(f"{_encoded(group.name)}={_encoded(group.wanted)}" for group in target.groups)
    return f"{_encoded(target.asin)}:{groups}:{told_apart}"


def _short(value: str) -> str:
    return _DIGEST + digest(value)[:8]


def _encoded(text: str) -> str:
    """Percent-encoded so that a shell needs no quotes; a space becomes an underscore."""
    return quote(text, safe="").replace("_", "%5F").replace("%20", "_")


def _decoded(text: str) -> str:
    return unquote(text.replace("_", "%20"))
