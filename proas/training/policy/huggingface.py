"""Any causal language model of Hugging Face in a local folder, as a policy. Needs ``transformers``.

The conversation is plain text: the environment's words, then ``> `` and the action, ended by a new line. All is done on
the processor, in float32; for models of billions of weights use the integration with verl.

Scores are the model's own logits, with whatever its family does to them (scaling, soft-capping): the whole model runs,
and only what its head reads is narrowed to the places that are asked for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from inspect import signature
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from proas.errors import DataError, UsageError

__all__ = ["HuggingFacePolicy", "positions_of"]

_ASK = "\n> "

_WINDOWS = ("sliding_window", "attention_chunk_size", "window_size", "attention_window")
"""How the configurations of families call the reach of their local attention, in tokens."""

_TRIED = ((5, 6, 7, 8, 9), (10, 11)), ((12,), (13, 14, 15)), ((16, 17), ()), ((18,), (19,))
"""Tokens that two conversations say in turn when a model's cache is tried: rows of unequal length, and one that waits.
"""


def positions_of(path: str) -> int | None:
    """Most tokens that a model's positions reach, as its configuration says; ``None`` where it names no limit.

    Args:
        path: Folder of the model.

    Raises:
        UsageError: ``transformers`` is not installed, or there is no such folder.
        DataError: The folder holds no model.
    """
    _require_folder(path)
    from transformers import AutoConfig

    try:
        return _positions(AutoConfig.from_pretrained(path, local_files_only=True))
    except (OSError, ValueError, KeyError) as error:
        raise DataError(f"{path} holds no causal language model: {error}", hint="give another folder") from error


class HuggingFacePolicy:
    """Implements ``proas.training.policy.base.LanguagePolicy``.

    Args:
        path: Folder of model and tokenizer; nothing is fetched from elsewhere, and no code in it is run.
        critic: Add a linear value head over what the model's own head reads, for PPO.

    Attributes:
        positions: Most tokens of a conversation; ``None`` where the model names no limit.
        caches: Whether conversations keep the model's key-value cache. Where it has none, or one that cannot hold rows
            of unequal length (state-space models), every token is read again for each new one.

    Raises:
        UsageError: ``transformers`` is not installed, or there is no such folder.
        DataError: The folder holds no causal language model with a tokenizer.
    """

    def __init__(self, path: str, *, critic: bool = False) -> None:
        _require_folder(path)
        from transformers import AutoModelForCausalLM, AutoTokenizer

        try:
            self._tokenizer: Any = AutoTokenizer.from_pretrained(path, local_files_only=True)
            model: object = AutoModelForCausalLM.from_pretrained(path, local_files_only=True, dtype=torch.float32)
        except (OSError, ValueError, KeyError) as error:
            raise DataError(f"{path} holds no causal language model: {error}", hint="give another folder") from error
        self._model = _without_dropout(model)
        self._head: Any = self._model.get_output_embeddings()
        if self._head is None:
            raise DataError(f"{path} holds a model without an output head", hint="give a causal language model")
        self._path = str(Path(path).resolve())
        self._end = int(self._tokens("\n")[-1])
        self.value: nn.Linear | None = None
        parts: dict[str, nn.Module] = {"model": self._model}
        if critic:
            self.value = nn.Linear(int(self._head.weight.shape[1]), 1)
            nn.init.zeros_(self.value.weight)
            nn.init.zeros_(self.value.bias)
            parts["value"] = self.value
        self.module: nn.Module = nn.ModuleDict(parts)
        specials = {number for number in self._tokenizer.all_special_ids if number != self._end}
        known = int(self._head.weight.shape[0])
        self._never = torch.tensor(sorted(number for number in specials if number < known), dtype=torch.long)
        self.positions: int | None = _positions(self._model.config)
        self.caches: bool = self._cache_can_be_shared()

    @property
    def end(self) -> int:
        """Token that ends an action: a new line."""
        return self._end

    def read(self, text: str, limit: int) -> tuple[int, ...]:
        """Tokens of what the environment says, and of the sign that asks for an action."""
        asked = self._tokens(_ASK)
        said = self._tokens(text.strip())
        room = max(1, limit - len(asked))
        if len(said) > room:
            head = room // 2
            said = said[:head] + said[len(said) - (room - head) :]
        return (*said, *asked)

    def read_action(self, action: str) -> tuple[int, ...]:
        """Tokens of an action, its end included."""
        return (*self._tokens(action.replace("\n", " ")), self._end)

    def write(self, tokens: Sequence[int]) -> str:
        """The action that tokens spell."""
        return str(self._tokenizer.decode([t for t in tokens if t != self._end], skip_special_tokens=True)).strip()

    def begin(self, prompts: Sequence[Sequence[int]]) -> tuple[_Session, Tensor, Tensor]:
        """Open a conversation for each prompt; equal prompts are read once. Raises as :meth:`score` does."""
        number: dict[tuple[int, ...], int] = {}
        rows = [number.setdefault(tuple(prompt), len(number)) for prompt in prompts]
        session = _Session(self, self._model, len(number), cached=self.caches)
        scores, values = session.say(list(number))
        session.keep(rows)
        return session, scores[rows], values[rows]

    def score(self, tokens: Tensor, rows: Tensor, places: Tensor) -> tuple[Tensor, Tensor]:
        """Score whole sequences at some of their places; see ``LanguagePolicy``.

        Raises:
            UsageError: They are longer than the model's positions reach.
        """
        self.require_room(int(tokens.shape[1]))
        return self.judge(rows, places, input_ids=tokens, use_cache=False)

    def judge(self, rows: Tensor, places: Tensor, **inputs: object) -> tuple[Tensor, Tensor]:
        """Run the model and answer with scores ``(N, V)`` and values ``(N,)`` at N places of its rows.

        Args:
            rows: Row of each place, ``(N,)``.
            places: Places in the input, ``(N,)``.
            inputs: What the model's ``forward`` takes.
        """
        read: list[Tensor] = []

        def narrow(_head: nn.Module, given: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
            hidden = given[0][rows, places]
            read.append(hidden)
            return (hidden.unsqueeze(0), *given[1:])

        handle = self._head.register_forward_pre_hook(narrow)
        try:
            found = self._model(**inputs)
        finally:
            handle.remove()
        scores = found.logits.squeeze(0).index_fill(-1, self._never, float("-inf"))
        values = self.value(read[-1]).squeeze(-1) if self.value is not None else scores.new_zeros(len(rows))
        return scores, values

    def require_room(self, length: int) -> None:
        """Refuse conversations longer than the model's positions reach.

        Raises:
            UsageError: It is longer.
        """
        if self.positions is not None and length > self.positions:
            raise UsageError(
                f"a conversation of {length} tokens is beyond the {self.positions} positions of {self._path}",
                hint="let texts hold less (text.*) or steps be fewer, or take a model with more positions",
            )

    def describe(self) -> dict[str, Any]:
        """The folder, as plain JSON values."""
        return {"kind": "huggingface", "path": self._path, "critic": self.value is not None}

    @classmethod
    def from_description(cls, document: Mapping[str, Any], *, critic: bool | None = None) -> HuggingFacePolicy:
        """The inverse of :meth:`describe`, with the folder's weights."""
        return cls(str(document["path"]), critic=bool(document["critic"]) if critic is None else critic)

    def _tokens(self, text: str) -> list[int]:
        return list(self._tokenizer.encode(text, add_special_tokens=False))

    @torch.no_grad()
    def _cache_can_be_shared(self) -> bool:
        """Whether rows of unequal length say the same through the model's cache as when each is read as a whole.

        It is tried, since families differ in what they keep and few say so.
        """
        if getattr(self._model, "_is_stateful", False):
            return False
        session = _Session(self, self._model, 2, cached=True)
        said: list[list[int]] = [[], []]
        for turn in _TRIED:
            for row, more in zip(said, turn, strict=True):
                row += [token % self._head.weight.shape[0] for token in more]
            try:
                through, _ = session.say([row[len(row) - len(more) :] for row, more in zip(said, turn, strict=True)])
            except Exception:  # noqa: BLE001 - foreign code; whatever it lacks, it cannot be relied on
                return False
            spoke = [row for row, more in enumerate(turn) if more]
            whole, _ = _Session(self, self._model, 2, cached=False).say(said)
            known = torch.isfinite(whole[0])
            apart = (through - whole)[spoke][:, known].abs().max()
            if not float(apart) <= 1e-3 * float(whole[spoke][:, known].std()):
                return False
        return True


def _require_folder(path: str) -> None:
    if find_spec("transformers") is None:
        raise UsageError("a Hugging Face model needs transformers", hint="pip install transformers")
    if not Path(path).is_dir():
        raise UsageError(f"there is no model folder {path}", hint="give the path of a local model")


def _positions(config: Any) -> int | None:
    found = getattr(config.get_text_config(), "max_position_embeddings", None)
    return found if isinstance(found, int) and found > 0 else None


def _without_dropout(model: Any) -> Any:
    """The model in evaluation mode: what is scored must be what was drawn."""
    return model.eval()


class _Session:
    """Conversations, in the model's own cache as long as that is exact.

    Rows of unequal length leave holes in the cache, which the mask hides. Local attention counts the holes in its
    reach: where a hole could push out a token, the cache is let go and all is read again from then on.
    """

    def __init__(self, policy: HuggingFacePolicy, model: Any, rows: int, *, cached: bool) -> None:
        from transformers import DynamicCache

        self._policy = policy
        self._model = model
        self._said: list[list[int]] = [[] for _ in range(rows)]
        self._cache: Any = DynamicCache(config=model.config) if cached else None
        self._mask = torch.zeros(rows, 0, dtype=torch.long)
        config = model.config.get_text_config()
        reaches = [reach for name in _WINDOWS if isinstance(reach := getattr(config, name, None), int)]
        self._reach = min(reaches, default=None)
        self._places = "position_ids" in signature(model.forward).parameters

    def say(self, tokens: Sequence[Sequence[int]]) -> tuple[Tensor, Tensor]:
        """Append tokens; see ``Session``."""
        for said, more in zip(self._said, tokens, strict=True):
            said.extend(more)
        self._policy.require_room(max(map(len, self._said)))
        width = max(map(len, tokens))
        if self._reach is not None and self._mask.shape[1] + width > self._reach:
            self._cache = None
        return self._again(tokens) if self._cache is None else self._further(tokens, width)

    def _further(self, tokens: Sequence[Sequence[int]], width: int) -> tuple[Tensor, Tensor]:
        """Read what is new, beside what the cache holds."""
        counts = torch.tensor([len(row) for row in tokens])
        real = (torch.arange(width) < counts.unsqueeze(1)).to(torch.long)
        places = self._mask.sum(dim=1, keepdim=True) + (real.cumsum(dim=1) - 1).clamp(min=0)
        self._mask = torch.cat([self._mask, real], dim=1)
        return self._policy.judge(
            torch.arange(len(tokens)),
            (counts - 1).clamp(min=0),
            input_ids=_filled(tokens),
            attention_mask=self._mask,
            past_key_values=self._cache,
            use_cache=True,
            **({"position_ids": places} if self._places else {}),
        )

    def _again(self, tokens: Sequence[Sequence[int]]) -> tuple[Tensor, Tensor]:
        """Read the rows that said something from their beginning."""
        spoke = [row for row, more in enumerate(tokens) if more]
        whole = [self._said[row] for row in spoke]
        last = torch.tensor([len(row) - 1 for row in whole])
        found, worth = self._policy.score(_filled(whole), torch.arange(len(spoke)), last)
        scores, values = found.new_zeros(len(tokens), found.shape[1]), worth.new_zeros(len(tokens))
        scores[spoke], values[spoke] = found, worth
        return scores, values

    def keep(self, rows: Sequence[int]) -> None:
        """Go on with these rows alone."""
        self._said = [list(self._said[row]) for row in rows]
        if self._cache is not None:
            index = torch.tensor(rows, dtype=torch.long)
            self._cache.batch_select_indices(index)
            self._mask = self._mask[index]


def _filled(rows: Sequence[Sequence[int]]) -> Tensor:
    """Rows of tokens as one array, filled up on the right."""
    width = max(map(len, rows))
    return torch.tensor([[*row, *[0] * (width - len(row))] for row in rows])
