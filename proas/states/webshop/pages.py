"""Reads the shop's pages as an agent sees them.

Four wordings are known: ``text`` (pieces parted by ``[SEP]``), the same with each piece in quotes, ``text_rich``
(``[button] ... [button_]``), and bracketed lines (``[Back to Search]``, ``color [black][blue]``), which agents that
prompt a model often use.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal, NamedTuple

__all__ = ["Shown", "ShownKind", "read_page", "stated_goal"]

ShownKind = Literal[
    "index", "search_results", "item_page", "item_sub_page", "done", "chosen", "noted", "refused", "nothing"
]
"""A kind of page, or an answer that is none: an option noted, a thought noted, a refusal, nothing that we know."""

Role = Literal["plain", "click", "unmarked"]


class _Piece(NamedTuple):
    words: str
    role: Role


@dataclass(frozen=True, slots=True)
class Shown:
    """What an observation shows.

    Attributes:
        kind: What it is.
        number: Page of the results, from 1; 0 where none is shown.
        listed: Products on the page of results.
        area: On a product's page, what stands between the buttons at the top and its name: groups and their values.
        groups: The same told apart, where the wording marks what can be clicked.
        choice: The option that a notice or a marked page says was clicked last.
        score: What the purchase was worth.
    """

    kind: ShownKind
    number: int = 0
    listed: tuple[str, ...] = ()
    area: tuple[str, ...] = ()
    groups: Mapping[str, tuple[str, ...]] | None = field(default=None, hash=False)
    choice: str = ""
    score: float | None = None

    def groups_by(self, names: Collection[str]) -> Mapping[str, tuple[str, ...]]:
        """Option groups with their values; names in the order of the page tell them apart where nothing is marked."""
        if self.groups is not None:
            return self.groups
        wanted = list(names)
        found: dict[str, list[str]] = {}
        current: list[str] = []
        for words in self.area:
            if wanted and words == wanted[0]:
                current = found.setdefault(wanted.pop(0), [])
            else:
                current.append(words)
        return {name: tuple(values) for name, values in found.items()}


_PAGE = re.compile(r"Page (\d+) \(")
_SCORE = re.compile(r"(?:Your score|score) \(min 0\.0, max 1\.0\)\D*(\d+(?:\.\d+)?(?:e-\d+)?)", re.IGNORECASE)
_NOTICE = re.compile(r"You have clicked (.+)\.")
_STATISTICS = re.compile(r"\n\s*\n[\d.e\- ]+(?:\n-*)?\s*\Z")
_MARKED = re.compile(r"\[(?:clicked )?button\] (.*?) \[(?:clicked )?button_\]")
_BRACKETED = re.compile(r"\[([^\[\]]+)\]")
_ASIN = re.compile(r"[A-Z0-9]{10}")
_INSTRUCTION = re.compile(r"Instruction:\s*(?:\[SEP\])?\s*(.+?)\s*(?:\[SEP\]|\n|$)", re.IGNORECASE)
_TOP = frozenset(("back to search", "< prev", "next >", "< back to results", "< back to item page"))
_RETURNS = frozenset(("< prev", "< back to item page"))


def stated_goal(observation: str) -> str:
    """The instruction on a page; empty where there is none."""
    found = _INSTRUCTION.search(observation)
    return found.group(1).strip("' ") if found else ""


@lru_cache(maxsize=4096)
def read_page(observation: str) -> Shown:
    """What an observation shows."""
    told = _STATISTICS.sub("", observation).strip()
    score = _SCORE.search(told)
    if score is not None or told.startswith("Thank you for shopping"):
        return Shown("done", score=float(score.group(1)) if score else None)
    if told.lower().startswith("invalid action"):
        return Shown("refused")
    if told.rstrip(".").lower() == "ok":
        return Shown("noted")
    notice = _NOTICE.fullmatch(told)
    if notice is not None:
        return Shown("chosen", choice=notice.group(1).lower())
    return _page(_pieces(told))


def _page(pieces: Sequence[_Piece]) -> Shown:
    names = [piece.words.lower() for piece in pieces]
    for place, piece in enumerate(pieces):
        header = _PAGE.match(piece.words)
        if header is not None:
            return Shown("search_results", int(header.group(1)), _listed(pieces[place + 1 :]))
    if "buy now" in names:
        return _item(pieces, names)
    if "back to search" in names and _RETURNS & set(names):
        return Shown("item_sub_page")
    if names and names[-1] == "search":
        return Shown("index")
    return Shown("nothing")


def _pieces(told: str) -> list[_Piece]:
    """The pieces of a page in order, with what the wording says of each."""
    if "[SEP]" in told:
        pieces = [piece.strip() for piece in told.split("[SEP]")]
        if all(len(piece) > 1 and piece[0] == piece[-1] == "'" for piece in pieces):
            pieces = [piece[1:-1] for piece in pieces]
        return [_Piece(piece, "unmarked") for piece in pieces]
    lines = [line.strip() for line in told.splitlines() if line.strip()]
    if "button_]" in told:
        matches = [(line, _MARKED.fullmatch(line)) for line in lines]
        return [_Piece(found.group(1), "click") if found else _Piece(line, "plain") for line, found in matches]
    pieces_of: list[_Piece] = []
    for line in lines:
        found = _BRACKETED.findall(line)
        rest = _BRACKETED.sub("", line).strip()
        # A line is a button, or a group's name followed by its values; brackets inside a name of a product are neither.
        if found and (not rest or (line.endswith("]") and line.startswith(rest + " ["))):
            pieces_of += [_Piece(rest, "plain")] if rest else []
            pieces_of += [_Piece(words, "click") for words in found]
        else:
            pieces_of.append(_Piece(line, "plain"))
    return pieces_of


def _listed(pieces: Sequence[_Piece]) -> tuple[str, ...]:
    rest = [piece for piece in pieces if piece.words.lower() not in _TOP]
    if rest and rest[0].role == "unmarked":
        return tuple(piece.words for piece in rest[::3] if _ASIN.fullmatch(piece.words))
    return tuple(piece.words for piece in rest if piece.role == "click" and _ASIN.fullmatch(piece.words))


def _item(pieces: Sequence[_Piece], names: Sequence[str]) -> Shown:
    price = next((place for place, name in enumerate(names) if name.startswith("price:")), len(names))
    top = max((place for place, name in enumerate(names[:price]) if name in _TOP), default=-1)
    area = pieces[top + 1 : max(price - 1, top + 1)]
    words = tuple(piece.words.lower() for piece in area)
    notice = _NOTICE.fullmatch(pieces[0].words)
    choice = notice.group(1).lower() if notice else ""
    if any(piece.role == "unmarked" for piece in pieces):
        return Shown("item_page", area=words, choice=choice)
    groups: dict[str, list[str]] = {}
    current: list[str] = []
    for piece in area:
        if piece.role == "plain":
            current = groups.setdefault(piece.words.lower(), [])
        else:
            current.append(piece.words.lower())
    return Shown("item_page", area=words, groups={name: tuple(v) for name, v in groups.items()}, choice=choice)
