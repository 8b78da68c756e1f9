"""What the shop's pages say, as the original's text modes say it.

A page is a list of pieces in the order of the original's HTML. ``text`` joins them by `` [SEP] ``; ``text_rich`` marks
what can be clicked and what was.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from proas.envs.webshop.products import Product
from proas.errors import UsageError

__all__ = [
    "BACK",
    "BUY",
    "NEXT",
    "PREVIOUS",
    "SUB_PAGES",
    "ObservationMode",
    "Piece",
    "done_page",
    "index_page",
    "item_page",
    "observation_mode",
    "results_page",
    "rich",
    "sub_page",
    "text",
]

ObservationMode = Literal["text", "text_rich"]

BACK = "Back to Search"
PREVIOUS = "< Prev"
NEXT = "Next >"
BUY = "Buy Now"
SUB_PAGES = ("Description", "Features", "Reviews", "Attributes")

_RATING = "N.A."
_NEEDS_ESCAPE = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "'": "\\u0027"}


@dataclass(frozen=True, slots=True)
class Piece:
    """A run of text on a page.

    Attributes:
        words: The text as it stands in the HTML.
        role: What it is part of.
        clicked: It was clicked before.
    """

    words: str
    role: Literal["plain", "button", "option", "product"] = "plain"
    clicked: bool = False


def observation_mode(name: str) -> ObservationMode:
    """The mode of that name. Raises ``UsageError`` for any other name."""
    for known in get_args(ObservationMode):
        if name == known:
            return known  # type: ignore[no-any-return]  # one of the literals
    raise UsageError(f"unknown observations {name!r}", hint="known: " + ", ".join(get_args(ObservationMode)))


def text(page: Iterable[Piece]) -> str:
    """The page as one line, pieces parted by `` [SEP] ``."""
    return " [SEP] ".join(piece.words.strip() for piece in page)


def rich(page: Iterable[Piece]) -> str:
    """The page as lines, buttons marked; a chosen option is announced at the top."""
    shown = ""
    for piece in page:
        if piece.role == "plain":
            line = piece.words
        elif piece.role == "button":
            line = f"[button] {piece.words} [button_]"
        else:
            mark = "clicked button" if piece.clicked else "button"
            indent = "\n" if piece.role == "product" else "  "
            line = f"{indent}[{mark}] {piece.words} [{mark}_]"
            if piece.role == "option" and piece.clicked:
                shown = f"You have clicked {piece.words}.\n{shown}"
        shown += f"{line}\n"
    return shown


def index_page(instruction: str) -> tuple[Piece, ...]:
    """The page with the search bar."""
    return Piece("WebShop"), Piece("Instruction: "), Piece(instruction), Piece("Search", "button")


def results_page(
    instruction: str, products: Sequence[Product], page: int, total: int, seen: frozenset[str]
) -> tuple[Piece, ...]:
    """A page of search results.

    Args:
        instruction: The goal as the agent reads it.
        products: The products of this page.
        page: Its number, from 1.
        total: Number of products found.
        seen: Products that were opened before.
    """
    buttons = [PREVIOUS, NEXT] if page > 1 else [NEXT]
    pieces = [*_head(instruction), Piece(f"Page {page} (Total results: {total})")]
    pieces += [Piece(name, "button") for name in buttons]
    for product in products:
        pieces.append(Piece(product.asin, "product", product.asin in seen))
        pieces += [Piece(product.title), Piece(product.price_tag)]
    return tuple(pieces)


def item_page(
    instruction: str, product: Product, chosen: Iterable[str], *, attributes: bool = False
) -> tuple[Piece, ...]:
    """A product's page.

    Args:
        instruction: The goal as the agent reads it.
        product: The product.
        chosen: Values of the options that are chosen.
        attributes: Whether there is a button for the attributes.
    """
    picked = frozenset(chosen)
    pieces = [*_head(instruction), Piece(PREVIOUS, "button")]
    for name, values in product.options.items():
        pieces.append(Piece(name))
        # The original looks a value up in the address of its page, where letters beyond ASCII are escaped.
        pieces += [Piece(value, "option", value in picked and json.dumps(value) == f'"{value}"') for value in values]
    pieces += [Piece(product.title), Piece(f"Price: {product.price_tag}"), Piece(f"Rating: {_RATING}")]
    pieces += [Piece(name, "button") for name in (SUB_PAGES if attributes else SUB_PAGES[:3])]
    return (*pieces, Piece(BUY, "button"))


def sub_page(instruction: str, product: Product, name: str) -> tuple[Piece, ...]:
    """A page about a product: one of :data:`SUB_PAGES`. No reviews are in the data that is given out."""
    return (*_head(instruction), Piece(PREVIOUS, "button"), *(Piece(line) for line in _about(product, name)))


def done_page(product: str, options: dict[str, str], score: float) -> tuple[Piece, ...]:
    """The last page, with the score."""
    chosen = json.dumps(options, sort_keys=True)
    for letter, escape in _NEEDS_ESCAPE.items():
        chosen = chosen.replace(letter, escape)
    bought = ("asin", product, "options", chosen, "attrs", "None", "category", "None", "query", "None")
    target = ("asin", "options", "attrs", "price upper", "instuction text", "category", "product category", "query")
    lines = (
        "Thank you for shopping with us!",
        "Your code: ",
        "None",
        " (Paste it in your MTurk interface.)",
        "Purchased",
        *bought,
        *("product category", "None", "Target"),
        *target,
        *("Goal ", "None", "Reward", "Your score (min 0.0, max 1.0)", str(score), "Reward Details ", "None"),
    )
    return tuple(Piece(line) for line in lines)


def _head(instruction: str) -> tuple[Piece, ...]:
    return Piece("Instruction:"), Piece(instruction), Piece(BACK, "button")


def _about(product: Product, name: str) -> Iterator[str]:
    if name == "Description" and product.description:
        yield product.description
    elif name == "Features":
        yield from (f" {feature}" for feature in product.features)
    elif name == "Attributes":
        yield from (f" {attribute}" for attribute in product.attributes)
        yield from (product.category, product.query, product.product_category)
