"""A word-level tokenizer that is made from an environment's own text.

A *piece* is a word, a number or a sign; one that follows the last without white space is *glued* to it and written
with a leading ``##``, so that actions such as ``click[buy now]`` come back exactly as they were. Runs of pieces that
recur (``You arrive at``) become one token; pieces that name things with a number (``drawer 3``) never do, so that
``drawer`` and ``3`` mean the same wherever they stand. What was never seen is spelt in characters, a number digit by
digit. Observations are read *briefly*: articles, commas and full stops, which carry nothing, take no token.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from proas.errors import DataError

__all__ = ["ASK", "END", "PAD", "WordTokenizer"]

PAD = 0
"""Token that fills up."""
END = 1
"""Token that ends an action."""
ASK = 3
"""Token that ends what the environment says: an action is wanted. Without it a listing has no visible end, and a policy
goes on listing."""
_SPECIALS = ("<pad>", "<end>", "<unknown>", "<ask>")
_UNKNOWN = 2

_PIECE = re.compile(r"(\s*)([A-Za-z]+|[0-9]+|\S)")
_QUIET = frozenset({"a", "an", "the", "and", ",", "."})
_ALPHABET = [chr(code) for code in range(33, 127)]
_LONGEST_PHRASE = 8
_REMEMBERED = 50_000


class WordTokenizer:
    """See the module. Build one with :meth:`learn`; store it with :meth:`to_json`.

    Args:
        tokens: Words in the order of their numbers: specials, characters, pieces, then phrases as pieces joined by a
            blank.
    """

    def __init__(self, tokens: Sequence[str]) -> None:
        if tuple(tokens[: len(_SPECIALS)]) != _SPECIALS:
            raise DataError("this is no word tokenizer: its special tokens are missing", hint="learn it anew")
        self.tokens = tuple(tokens)
        self._number = {token: number for number, token in enumerate(self.tokens)}
        self._phrases: dict[str, list[tuple[tuple[str, ...], int]]] = {}
        for token in sorted(self.tokens[len(_SPECIALS) :], key=lambda t: (-t.count(" "), t)):
            pieces = tuple(token.split(" "))
            if len(pieces) > 1:
                self._phrases.setdefault(pieces[0], []).append((pieces, self._number[token]))
        self._seen: dict[tuple[str, bool], tuple[int, ...]] = {}

    @property
    def unknown(self) -> int:
        """Token of a character that was never seen."""
        return _UNKNOWN

    def __len__(self) -> int:
        """Size of the vocabulary."""
        return len(self.tokens)

    @classmethod
    def learn(
        cls, observations: Iterable[str], actions: Iterable[str], *, size: int = 1024, phrases: int = 96
    ) -> WordTokenizer:
        """A tokenizer for texts of this kind. The same texts give the same tokenizer.

        Args:
            observations: What the environment says, first observations and goals included.
            actions: What agents do.
            size: Most tokens, characters included; the rarest pieces are left to be spelt.
            phrases: Of these, at most so many runs of pieces.
        """
        lines = [_pieces(text, brief=True) for text in observations] + [_pieces(text) for text in actions]
        counts = Counter(piece for line in lines for piece in line)
        characters = sorted({*_ALPHABET, *(c for piece in counts for c in piece.removeprefix("##"))})
        alphabet = [form for c in characters for form in (c, f"##{c}")]
        room = size - len(_SPECIALS) - len(alphabet) - phrases
        words = [
            p for p, n in sorted(counts.items(), key=lambda item: (-item[1], item[0])) if n > 1 and p not in alphabet
        ]
        found = _phrases(lines, counts, phrases)
        return cls([*_SPECIALS, *alphabet, *words[: max(0, room)], *found])

    def encode(self, text: str, *, brief: bool = False, limit: int | None = None) -> tuple[int, ...]:
        """Tokens of a text.

        Args:
            text: The text.
            brief: Leave articles, commas and full stops out.
            limit: Most tokens; a longer text loses its middle.
        """
        known = self._seen.get((text, brief))
        if known is None:
            known = tuple(self._numbers(_pieces(text, brief=brief)))
            if len(self._seen) >= _REMEMBERED:
                self._seen.clear()
            self._seen[text, brief] = known
        if limit is not None and len(known) > limit:
            head = limit // 2
            return known[:head] + known[len(known) - (limit - head) :]
        return known

    def decode(self, numbers: Iterable[int]) -> str:
        """Text of tokens; padding, ends and questions are left out."""
        text = ""
        for number in numbers:
            if number in (PAD, END, ASK):
                continue
            for piece in self.tokens[number].split(" "):
                glued = piece.startswith("##") and len(piece) > 2
                text += piece[2:] if glued else f" {piece}" if text else piece
        return text

    def to_json(self) -> dict[str, Any]:
        """The tokenizer as plain JSON values."""
        return {"kind": "word", "tokens": list(self.tokens)}

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> WordTokenizer:
        """The inverse of :meth:`to_json`. Raises ``DataError`` on another document."""
        tokens = document.get("tokens")
        if document.get("kind") != "word" or not isinstance(tokens, list):
            raise DataError("this is no word tokenizer", hint="take the tokenizer.json of a run")
        return cls([str(token) for token in tokens])

    def _numbers(self, pieces: Sequence[str]) -> Iterable[int]:
        at = 0
        while at < len(pieces):
            for phrase, number in self._phrases.get(pieces[at], ()):  # longest first
                if tuple(pieces[at : at + len(phrase)]) == phrase:
                    yield number
                    at += len(phrase)
                    break
            else:
                yield from self._spelt(pieces[at])
                at += 1

    def _spelt(self, piece: str) -> Iterable[int]:
        number = self._number.get(piece)
        if number is not None:
            yield number
            return
        glued = piece.startswith("##") and len(piece) > 2
        for place, character in enumerate(piece[2:] if glued else piece):
            form = f"##{character}" if glued or place else character
            yield self._number.get(form, _UNKNOWN)


def _pieces(text: str, *, brief: bool = False) -> list[str]:
    """Pieces of a text, glued ones with a leading ``##``."""
    found: list[str] = []
    for place, match in enumerate(_PIECE.finditer(text)):
        space, piece = match.groups()
        if brief and piece in _QUIET:
            continue
        found.append(piece if space or not place else f"##{piece}")
    return found


def _phrases(lines: Sequence[Sequence[str]], counts: Mapping[str, int], most: int) -> list[str]:
    """Runs of pieces that recur, by merging the most frequent neighbours again and again.

    Numbers stay alone, and so do names: pieces that are followed by a number more often than not.
    """
    numbered: Counter[str] = Counter()
    for line in lines:
        numbered.update(first for first, second in pairwise(line) if second.removeprefix("##").isdigit())
    alone = {piece for piece in counts if piece.removeprefix("##").isdigit() or 2 * numbered[piece] > counts[piece]}
    unique = Counter(tuple(line) for line in lines)
    runs = [([*line], n) for line, n in unique.items()]
    found: list[str] = []
    for _ in range(most):
        pairs: Counter[tuple[str, str]] = Counter()
        for run, n in runs:
            for pair in pairwise(run):
                if alone.isdisjoint(pair) and sum(p.count(" ") + 1 for p in pair) <= _LONGEST_PHRASE:
                    pairs[pair] += n
        if not pairs:
            break
        (first, second), n = max(pairs.items(), key=lambda item: (item[1], item[0]))
        if n < 2:
            break
        merged = f"{first} {second}"
        found.append(merged)
        runs = [(_merge(run, first, second, merged), n) for run, n in runs]
    return found


def _merge(run: list[str], first: str, second: str, merged: str) -> list[str]:
    if first not in run:
        return run
    out: list[str] = []
    at = 0
    while at < len(run):
        if run[at] == first and at + 1 < len(run) and run[at + 1] == second:
            out.append(merged)
            at += 2
        else:
            out.append(run[at])
            at += 1
    return out
