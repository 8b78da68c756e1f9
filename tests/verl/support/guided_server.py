"""A rollout engine for tests: a small model that plays by guided choice, as engines offer it.

The prompt lists the actions that apply. The reply is one of them in the form asked for; which one, the model's own
likelihoods say, times a plain prior (words of the task attract, places visited before repel) without which a model of
random weights would never solve anything. Some replies keep to no form at all, as early replies do.
"""

from __future__ import annotations

import verl  # isort: skip  (first: it loads its own modules in the right order)

import math
import random
import re
from typing import Any

import torch
from prior import prior
from verl.workers.rollout.replica import TokenOutput

assert verl is not None

FORMLESS = 0.1
"""Share of replies that keep to no form."""


class GuidedServer:
    """One replica of the engine.

    Args:
        path: Folder of the model.
    """

    def __init__(self, path: str) -> None:
        from transformers import AutoModelForCausalLM, AutoTokenizer

        torch.set_num_threads(1)
        self._tokenizer = AutoTokenizer.from_pretrained(path)
        self._model = AutoModelForCausalLM.from_pretrained(path).eval()
        self._rng = random.Random(0)
        self._step = 0

    async def generate(
        self, request_id: str, *, prompt_ids: list[int], sampling_params: dict[str, Any], **more: Any
    ) -> TokenOutput:
        """Sample a reply to a prompt."""
        reply = self._reply(self._tokenizer.decode(prompt_ids, skip_special_tokens=True), prompt_ids)
        ids = [*self._tokenizer.encode(reply, add_special_tokens=False), self._tokenizer.eos_token_id]
        ids = ids[: int(sampling_params.get("max_tokens") or len(ids))]
        logprobs = self._logprobs(prompt_ids, ids)
        return TokenOutput(token_ids=ids, log_probs=logprobs, extra_fields={"global_steps": self._step})

    async def load(self, state: dict[str, Any], step: int | None) -> bool:
        """Take new weights."""
        tensors = {name: torch.as_tensor(value) for name, value in state.items()}
        missing = self._model.load_state_dict(tensors, strict=False).unexpected_keys
        assert not missing, missing
        self._step = step or 0
        return True

    async def noop(self, *args: Any, **kwargs: Any) -> None:
        """Memory is no concern here."""

    wake_up = sleep = abort_all_requests = resume_generation = clear_kv_cache = release_kv_cache = resume_kv_cache = (
        noop
    )

    def _reply(self, prompt: str, prompt_ids: list[int]) -> str:
        offered = prompt.rpartition("Actions that apply now:")[2]
        actions = re.findall(r"(?m)^- (.+)$", offered)
        if not actions or self._rng.random() < FORMLESS:
            return "I would go and see."
        task = re.search(r"Your task: (.+)", prompt)
        done = set(re.findall(r"(?:<action>|You did: )([^<\n]+)", prompt))
        likelihood = self._first_token(prompt_ids, actions)
        weights = [
            prior(action, task.group(1) if task else "", done) * math.exp(score)
            for action, score in zip(actions, likelihood, strict=True)
        ]
        action = self._rng.choices(actions, weights)[0]
        return f"<think>It may help.</think><action>{action}</action>"

    @torch.no_grad()
    def _first_token(self, prompt_ids: list[int], actions: list[str]) -> list[float]:
        logits = self._model(torch.tensor([prompt_ids])).logits[0, -1].log_softmax(-1)
        firsts = [self._tokenizer.encode(action, add_special_tokens=False)[0] for action in actions]
        return [float(logits[first]) for first in firsts]

    @torch.no_grad()
    def _logprobs(self, prompt_ids: list[int], ids: list[int]) -> list[float]:
        logits = self._model(torch.tensor([prompt_ids + ids])).logits[0, len(prompt_ids) - 1 : -1].log_softmax(-1)
        return logits.gather(1, torch.tensor(ids)[:, None])[:, 0].tolist()
