"""A vLLM engine in this process, behind the same protocol as an endpoint.

vLLM batches whatever is under way by itself, so episodes simply ask at once. The prompt is tokenized here, by the
model's own chat template, so that counts are exact. Written against the engine of vLLM 0.11 and later
(``vllm.v1.engine.async_llm.AsyncLLM``, ``AsyncEngineArgs``), which the extra ``proas[vllm]`` brings; nothing of it is
imported before an engine is started.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from proas.agents.answers import words_of
from proas.agents.endpoint import PromptRefused, TryFailed
from proas.agents.model import Completion, Message, Sampling, Usage
from proas.errors import ModelRefused

__all__ = ["VllmEngine"]


class VllmEngine:
    """One model in this process; implements :class:`proas.agents.model.LanguageModel`.

    The engine starts with the first call, which may take minutes.

    Args:
        model: Name or folder of the model, as vLLM takes it.
        options: Further arguments of vLLM's engine, for example ``{"tensor_parallel_size": 2}``.
        served_name: Name under which it is recorded; the model's own if not given.
    """

    def __init__(self, model: str, options: Mapping[str, Any] | None = None, *, served_name: str = "") -> None:
        self.name = served_name or model
        self._model = model
        self._options = dict(options or {})
        self._engine: Any = None
        self._tokenizer: Any = None
        self._starting = asyncio.Lock()
        self._numbers = itertools.count()

    async def complete(self, messages: Sequence[Message], sampling: Sampling) -> Completion:
        """The reply to a conversation; see :class:`proas.agents.model.LanguageModel`.

        Raises:
            ModelRefused: vLLM is not installed, or cannot load the model.
            PromptRefused: The conversation is longer than the model takes.
            TryFailed: The engine failed at it.
        """
        await self._start()
        parameters: Any = import_module("vllm.sampling_params")
        ids = self._tokenizer.apply_chat_template(
            [{"role": m.role, "content": m.content} for m in messages],
            add_generation_prompt=True,
            tokenize=True,
            return_dict=False,
        )
        drawn = parameters.SamplingParams(
            temperature=sampling.temperature,
            top_p=sampling.top_p,
            max_tokens=sampling.max_tokens,
            stop=list(sampling.stop) or None,
            seed=sampling.seed,
            output_kind=parameters.RequestOutputKind.FINAL_ONLY,
        )
        name = f"proas-{next(self._numbers)}"
        prompt = {"prompt_token_ids": list(ids)}
        last: Any = None
        try:
            async for output in self._engine.generate(prompt, drawn, name):
                last = output
        except ValueError as error:  # what the engine says of a prompt that does not fit
            raise PromptRefused(f"the engine refuses the prompt: {words_of(str(error))}") from None
        except Exception as error:  # whatever breaks inside the engine ends this call, not the run
            raise TryFailed(f"the engine failed: {words_of(f'{type(error).__name__}: {error}')}") from error
        if last is None or not last.outputs:
            raise TryFailed("the engine gave no answer")
        reply = last.outputs[0]
        return Completion(reply.text, Usage(len(ids), len(reply.token_ids)), reply.finish_reason or "")

    async def check(self) -> tuple[str, ...] | None:
        """Look whether vLLM is installed. The model is not loaded for that.

        Raises:
            ModelRefused: It is not.
        """
        if find_spec("vllm") is None:
            raise ModelRefused(
                "vLLM is not installed, which --engine vllm needs",
                hint="pip install 'proas[vllm]', or serve the model elsewhere and give its --endpoint",
            )
        return None

    async def aclose(self) -> None:
        """End the engine and its processes."""
        if self._engine is not None:
            self._engine.shutdown()
            self._engine = None

    async def _start(self) -> None:
        async with self._starting:
            if self._engine is not None:
                return
            await self.check()
            try:
                arguments: Any = import_module("vllm.engine.arg_utils").AsyncEngineArgs
                kind: Any = import_module("vllm.v1.engine.async_llm").AsyncLLM
                engine = kind.from_engine_args(arguments(model=self._model, **self._options))
            except Exception as error:
                raise ModelRefused(
                    f"vLLM cannot start {self._model}: {words_of(f'{type(error).__name__}: {error}')}",
                    hint="try `vllm serve` with the same model and options",
                ) from error
            tokenizer = engine.get_tokenizer()
            self._tokenizer = await tokenizer if asyncio.iscoroutine(tokenizer) else tokenizer
            self._engine = engine
