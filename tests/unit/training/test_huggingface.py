"""A local Hugging Face model acts and learns like our own; the model is a tiny one, made here."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

pytest.importorskip("transformers", reason="transformers is not installed")

from proas.envs.alfworld.world import AlfWorldWorld
from proas.errors import DataError, UsageError
from proas.training.crew import Crew
from proas.training.episodes import TextLimits
from proas.training.play import PlaySettings, play_tasks
from proas.training.policy.huggingface import HuggingFacePolicy
from proas.training.shard import ShardSpec, Signal, UpdateOrder
from proas.training.start import starting_weights

HOW = PlaySettings(group_size=2, seed=5, step_limit=4, limits=TextLimits(prompt=64, observation=24, action=6))


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Llama of two layers with random weights, and a tokenizer of bytes."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    folder = tmp_path_factory.mktemp("model")
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    inner = Tokenizer(models.BPE(vocab={sign: i + 1 for i, sign in enumerate(alphabet)} | {"<s>": 0}, merges=[]))
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = decoders.ByteLevel()
    PreTrainedTokenizerFast(tokenizer_object=inner, bos_token="<s>").save_pretrained(folder)
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=257,
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=512,
    )
    LlamaForCausalLM(config).save_pretrained(folder)
    return folder


def test_actions_come_back_and_end_with_a_line(model: Path) -> None:
    policy = HuggingFacePolicy(str(model))
    tokens = policy.read_action("take apple 1 from desk 2")
    assert tokens[-1] == policy.end
    assert policy.write(tokens) == "take apple 1 from desk 2"
    assert len(policy.read("x" * 500, 20)) == 20


def test_recorded_log_probabilities_are_those_of_the_whole_sequence(model: Path, world: AlfWorldWorld) -> None:
    policy = HuggingFacePolicy(str(model), critic=True)
    with torch.inference_mode():
        for episode in play_tasks(world, policy, world.tasks[:2], HOW).episodes:
            places = torch.from_numpy(episode.action_places.astype(np.int64))
            tokens = torch.from_numpy(episode.tokens.astype(np.int64))
            scores, _ = policy.score(tokens.unsqueeze(0), torch.zeros_like(places), places)
            logprobs = torch.log_softmax(scores, dim=-1).gather(1, tokens[places + 1].unsqueeze(1)).squeeze(1)
            np.testing.assert_allclose(logprobs.numpy(), episode.logprobs, atol=1e-4)


def test_it_learns_in_a_crew(model: Path, games: Path, world: AlfWorldWorld) -> None:
    description = HuggingFacePolicy(str(model)).describe()
    spec = ShardSpec("alfworld", games, games, {}, description, HOW.limits, 4096)
    with Crew(spec, starting_weights(description, 0, None), 1) as crew:
        tasks = world.tasks[:2]
        report = crew.play("train", tasks, HOW, keep=True)
        ones = {r.id: Signal(*(np.ones(len(r.steps), dtype=np.float32),) * 2) for r in report.rollouts}
        crew.prepare(ones, {r.id: tasks.index(r.task) for r in report.rollouts}, reference=False, temperature=1.0)
        gradient, stats = crew.gradient(list(ones), UpdateOrder())
        assert gradient.abs().sum() > 0
        assert stats.ratio / stats.weight == pytest.approx(1.0, abs=1e-4)


def test_folders_that_hold_no_model_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no model folder"):
        HuggingFacePolicy(str(tmp_path / "nowhere"))
    with pytest.raises(DataError, match="no causal language model"):
        HuggingFacePolicy(str(tmp_path))
