"""A small decoder-only transformer of the usual kind: RMSNorm, rotary positions, grouped-query attention, SwiGLU.

The parts and their order are those of Llama and Qwen2; the head is tied to the embedding. Shapes: B sequences, T
positions, D width, H query heads, K key heads, E = D / H. Sources: Zhang and Sennrich, 2019 (RMSNorm); Su et al.,
2021 (rotary positions); Ainslie et al., 2023 (grouped queries); Shazeer, 2020 (SwiGLU).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from pydantic import BaseModel, ConfigDict, Field, model_validator
from torch import Tensor, nn
from torch.nn import functional

from proas.errors import UsageError

__all__ = ["Decoder", "DecoderConfig", "KeyValueCache"]


class DecoderConfig(BaseModel):
    """Size of a decoder.

    Attributes:
        vocabulary: Number of tokens.
        width: D.
        layers: Number of blocks.
        heads: H.
        key_heads: K, a divisor of H.
        hidden: Width of the feed-forward part.
        rope_base: Base of the rotary frequencies.

    Raises:
        UsageError: The numbers of heads do not divide the width, or each other.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    vocabulary: int = Field(gt=0)
    width: int = Field(default=128, gt=0)
    layers: int = Field(default=2, gt=0)
    heads: int = Field(default=4, gt=0)
    key_heads: int = Field(default=1, gt=0)
    hidden: int = Field(default=256, gt=0)
    rope_base: float = Field(default=10_000.0, gt=1.0)

    @model_validator(mode="after")
    def _heads_divide(self) -> DecoderConfig:
        if self.width % self.heads or self.heads % self.key_heads or (self.width // self.heads) % 2:
            raise UsageError(
                f"width {self.width}, {self.heads} heads and {self.key_heads} key heads do not fit",
                hint="heads must divide the width into even parts, key heads must divide the heads",
            )
        return self


class KeyValueCache:
    """Keys and values of sequences that grow at different rates; a row's free places are simply written over.

    Args:
        config: The decoder's size.
        rows: Number of sequences B.
        capacity: Places of a row at first; it doubles where needed.
    """

    def __init__(self, config: DecoderConfig, rows: int, capacity: int) -> None:
        shape = (rows, config.key_heads, capacity, config.width // config.heads)
        self.keys = [torch.zeros(shape) for _ in range(config.layers)]
        self.values = [torch.zeros(shape) for _ in range(config.layers)]
        self.lengths = torch.zeros(rows, dtype=torch.long)
        self._longest = 0

    @property
    def capacity(self) -> int:
        """Places of a row."""
        return int(self.keys[0].shape[2])

    @property
    def longest(self) -> int:
        """Upper bound of the rows' lengths, without a look at the tensor."""
        return self._longest

    def reserve(self, extra: int) -> None:
        """Make room for so many more places after the longest row."""
        needed = self._longest + extra
        if needed <= self.capacity:
            return
        size = max(needed, 2 * self.capacity)
        for store in (self.keys, self.values):
            for layer, old in enumerate(store):
                bigger = old.new_zeros((*old.shape[:2], size, old.shape[3]))
                bigger[:, :, : old.shape[2]] = old
                store[layer] = bigger

    def advance(self, counts: Tensor) -> None:
        """Lengthen the rows, ``(B,)``."""
        self.lengths = self.lengths + counts
        self._longest = int(self.lengths.max()) if self.lengths.numel() else 0

    def select(self, rows: Tensor) -> None:
        """Keep these rows, in this order; a row may be taken many times."""
        self.lengths = self.lengths[rows]
        self._longest = int(self.lengths.max()) if rows.numel() else 0
        used = self._longest
        for store in (self.keys, self.values):
            for layer, old in enumerate(store):
                store[layer] = old[:, :, : max(used, 1)].index_select(0, rows)


_GROUPS = 8
"""Groups of sequences, alike in what they read, that attention over a cache takes one after the other."""


@dataclass(frozen=True, slots=True)
class _Reading:
    """Sequences that read about as many tokens, for attention over a cache: what is filled up costs as what counts.

    Attributes:
        rows: Their numbers; ``None`` for all, which spares a copy of the cache.
        tokens: Which of the N tokens are theirs.
        row: Of each of these tokens, its sequence among them.
        column: Of each, its place among what the sequence reads.
        mask: ``(B, 1, M, T)``, zero where a token may look.
    """

    rows: Tensor | None
    tokens: Tensor
    row: Tensor
    column: Tensor
    mask: Tensor

    def of(self, stored: Tensor) -> Tensor:
        """What a cache ``(B, K, C, E)`` holds of them, up to their longest."""
        long = stored[:, :, : self.mask.shape[-1]]
        return long if self.rows is None else long[self.rows]


def _readings(row: Tensor, column: Tensor, counts: Tensor, lengths: Tensor) -> list[_Reading]:
    """Group sequences ``(B,)`` by how many tokens they read, ``counts``, after ``lengths`` that they hold.

    ``row`` and ``column``, ``(N,)``, say of each token whose it is and which of them.
    """
    if int(counts.max()) == 1:
        return [_Reading(None, torch.arange(len(row)), row, column, _mask(counts, lengths))]
    readings: list[_Reading] = []
    for part in counts.argsort(stable=True).chunk(_GROUPS):
        place = torch.full_like(counts, -1)
        place[part] = torch.arange(len(part))
        (tokens,) = (place[row] >= 0).nonzero(as_tuple=True)
        if len(tokens):
            mask = _mask(counts[part], lengths[part])
            readings.append(_Reading(part, tokens, place[row[tokens]], column[tokens], mask))
    return readings


def _mask(counts: Tensor, lengths: Tensor) -> Tensor:
    """``(B, 1, M, T)``: minus infinity where a sequence's next tokens may not look, zero elsewhere."""
    length = int(counts.max())
    places = lengths.unsqueeze(1) + torch.arange(length)
    total = int(lengths.max()) + length
    closed = torch.arange(total).view(1, 1, total) > places.unsqueeze(2)
    return torch.zeros(closed.shape).masked_fill_(closed, float("-inf")).unsqueeze(1)


class _Norm(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x: Tensor) -> Tensor:
        return functional.rms_norm(x, (x.shape[-1],), self.weight, 1e-6)


class _Block(nn.Module):
    def __init__(self, config: DecoderConfig) -> None:
        super().__init__()
        self.heads, self.key_heads = config.heads, config.key_heads
        self.size = config.width // config.heads
        self.before_attention = _Norm(config.width)
        self.query_key_value = nn.Linear(config.width, (config.heads + 2 * config.key_heads) * self.size, bias=False)
        self.output = nn.Linear(config.width, config.width, bias=False)
        self.before_feed_forward = _Norm(config.width)
        self.gate_up = nn.Linear(config.width, 2 * config.hidden, bias=False)
        self.down = nn.Linear(config.hidden, config.width, bias=False)

    def project(self, x: Tensor, cos: Tensor, sin: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Queries ``(N, H, E)``, keys and values ``(N, K, E)`` of N tokens ``(N, D)``, rotated by ``(N, 1, E / 2)``."""
        mixed = self.query_key_value(self.before_attention(x)).view(x.shape[0], -1, self.size)
        turned, values = torch.split(mixed, [self.heads + self.key_heads, self.key_heads], dim=1)
        half = self.size // 2
        first, second = turned[..., :half], turned[..., half:]
        turned = torch.cat([first * cos - second * sin, second * cos + first * sin], dim=-1)
        queries, keys = torch.split(turned, [self.heads, self.key_heads], dim=1)
        return queries, keys, values

    def attend(self, queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
        """What queries ``(B, M, H, E)`` find in keys ``(B, K, T, E)`` under a mask ``(B, 1, M, T)``; shaped alike."""
        rows, length = queries.shape[:2]
        if length == 1:  # a key head's queries become its places, which spares the copies that grouping makes
            folded = queries.view(rows, self.key_heads, -1, self.size)
            found = functional.scaled_dot_product_attention(folded, keys, values, attn_mask=mask)
            return found.reshape(rows, 1, self.heads, self.size)
        found = functional.scaled_dot_product_attention(
            queries.transpose(1, 2), keys, values, attn_mask=mask, enable_gqa=self.heads != self.key_heads
        )
        return found.transpose(1, 2)

    def finish(self, x: Tensor, attended: Tensor) -> Tensor:
        """The residual stream ``(N, D)`` after attention ``(N, H, E)`` and the feed-forward part."""
        x = x + self.output(attended.reshape(x.shape))
        gate, up = self.gate_up(self.before_feed_forward(x)).chunk(2, dim=-1)
        return torch.as_tensor(x + self.down(functional.silu(gate) * up))


class Decoder(nn.Module):
    """A causal language model. Weights are drawn from torch's global generator.

    Args:
        config: Its size.
    """

    def __init__(self, config: DecoderConfig) -> None:
        super().__init__()
        self.config = config
        self.embedding = nn.Embedding(config.vocabulary, config.width)
        self.blocks = nn.ModuleList(_Block(config) for _ in range(config.layers))
        self.norm = _Norm(config.width)
        nn.init.normal_(self.embedding.weight, std=0.02)
        for block in self._blocks():
            for linear in (block.query_key_value, block.gate_up):
                nn.init.normal_(linear.weight, std=1 / math.sqrt(config.width))
            nn.init.normal_(block.output.weight, std=1 / math.sqrt(2 * config.layers * config.width))
            nn.init.normal_(block.down.weight, std=1 / math.sqrt(2 * config.layers * config.hidden))
        half = config.width // config.heads // 2
        self.frequencies: Tensor
        self.register_buffer(
            "frequencies", config.rope_base ** (-torch.arange(half, dtype=torch.float32) / half), persistent=False
        )

    def forward(self, tokens: Tensor) -> Tensor:
        """Hidden states ``(B, T, D)`` of whole sequences ``(B, T)``; right padding changes nothing before it."""
        rows, length = tokens.shape
        x = self._embed(tokens.reshape(-1))
        cos, sin = self._rotation(torch.arange(length).repeat(rows))
        for block in self._blocks():
            queries, keys, values = (part.view(rows, length, -1, block.size) for part in block.project(x, cos, sin))
            attended = functional.scaled_dot_product_attention(
                queries.transpose(1, 2),
                keys.transpose(1, 2),
                values.transpose(1, 2),
                is_causal=True,
                enable_gqa=block.heads != block.key_heads,
            )
            x = block.finish(x, attended.transpose(1, 2))
        return torch.as_tensor(self.norm(x)).view(rows, length, -1)

    def extend(self, tokens: Tensor, counts: Tensor, cache: KeyValueCache) -> Tensor:
        """Append tokens to cached sequences. All but attention runs over the tokens that count alone.

        Args:
            tokens: ``(B, M)``, filled up on the right.
            counts: Tokens of each row that count, ``(B,)``; not all zero.
            cache: What came before; it is lengthened.

        Returns:
            Hidden state of each row's last token, ``(B, D)``; meaningless for a row without any.
        """
        cache.reserve(tokens.shape[1])
        row, column = (torch.arange(tokens.shape[1]) < counts.unsqueeze(1)).nonzero(as_tuple=True)
        place = cache.lengths[row] + column
        readings = _readings(row, column, counts, cache.lengths)
        x = self._embed(tokens[row, column])
        cos, sin = self._rotation(place)
        for layer, block in enumerate(self._blocks()):
            queries, keys, values = block.project(x, cos, sin)
            stored_keys, stored_values = cache.keys[layer], cache.values[layer]
            stored_keys[row, :, place] = keys
            stored_values[row, :, place] = values
            attended = torch.empty_like(queries)
            for reading in readings:
                spread = queries.new_zeros(len(reading.mask), reading.mask.shape[2], block.heads, block.size)
                spread[reading.row, reading.column] = queries[reading.tokens]
                found = block.attend(spread, reading.of(stored_keys), reading.of(stored_values), reading.mask)
                attended[reading.tokens] = found[reading.row, reading.column]
            x = block.finish(x, attended)
        cache.advance(counts)
        return torch.as_tensor(self.norm(x[(counts.cumsum(0) - 1).clamp(min=0)]))

    def logits(self, hidden: Tensor) -> Tensor:
        """Scores of the next token, ``(..., V)``, from hidden states ``(..., D)``."""
        return functional.linear(hidden, self.embedding.weight)

    def _embed(self, tokens: Tensor) -> Tensor:
        # Small entries keep the tied head calm at first; the stream is scaled as in Gemma.
        return torch.as_tensor(self.embedding(tokens) * math.sqrt(self.config.width))

    def _rotation(self, places: Tensor) -> tuple[Tensor, Tensor]:
        """Cosine and sine of the rotary angles, ``(N, 1, E / 2)``, of N places."""
        angles = (places.unsqueeze(-1).to(torch.float32) * self.frequencies).unsqueeze(1)
        return angles.cos(), angles.sin()

    def _blocks(self) -> list[_Block]:
        return [block for block in self.blocks if isinstance(block, _Block)]
