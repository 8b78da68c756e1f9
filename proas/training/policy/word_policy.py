"""The small policy of our own: a decoder from scratch over words made from the environment's text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from proas.training.policy.decoder import Decoder, DecoderConfig, KeyValueCache
from proas.training.policy.tokenizer import ASK, END, PAD, WordTokenizer

__all__ = ["WordPolicy"]


class WordPolicy:
    """Implements ``proas.training.policy.base.LanguagePolicy``.

    Args:
        tokenizer: Words.
        config: Size of the decoder; its vocabulary is the tokenizer's.
        critic: Add a linear value head over the decoder's last hidden state, for PPO.
    """

    def __init__(self, tokenizer: WordTokenizer, config: DecoderConfig, *, critic: bool = False) -> None:
        self.tokenizer = tokenizer
        self.decoder = Decoder(config)
        self.value: nn.Linear | None = None
        parts: dict[str, nn.Module] = {"decoder": self.decoder}
        if critic:
            self.value = nn.Linear(config.width, 1)
            nn.init.zeros_(self.value.weight)
            nn.init.zeros_(self.value.bias)
            parts["value"] = self.value
        self.module: nn.Module = nn.ModuleDict(parts)
        self._never = torch.tensor([PAD, tokenizer.unknown, ASK])

    @property
    def end(self) -> int:
        """Token that ends an action."""
        return END

    def read(self, text: str, limit: int) -> tuple[int, ...]:
        """Tokens of what the environment says, and of the sign that asks for an action."""
        return (*(self.tokenizer.encode(text, brief=True, limit=limit - 1) if limit > 1 else ()), ASK)

    def read_action(self, action: str) -> tuple[int, ...]:
        """Tokens of an action, its end included."""
        return (*self.tokenizer.encode(action), END)

    def write(self, tokens: Sequence[int]) -> str:
        """The action that tokens spell."""
        return self.tokenizer.decode(tokens)

    def begin(self, prompts: Sequence[Sequence[int]]) -> tuple[_WordSession, Tensor, Tensor]:
        """Open a conversation for each prompt; equal prompts are read once."""
        number: dict[tuple[int, ...], int] = {}
        rows = [number.setdefault(tuple(prompt), len(number)) for prompt in prompts]
        longest = max(len(prompt) for prompt in number)
        session = _WordSession(self, KeyValueCache(self.decoder.config, len(number), 2 * longest))
        scores, values = session.say(list(number))
        session.keep(rows)
        return session, scores[rows], values[rows]

    def score(self, tokens: Tensor, rows: Tensor, places: Tensor) -> tuple[Tensor, Tensor]:
        """Score whole sequences at some of their places; see ``LanguagePolicy``."""
        return self.judge(self.decoder(tokens)[rows, places])

    def judge(self, hidden: Tensor) -> tuple[Tensor, Tensor]:
        """Scores ``(N, V)`` and values ``(N,)`` of hidden states ``(N, D)``."""
        scores = self.decoder.logits(hidden).index_fill(-1, self._never, float("-inf"))
        values = self.value(hidden).squeeze(-1) if self.value is not None else hidden.new_zeros(hidden.shape[0])
        return scores, values

    def describe(self) -> dict[str, Any]:
        """Tokenizer and size as plain JSON values."""
        return {
            "kind": "word",
            "tokenizer": self.tokenizer.to_json(),
            "decoder": self.decoder.config.model_dump(),
            "critic": self.value is not None,
        }

    @classmethod
    def from_description(cls, document: Mapping[str, Any], *, critic: bool | None = None) -> WordPolicy:
        """The inverse of :meth:`describe`, with fresh weights; ``critic`` adds or leaves out the value head."""
        wanted = bool(document["critic"]) if critic is None else critic
        tokenizer = WordTokenizer.from_json(document["tokenizer"])
        return cls(tokenizer, DecoderConfig.model_validate(document["decoder"]), critic=wanted)


class _WordSession:
    """Conversations with a key-value cache."""

    def __init__(self, policy: WordPolicy, cache: KeyValueCache) -> None:
        self._policy = policy
        self._cache = cache

    def say(self, tokens: Sequence[Sequence[int]]) -> tuple[Tensor, Tensor]:
        """Append tokens; see ``Session``."""
        counts = torch.tensor([len(row) for row in tokens])
        width = int(counts.max())
        filled = torch.tensor([[*row, *[PAD] * (width - len(row))] for row in tokens])
        return self._policy.judge(self._policy.decoder.extend(filled, counts, self._cache))

    def keep(self, rows: Sequence[int]) -> None:
        """Go on with these rows alone."""
        self._cache.select(torch.tensor(rows, dtype=torch.long))
