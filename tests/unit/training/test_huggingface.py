"""A local Hugging Face model acts and learns like our own; the models are tiny ones, made here."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

pytest.importorskip("transformers", reason="transformers is not installed")

from proas.envs.alfworld.world import AlfWorldWorld
from proas.errors import DataError, UsageError
from proas.training.config import TrainConfig, preset
from proas.training.crew import Crew
from proas.training.episodes import TextLimits
from proas.training.play import PlaySettings, play_tasks
from proas.training.policy.huggingface import HuggingFacePolicy, positions_of
from proas.training.run_directory import RunDirectory
from proas.training.shard import ShardSpec, Signal, UpdateOrder
from proas.training.start import fresh_policy, starting_weights
from proas.training.trainer import Trainer
from tests.watchers import Silent

HOW = PlaySettings(group_size=2, seed=5, step_limit=4, limits=TextLimits(prompt=64, observation=24, action=6))


SMALL = {
    "vocab_size": 257,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "max_position_embeddings": 512,
    "pad_token_id": 0,
    "bos_token_id": 0,
    "eos_token_id": 0,
}
STATES = {"vocab_size": 257, "hidden_size": 32, "num_hidden_layers": 2}
"""Of a model without attention."""

FAMILIES: dict[str, tuple[str, dict[str, Any]]] = {
    "scaled logits": ("GraniteConfig", {**SMALL, "logits_scaling": 8.0, "embedding_multiplier": 12.0}),
    "multiplied logits": ("CohereConfig", {**SMALL, "logit_scale": 0.0625}),
    "capped logits": ("Gemma2Config", {**SMALL, "head_dim": 16, "final_logit_softcapping": 0.5}),
    "local attention": ("MistralConfig", {**SMALL, "sliding_window": 8}),
    "learnt positions": ("GPT2Config", {"vocab_size": 257, "n_embd": 32, "n_layer": 2, "n_head": 2, "n_positions": 64}),
    "relative positions": ("BloomConfig", {"vocab_size": 257, "hidden_size": 32, "n_layer": 2, "n_head": 2}),
    "positions by place": ("MptConfig", {"vocab_size": 257, "d_model": 32, "n_layers": 2, "n_heads": 2}),
    "narrow head": (
        "OPTConfig",
        {**SMALL, "ffn_dim": 48, "word_embed_proj_dim": 16},
    ),
    "no attention": ("MambaConfig", STATES),
    "convolutions": ("Lfm2Config", {**SMALL, "layer_types": ["conv", "full_attention"]}),
}
UNCACHED = {"positions by place", "no attention", "convolutions"}


def made(folder: Path, config: str, values: dict[str, Any]) -> Path:
    """A model of two layers with random weights, and a tokenizer of bytes."""
    import transformers
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    inner = Tokenizer(models.BPE(vocab={sign: i + 1 for i, sign in enumerate(alphabet)} | {"<s>": 0}, merges=[]))
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = decoders.ByteLevel()
    transformers.PreTrainedTokenizerFast(tokenizer_object=inner, bos_token="<s>").save_pretrained(folder)
    torch.manual_seed(0)
    model = transformers.AutoModelForCausalLM.from_config(getattr(transformers, config)(**values))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(3)  # so that tokens differ by more than rounding
    model.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made(tmp_path_factory.mktemp("model"), "LlamaConfig", SMALL)


@pytest.fixture(scope="module")
def family(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Folder of a model of a family."""

    def folder(name: str) -> Path:
        return made(tmp_path_factory.mktemp("family"), *FAMILIES[name])

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


@pytest.mark.parametrize("name", FAMILIES)
def test_scores_are_the_models_own(family: Callable[[str], Path], name: str) -> None:
    """Through a conversation with rows of unequal length, and over whole sequences."""
    policy = HuggingFacePolicy(str(family(name)), critic=True)
    assert policy.caches is (name not in UNCACHED)
    model = policy.module.get_submodule("model")
    said = [[20, 21, 22, 23], [30, 31], [20, 21, 22, 23]]
    with torch.inference_mode():
        session, scores, _ = policy.begin(said)
        for more in ([[40, 41], [42], [43]], [[44], [], [45, 46, 47]], [[48] * 7, [49], []], [[50], [51, 52], [53]]):
            scores, values = session.say(more)
            for row, words in enumerate(more):
                said[row] += words
                if words:
                    own = model(input_ids=torch.tensor([said[row]])).logits[0, -1]
                    np.testing.assert_allclose(scores[row, 1:], own[1:], atol=2e-4)
            assert values.shape == (3,)
        session.keep([2, 0])
        scores, _ = session.say([[60], [61, 62]])
        length = max(map(len, said)) + 2
        whole = [[*said[2], 60], [*said[0], 61, 62]]
        filled = torch.tensor([[*row, *[0] * (length - len(row))] for row in whole])
        places = torch.tensor([len(row) - 1 for row in whole])
        again, _ = policy.score(filled, torch.tensor([0, 1]), places)
        np.testing.assert_allclose(scores[:, 1:], again[:, 1:], atol=2e-4)
    assert torch.isinf(scores[:, 0]).all()  # the special token is never said


def test_logits_are_computed_where_they_are_asked_for_alone(model: Path) -> None:
    policy = HuggingFacePolicy(str(model))
    rows: list[int] = []
    head = policy.module.get_submodule("model.lm_head")
    head.register_forward_hook(lambda _head, _given, found: rows.append(found.shape[:-1].numel()))
    policy.score(torch.ones(4, 30, dtype=torch.long), torch.tensor([0, 0, 3]), torch.tensor([4, 5, 29]))
    assert rows == [3]


def test_a_model_without_a_cache_plays(family: Callable[[str], Path], world: AlfWorldWorld) -> None:
    policy = HuggingFacePolicy(str(family("no attention")))
    episodes = play_tasks(world, policy, world.tasks[:1], HOW).episodes
    assert [len(episode.rollout.steps) for episode in episodes] == [4, 4]


def test_positions_bound_a_conversation(family: Callable[[str], Path], model: Path) -> None:
    folder = str(family("learnt positions"))
    assert (positions_of(folder), positions_of(str(model))) == (64, 512)
    assert positions_of(str(family("no attention"))) is None
    policy = HuggingFacePolicy(folder)
    with torch.inference_mode():
        session, _, _ = policy.begin([[20] * 60])
        session.say([[21] * 4])
        with pytest.raises(UsageError, match="65 tokens is beyond the 64 positions"):
            session.say([[22]])
        with pytest.raises(UsageError, match="70 tokens is beyond"):
            policy.score(torch.ones(1, 70, dtype=torch.long), torch.tensor([0]), torch.tensor([3]))


def test_a_run_whose_episodes_outgrow_the_positions_is_refused(
    family: Callable[[str], Path], games: Path, tmp_path: Path
) -> None:
    config = preset("smoke").updated({"data": str(games), "policy.model": str(family("learnt positions"))})
    with pytest.raises(UsageError, match=r"text.episode=4096 .* 64 positions .*--set text.episode=64"):
        Trainer(config, RunDirectory(tmp_path), Silent())
    config = config.updated({"text.episode": 64, "text.prompt": 40})
    assert Trainer(config, RunDirectory(tmp_path), Silent()).config is config


def test_a_model_is_kept_by_its_absolute_path(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(model.parent)
    assert HuggingFacePolicy(model.name).describe()["path"] == str(model.resolve())
    settings = TrainConfig().updated({"policy.model": model.name}).policy
    assert settings.model == str(model.resolve())
    assert fresh_policy((), settings, critic=False)["path"] == str(model.resolve())


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
