"""Invents product sets in the original's format: for tests, demonstrations, and as many training tasks as you like.

Brands, products and instructions are made up here; a seed makes a set repeatable. Each product differs from every other
in its brand or kind, so that its name finds it.
"""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from proas.errors import UsageError
from proas.keys import digest

__all__ = ["GeneratedSet", "generate_products"]

_BRANDS = (
    "Alderwick", "Bramblo", "Corvena", "Dunmore & Pike", "Elmsey", "Farrowly", "Glintmoor", "Hadrella", "Ivorene",
    "Juniver", "Kestrino", "Lumarel", "Mossbeck", "Norvik Lane", "Orlenna", "Pellway", "Quillon", "Rowanesk",
)  # fmt: skip
_COLOURS = (
    "black", "white", "navy blue", "forest green", "burgundy", "mustard", "teal", "rose pink", "charcoal", "ivory",
)  # fmt: skip
_USES = ("everyday use", "travel", "small homes", "gifts", "long weekends", "busy mornings", "the office", "camping")


@dataclass(frozen=True, slots=True)
class _Kind:
    """A kind of product: its name, where the shop keeps it, what can be said of it, and what there is to choose."""

    noun: str
    category: str
    query: str
    path: str
    attributes: tuple[str, ...]
    options: tuple[tuple[str, tuple[str, ...]], ...]
    prices: tuple[int, int]


_SIZES = ("Small", "Medium", "Large", "X-Large", "XX-Large")
_SHOE_SIZES = ("6", "6.5", "7", "7.5", "8", "8.5", "9", "10")
_KINDS = (
    _Kind("Rain Jacket", "fashion", "women's coats & jackets", "Clothing › Women › Coats & Jackets",
          ("water resistant", "quick drying", "machine washable", "light weight"), (("Size", _SIZES),), (35, 90)),
    _Kind("Trail Running Shoes", "fashion", "men's athletic shoes", "Clothing › Men › Shoes › Athletic",
          ("rubber sole", "arch support", "moisture wicking", "non slip"), (("Size", _SHOE_SIZES),), (45, 120)),
    _Kind("Linen Shirt", "fashion", "men's shirts", "Clothing › Men › Shirts",
          ("long sleeve", "slim fit", "machine washable", "button closure"),
          (("Fit Type", ("Regular", "Slim", "Big/Tall")), ("Size", _SIZES)), (18, 60)),
    _Kind("Table Lamp", "garden", "table lamps", "Home & Kitchen › Lighting › Lamps",
          ("energy efficient", "easy assemble", "solid wood", "bronze finish"), (), (22, 140)),
    _Kind("Storage Ottoman", "garden", "ottomans", "Home & Kitchen › Furniture › Ottomans",
          ("faux leather", "easy clean", "space saving", "wood frame"),
          (("Size", ("40x40x40cm", "60x40x40cm", "80x40x40cm", "100x40x40cm")),), (40, 180)),
    _Kind("Curtain Panels", "garden", "window curtains", "Home & Kitchen › Window Treatments › Curtains",
          ("machine washable", "easy install", "super soft", "printing technology"),
          (("Size", ('52" W x 63" L', '52" W x 84" L', '52" W x 96" L')),), (15, 55)),
    _Kind("Bluetooth Speaker", "electronics", "portable speakers", "Electronics › Portable Audio › Speakers",
          ("long lasting", "hands free", "stereo sound", "easy carry"), (), (19, 130)),
    _Kind("Phone Case", "electronics", "cell phone cases", "Electronics › Phones › Cases",
          ("wireless charging", "heavy duty", "scratch resistant", "non slip"),
          (("Style", ("Clear", "Matte", "Glitter")),), (7, 30)),
    _Kind("Trail Mix", "grocery", "trail mixes", "Grocery › Snack Foods › Trail Mix",
          ("gluten free", "non gmo", "low sodium", "plant based"),
          (("Flavor Name", ("Cranberry Almond", "Cocoa Hazelnut", "Coconut Lime", "Salted Pecan")),
           ("Size", ("4 Ounce (Pack of 1)", "4 Ounce (Pack of 6)", "8 Ounce (Pack of 2)"))), (6, 40)),
    _Kind("Herbal Tea", "grocery", "herbal teas", "Grocery › Beverages › Tea › Herbal",
          ("caffeine free", "certified organic", "artificial flavors", "sugar free"),
          (("Flavor", ("Lemon Balm", "Ginger Root", "Mountain Mint")),), (5, 25)),
    _Kind("Hand Cream", "beauty", "hand creams & lotions", "Beauty › Skin Care › Hands › Creams",
          ("cruelty free", "dry skin", "paraben free", "natural ingredients"),
          (("Scent", ("Lavender", "Unscented", "Orange Blossom")),
           ("Size", ("1.7 Fl Oz (Pack of 1)", "3.4 Fl Oz (Pack of 1)"))), (6, 28)),
    _Kind("Makeup Bag", "beauty", "cosmetic bags", "Beauty › Tools & Accessories › Bags",
          ("leak proof", "travel size", "easy clean", "high quality"), (), (9, 35)),
)  # fmt: skip
_COLOURED = frozenset(
    kind.noun for kind in _KINDS if kind.category in ("fashion", "garden", "electronics") or kind.noun == "Makeup Bag"
)


@dataclass(frozen=True)
class GeneratedSet:
    """A product set as the three documents that a shop loads.

    Attributes:
        products: Content of ``items_shuffle.json``.
        attributes: Content of ``items_ins_v2.json``.
        human: Content of ``items_human_ins.json``.
    """

    products: list[dict[str, Any]]
    attributes: dict[str, dict[str, Any]]
    human: dict[str, list[dict[str, Any]]]

    def write(self, folder: Path) -> None:
        """Write the three files into a folder, which is made if need be."""
        folder.mkdir(parents=True, exist_ok=True)
        documents = {"items_shuffle": self.products, "items_ins_v2": self.attributes, "items_human_ins": self.human}
        for name, document in documents.items():
            text = json.dumps(document, ensure_ascii=False, indent=1)
            (folder / f"{name}.json").write_text(text + "\n", encoding="utf-8")


def generate_products(count: int, *, seed: int = 0) -> GeneratedSet:
    """Invent a product set.

    Args:
        count: Number of products.
        seed: Source of all choices.

    Raises:
        UsageError: The number is not positive, or more than there are brands and kinds to combine.
    """
    pairs = [(brand, kind) for brand in _BRANDS for kind in _KINDS]
    if not 1 <= count <= len(pairs):
        raise UsageError(f"{count} products cannot be invented", hint=f"give 1 to {len(pairs)}")
    rng = random.Random(digest("webshop products", seed))  # noqa: S311  # choices, not secrets
    made = GeneratedSet([], {}, {})
    for brand, kind in rng.sample(pairs, count):
        _invent(made, brand, kind, rng)
    return made


def _invent(made: GeneratedSet, brand: str, kind: _Kind, rng: random.Random) -> None:
    asin = "P" + digest("webshop product", brand, kind.noun)[:9].upper()
    traits = rng.sample(kind.attributes, 3)
    use = rng.choice(_USES)
    groups: dict[str, Sequence[str]] = dict(kind.options)
    if kind.noun in _COLOURED:
        groups = {"Color": [colour.title() for colour in sorted(rng.sample(_COLOURS, rng.randint(3, 5)))], **groups}
    title = f"{brand} {kind.noun} for {use.title()}, {traits[0].title()} and {traits[1].title()}"
    low, high = kind.prices
    price = rng.randint(low, high) - 0.01
    made.products.append(
        {
            "name": title,
            "full_description": f"The {kind.noun.lower()} by {brand} was made for {use}. It is {traits[2]}, and it is "
            f"sold by the maker alone.",
            "images": [f"images/{asin.lower()}.jpg"],
            "product_category": kind.path,
            "average_rating": "",
            "small_description": [f"{trait.capitalize()} " for trait in traits] + [f"Made for {use} "],
            "customization_options": {name: [{"value": value} for value in values] for name, values in groups.items()}
            or "",
            "asin": asin,
            "category": kind.category,
            "query": kind.query,
            "page": 1,
            "pricing": f"${price:.2f}" if rng.random() < 0.8 else f"${price:.2f} to ${price + rng.randint(3, 20):.2f}",
        }
    )
    made.attributes[asin] = {
        "attributes": traits,
        "instruction": f"Find me {', '.join(traits[:2])} {kind.query} for {use}",
        "instruction_attributes": traits[:2],
    }
    made.human[asin] = [_asked(asin, kind, traits, groups, rng)]


def _asked(
    asin: str, kind: _Kind, traits: Sequence[str], groups: dict[str, Sequence[str]], rng: random.Random
) -> dict[str, Any]:
    """An instruction as a person might word it, for some or all of the options."""
    chosen = {name: rng.choice(values).replace("/", " | ").lower() for name, values in groups.items()}
    wanted = dict(list(chosen.items())[: rng.randint(1, len(chosen))] if chosen else [])
    told = " and ".join(f"{name.lower()} {value}" for name, value in wanted.items())
    opening = rng.choice(("i am looking for a", "i need some", "please find me", "i want to buy a"))
    text = f"{opening} {kind.noun.lower()} that is {traits[0]}{', in ' + told if told else ''}."
    return {
        "asin": asin,
        "instruction": text,
        "attributes": list(traits),
        "options": [f"{name.lower()}: {value}" for name, value in chosen.items()],
        "instruction_attributes": [traits[0]],
        "instruction_options": list(wanted.values()),
        "assignment_id": "",
        "worker_id": "",
    }
