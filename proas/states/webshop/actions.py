"""Reads what an agent said as an action of the shop."""

from __future__ import annotations

import re
from typing import NamedTuple

__all__ = ["Spoken", "plain_words", "spoken_action"]

_TAGGED = re.compile(r"<action>(.*?)</action>", re.IGNORECASE | re.DOTALL)
_ACTION = re.compile(r"(?:^|\n|\baction\s*:)\s*(search|click|think)\s*\[(.*)\]", re.IGNORECASE | re.DOTALL)
_SPACE = re.compile(r"[ \t\r\n]+")  # a no-break space stays: some products' options are told apart by it


class Spoken(NamedTuple):
    """An action in its two parts, both in small letters: ``click`` and ``buy now``."""

    verb: str
    argument: str


def spoken_action(words: str) -> Spoken | None:
    """The action in an agent's words, also inside ``<action>`` tags or after ``Action:``; ``None`` without any."""
    tagged = _TAGGED.search(words)
    said = tagged.group(1) if tagged else words
    found = _ACTION.search(said)
    if found is not None:
        return Spoken(found.group(1).lower(), _SPACE.sub(" ", found.group(2)).strip(" ").lower())
    return Spoken("think", "") if said.strip().lower().startswith("think") else None


def plain_words(words: str) -> str:
    """Canonical form of words that the shop did not carry out: small letters, single spaces."""
    return _SPACE.sub(" ", words).strip().lower()[:200]
