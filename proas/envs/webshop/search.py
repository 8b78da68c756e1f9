"""The shop's search: BM25 over the products' text, as Lucene does it.

The original asks Lucene through Pyserini: English analysis (Unicode words, possessives, stop words, Porter's stemmer)
and BM25 with k1 = 0.9 and b = 0.4, the fifty best, ties in the order of the products. Here ``bm25s`` scores the same
words by the same formula. Lucene keeps a text's length in one byte, rounded down; here it is exact, which changes the
order of close neighbours. The difference is measured against Lucene; see ``docs/webshop.md``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from importlib import import_module
from typing import Any, Protocol

import numpy as np

from proas.envs.webshop.products import Catalogue, Product
from proas.errors import EnvironmentFailure

__all__ = ["RESULTS", "Bm25Search", "Ranking", "analysed", "product_text"]

RESULTS = 50
"""Products that a search finds at most."""

K1 = 0.9
B = 0.4
_CACHED_QUERIES = 4096

# Lucene's own list.
_STOP = """
a an and are as at be but by for if in into is it no not of on or such that the their then there these they this to
was will with
"""
_STOP_WORDS = frozenset(_STOP.split())
# A word of Unicode's segmentation rules: letters and digits, with an apostrophe, a full stop or a colon between letters
# and a full stop, a comma or an apostrophe between digits.
_WORD = re.compile(
    r"\w+(?:(?:(?<=[^\W\d_])['’.:·](?=[^\W\d_])|(?<=\d)['’.,;](?=\d))\w+)*",
)


class Ranking(Protocol):
    """Finds products by words."""

    def search(self, words: str) -> Sequence[str]:
        """Numbers of the products found, best first."""
        ...


class Bm25Search:
    """A search over a catalogue.

    Args:
        catalogue: The products.
        k1: How fast more occurrences of a word stop counting.
        b: How much a long text is held against a product.

    Raises:
        EnvironmentFailure: The search library is not installed.
    """

    def __init__(self, catalogue: Catalogue, *, k1: float = K1, b: float = B) -> None:
        bm25s, stemmer = _libraries()
        self._stem: Callable[[list[str]], list[str]] = stemmer.stemWords
        self._asins = tuple(catalogue.products)
        self._index = bm25s.BM25(method="lucene", k1=k1, b=b)
        texts = [self._stem(analysed(product_text(product))) for product in catalogue]
        self._index.index(texts, show_progress=False)
        self._known = frozenset(word for text in texts for word in text)
        self._found = lru_cache(maxsize=_CACHED_QUERIES)(self._search)

    def search(self, words: str) -> Sequence[str]:
        """Numbers of the products that share a word with the query, best first, fifty at most."""
        return self._found(words)

    def _search(self, words: str) -> tuple[str, ...]:
        terms = [term for term in self._stem(analysed(words)) if term in self._known]
        if not terms:
            return ()
        scores: np.ndarray[Any, np.dtype[np.float32]] = self._index.get_scores(terms)
        best = np.argsort(-scores, kind="stable")[:RESULTS] if len(scores) <= 4 * RESULTS else _best(scores)
        return tuple(self._asins[i] for i in best if scores[i] > 0)


def _best(scores: np.ndarray[Any, np.dtype[np.float32]]) -> np.ndarray[Any, np.dtype[np.intp]]:
    """Places of the highest scores, ties by place."""
    least = np.partition(scores, len(scores) - RESULTS)[len(scores) - RESULTS]
    candidates = np.flatnonzero(scores >= least)
    order: np.ndarray[Any, np.dtype[np.intp]] = candidates[np.argsort(-scores[candidates], kind="stable")][:RESULTS]
    return order


def product_text(product: Product) -> str:
    """What is searched of a product: title, description, first bullet point, options; in small letters."""
    options = ", and ".join(f"{name}: {', '.join(values)}" for name, values in product.options.items())
    first = product.features[0] if product.features else ""
    return " ".join((product.title, product.description, first, options)).lower()


def analysed(text: str) -> list[str]:
    """The words of a text before stemming: small letters, no possessive ``'s``, no stop words."""
    words = (found.group() for found in _WORD.finditer(text.lower()))
    bare = (word[:-2] if word.endswith(("'s", "’s")) else word for word in words)
    return [word for word in bare if word not in _STOP_WORDS]


def _libraries() -> tuple[Any, Any]:
    """The search library and the stemmer; neither is needed before a shop opens."""
    try:
        return import_module("bm25s"), import_module("Stemmer").Stemmer("porter")
    except ImportError as error:
        raise EnvironmentFailure(
            f"WebShop's search needs {error.name}, which is not installed", hint="install proas[webshop]"
        ) from error
