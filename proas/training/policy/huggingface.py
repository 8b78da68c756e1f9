"""Any causal language model of Hugging Face in a local folder, as a policy. Needs ``transformers``.

The conversation is plain text: the environment's words, then ``> `` and the action, ended by a new line. All is done on
the processor, in float32; for models of billions of weights use the integration with verl.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from proas.errors import DataError, UsageError

__all__ = ["HuggingFacePolicy"]

_ASK = "\n> "


class HuggingFacePolicy:
    """Implements ``proas.training.policy.base.LanguagePolicy``.

    Args:
        path: Folder of model and tokenizer; nothing is fetched from elsewhere, and no code in it is run.
        critic: Add a linear value head over the last hidden state, for PPO.

    Raises:
        UsageError: ``transformers`` is not installed, or there is no such folder.
        DataError: The folder holds no causal language model with a tokenizer.
    """

    def __init__(self, path: str, *, critic: bool = False) -> None:
        if find_spec("transformers") is None:
            raise UsageError("a Hugging Face model needs transformers", hint="pip install transformers")
        if not Path(path).is_dir():
            raise UsageError(f"there is no model folder {path}", hint="give the path of a local model")
        from transformers import AutoModelForCausalLM, AutoTokenizer

        try:
            self._tokenizer: Any = AutoTokenizer.from_pretrained(path, local_files_only=True)
            model: object = AutoModelForCausalLM.from_pretrained(path, local_files_only=True, dtype=torch.float32)
        except (OSError, ValueError, KeyError) as error:
            raise DataError(f"{path} holds no causal language model: {error}", hint="give another folder") from error
        self._model = _without_dropout(model)
        self._path = path
        self._end = int(self._tokens("\n")[-1])
        self.value: nn.Linear | None = None
        parts: dict[str, nn.Module] = {"model": self._model}
        if critic:
            self.value = nn.Linear(int(self._model.config.get_text_config().hidden_size), 1)
            nn.init.zeros_(self.value.weight)
            nn.init.zeros_(self.value.bias)
            parts["value"] = self.value
        self.module: nn.Module = nn.ModuleDict(parts)
        specials = {number for number in self._tokenizer.all_special_ids if number != self._end}
        self._never = torch.tensor(sorted(specials), dtype=torch.long)

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
        """Open a conversation for each prompt; equal prompts are read once."""
        number: dict[tuple[int, ...], int] = {}
        rows = [number.setdefault(tuple(prompt), len(number)) for prompt in prompts]
        session = _Session(self, self._model, len(number))
        scores, values = session.say(list(number))
        session.keep(rows)
        return session, scores[rows], values[rows]

    def score(self, tokens: Tensor, rows: Tensor, places: Tensor) -> tuple[Tensor, Tensor]:
        """Score whole sequences at some of their places; see ``LanguagePolicy``."""
        hidden = self._model.base_model(input_ids=tokens, use_cache=False).last_hidden_state
        return self.judge(hidden[rows, places])

    def judge(self, hidden: Tensor) -> tuple[Tensor, Tensor]:
        """Scores ``(N, V)`` and values ``(N,)`` of hidden states ``(N, D)``."""
        scores = self._model.get_output_embeddings()(hidden).index_fill(-1, self._never, float("-inf"))
        values = self.value(hidden).squeeze(-1) if self.value is not None else hidden.new_zeros(hidden.shape[0])
        return scores, values

    def describe(self) -> dict[str, Any]:
        """The folder, as plain JSON values."""
        return {"kind": "huggingface", "path": self._path, "critic": self.value is not None}

    @classmethod
    def from_description(cls, document: Mapping[str, Any], *, critic: bool | None = None) -> HuggingFacePolicy:
        """The inverse of :meth:`describe`, with the folder's weights."""
        return cls(str(document["path"]), critic=bool(document["critic"]) if critic is None else critic)

    def _tokens(self, text: str) -> list[int]:
        return list(self._tokenizer.encode(text, add_special_tokens=False))


def _without_dropout(model: Any) -> Any:
    """The model in evaluation mode: what is scored must be what was drawn."""
    return model.eval()


class _Session:
    """Conversations in the model's own cache. Rows of different length leave holes, which the mask hides."""

    def __init__(self, policy: HuggingFacePolicy, model: Any, rows: int) -> None:
        from transformers import DynamicCache

        self._policy = policy
        self._model = model
        self._cache: Any = DynamicCache(config=model.config)
        self._mask = torch.zeros(rows, 0, dtype=torch.long)

    def say(self, tokens: Sequence[Sequence[int]]) -> tuple[Tensor, Tensor]:
        """Append tokens; see ``Session``."""
        counts = torch.tensor([len(row) for row in tokens])
        width = int(counts.max())
        filled = torch.tensor([[*row, *[0] * (width - len(row))] for row in tokens])
        real = (torch.arange(width) < counts.unsqueeze(1)).to(torch.long)
        places = self._mask.sum(dim=1, keepdim=True) + (real.cumsum(dim=1) - 1).clamp(min=0)
        self._mask = torch.cat([self._mask, real], dim=1)
        found = self._model.base_model(
            input_ids=filled,
            attention_mask=self._mask,
            position_ids=places,
            past_key_values=self._cache,
            use_cache=True,
        )
        last = (counts - 1).clamp(min=0)
        return self._policy.judge(found.last_hidden_state[torch.arange(len(tokens)), last])

    def keep(self, rows: Sequence[int]) -> None:
        """Go on with these rows alone."""
        index = torch.tensor(rows, dtype=torch.long)
        self._cache.batch_select_indices(index)
        self._mask = self._mask[index]
