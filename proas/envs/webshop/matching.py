"""How WebShop compares words: the fuzzy score of its reward, and its names of colours.

The original scores with thefuzz's ``token_set_ratio`` and accepts more than 85. The same number is computed here from
its definition, so that neither the environment nor the states need that package; the tests hold values of the original.
"""

from __future__ import annotations

import re
from functools import lru_cache

__all__ = ["ACCEPTED_ABOVE", "colour_or_text", "option_met", "similar", "token_set_ratio"]

ACCEPTED_ABOVE = 85
"""A score above this counts as a match."""

# The order decides which colour a text of several is taken for; it is part of the reward's definition.
_COLOUR_NAMES = """
alabaster apricot aqua ash asphalt azure banana beige black blue blush bordeaux bronze brown burgundy camel camo
caramel champagne charcoal cheetah chestnut chocolate christmas coffee cognac copper coral cranberry cream crystal
dark denim eggplant elephant espresso fuchsia gold granite grape graphite grass gray green grey heather indigo ivory
ivy khaki lavender lemon leopard light lilac lime magenta maroon mauve merlot midnight mint mocha multicolor
mushroom mustard natural navy nude olive orange peach pewter pink plum purple rainbow red rose royal rust sand
sapphire seashell silver skull slate steel stone stonewash sunflower tan taupe teal tiger turquoise violet walnut
wheat white wine yellow
"""
_COLOURS = tuple(_COLOUR_NAMES.split())
_NOT_WORD = re.compile(r"[\W_]")
_DROPPED = dict.fromkeys(range(128, 256))  # thefuzz removes these, and these only, before it compares


@lru_cache(maxsize=65_536)
def colour_or_text(text: str) -> str:
    """The first colour of the original's list that occurs in a text, else the text itself."""
    return next((colour for colour in _COLOURS if colour in text), text)


@lru_cache(maxsize=65_536)
def token_set_ratio(one: str, other: str) -> int:
    """Likeness of two texts as sets of words, from 0 to 100; thefuzz's ``token_set_ratio``.

    Words in common are set against each text's whole; what remains is compared letter by letter, by the longest common
    subsequence.
    """
    ours, theirs = set(_words(one)), set(_words(other))
    if not ours or not theirs:
        return 0
    shared, left, right = ours & theirs, ours - theirs, theirs - ours
    if shared and (not left or not right):
        return 100
    rest, rest_of_other = " ".join(sorted(left)), " ".join(sorted(right))
    common = len(" ".join(sorted(shared)))
    gap = 1 if common else 0
    whole = common + gap + len(rest)
    whole_of_other = common + gap + len(rest_of_other)
    distance = len(rest) + len(rest_of_other) - 2 * _common_subsequence(rest, rest_of_other)
    best = _share(distance, whole + whole_of_other)
    if common:
        best = max(
            best,
            _share(gap + len(rest), common + whole),
            _share(gap + len(rest_of_other), common + whole_of_other),
        )
    return round(100 * best)


def similar(one: str, other: str) -> bool:
    """Whether the reward takes two texts for the same."""
    return token_set_ratio(one, other) > ACCEPTED_ABOVE


def option_met(wanted: str, chosen: str) -> bool:
    """Whether a chosen option counts as the wanted one: by colour where both name one, else by likeness."""
    return similar(colour_or_text(chosen), colour_or_text(wanted))


def _words(text: str) -> list[str]:
    return _NOT_WORD.sub(" ", text.translate(_DROPPED)).lower().split()


def _share(distance: int, total: int) -> float:
    return 1.0 - distance / total if total else 1.0


def _common_subsequence(one: str, other: str) -> int:
    """Length of the longest common subsequence, all positions of ``one`` at once as bits of an integer."""
    places: dict[str, int] = {}
    for position, letter in enumerate(one):
        places[letter] = places.get(letter, 0) | 1 << position
    every = (1 << len(one)) - 1
    unmatched = every
    for letter in other:
        hit = unmatched & places.get(letter, 0)
        unmatched = ((unmatched + hit) | (unmatched - hit)) & every
    return (every & ~unmatched).bit_count()
