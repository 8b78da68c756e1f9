"""The nouns of a product's name, told by the words' form.

The original tags each name with a language model (spaCy) and keeps nouns and proper nouns. In product names, where most
words are capitalised, the model takes nearly every word for one of the two, adjectives included. So here every word
counts but numbers, single letters, measures and function words. The difference this makes to the reward is measured;
see ``docs/webshop.md``.
"""

from __future__ import annotations

import re
from functools import lru_cache

__all__ = ["title_nouns"]

_WORD = re.compile(r"[^\W\d_][^\W_]+")
_FUNCTION_WORDS = """
the and or nor but if of in on at to from by for with without within into onto over under up down out off about
above below between through during per as than so it its is are was were be been being this that these those you he
she we they my your our their his her not yes can will all any each every both more most other such only very too
also just when where who which what how etc one two three four five six
"""
_MEASURES = "oz fl ml mm cm ft inch inches lb lbs kg gb mbps mhz ghz mah pc pcs th"
# What the model takes for a verb or an adjective even in a name.
_OTHERS = """
based comfortable damaged designed full fully included includes large made make original reduce shaped suitable
"""
_NO_NOUNS = frozenset((_FUNCTION_WORDS + _MEASURES + _OTHERS).split())


@lru_cache(maxsize=16_384)
def title_nouns(title: str) -> tuple[str, ...]:
    """The nouns of a name in small letters, in order, repetitions kept."""
    words = (found.group().lower() for found in _WORD.finditer(title))
    return tuple(word for word in words if word not in _NO_NOUNS)
