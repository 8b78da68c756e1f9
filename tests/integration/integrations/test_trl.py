"""One step of TRL's trainer on real games, with ProAS: the loss is computed from the shaped advantages."""

from __future__ import annotations

import asyncio
import math
import random
import re
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from proas.graph.connect import Connection
from proas.graph.store import ReferenceGraph
from proas.graph_builders import build_graph, builder
from proas.integrations.credit import CreditSettings
from proas.integrations.verl.episode import Episode, TaskRef
from proas.integrations.verl.play_settings import PlaySettings
from proas.integrations.verl.rows import carried
from proas.integrations.verl.worlds import Worlds
from proas.rollouts import Rollout, RolloutBatch
from proas.shaping import preset, shape

trl = pytest.importorskip("trl", reason="trl is not installed; it needs an environment apart from verl's")
SUPPORT = Path(__file__).parents[2] / "verl" / "support"


@pytest.fixture(scope="module", autouse=True)
def _support() -> Iterator[None]:
    sys.path.insert(0, str(SUPPORT))
    yield
    sys.path.remove(str(SUPPORT))


@pytest.fixture(scope="module")
def games(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from cpu_run import make_games

    return make_games(tmp_path_factory.mktemp("games"))


@pytest.fixture(scope="module")
def tiny_model(tmp_path_factory: pytest.TempPathFactory, games: Path) -> Path:
    from cpu_run import make_model

    from proas.envs import EnvSpec, open_world

    return make_model(tmp_path_factory.mktemp("model"), open_world(EnvSpec("alfworld", games)))


def rollout_function(games: Path, kept: list[Rollout]) -> Any:
    """Plays each prompt's task with a plain prior, and returns what TRL asks for and what ProAS needs."""
    from prior import prior

    worlds, threads, rng = Worlds(), ThreadPoolExecutor(1), random.Random(1)
    settings = PlaySettings(step_limit=10)

    def play(prompts: list[Any], trainer: Any) -> dict[str, Any]:
        out: dict[str, list[Any]] = {name: [] for name in ("prompt_ids", "completion_ids", "logprobs", "env_mask")}
        out |= {"proas": [], "won": []}
        for number, prompt in enumerate(prompts):
            episode = Episode(
                TaskRef(str(games), prompt, number, f"r{len(kept)}", prompt), settings, "dialogue", worlds, threads
            )
            tokenizer = trainer.processing_class
            row, mask, spans, done = [], [], [], set()
            asyncio.run(episode.begin())
            opening = tokenizer.apply_chat_template(episode.messages(), add_generation_prompt=True, tokenize=True)
            while not episode.is_over():
                offered = re.findall(r"(?m)^- (.+)$", episode.messages()[-1]["content"])
                action = rng.choices(offered, [prior(a, prompt.replace("_", " "), done) for a in offered])[0]
                done.add(action)
                reply = f"<think>so</think><action>{action}</action>"
                said = tokenizer.encode(reply, add_special_tokens=False)
                spans.append((len(row), len(row) + len(said)))
                row += [*said, tokenizer.eos_token_id]
                mask += [1] * len(said) + [0]
                asyncio.run(episode.act(reply, len(said)))
            rollout = episode.rollout()
            kept.append(rollout)
            out["prompt_ids"].append(list(opening["input_ids"] if hasattr(opening, "keys") else opening)[-64:])
            out["completion_ids"].append(row)
            out["logprobs"].append([-1.0] * len(row))
            out["env_mask"].append(mask)
            out["proas"].append(carried(rollout, first=0, count=len(spans), spans=spans))
            out["won"].append(rollout.reward)
        return out

    return play


@pytest.mark.filterwarnings("ignore")  # warnings of trl and of what it imports are not ours to mend
def test_one_step(
    graph: ReferenceGraph,
    games: Path,
    tiny_model: Path,
    connection: Connection,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from datasets import Dataset

    from proas.envs import EnvSpec, open_world
    from proas.integrations.trl import ProASGRPOTrainer

    monkeypatch.setenv("NEO4J_PASSWORD", connection.password.get_secret_value())
    build_graph("alfworld", builder("alfworld"), graph, data=games)
    layer_name = f"{graph.name}.run"
    credit = CreditSettings.of(
        {
            "graph": graph.name,
            "run": layer_name,
            "uri": connection.uri,
            "username": connection.username,
            "database": connection.database,
        }
    )
    seen: list[Any] = []

    class Witness(ProASGRPOTrainer):
        """Keeps what the loss is computed from."""

        def _compute_loss(self, model: Any, inputs: Any) -> Any:
            seen.append({name: inputs[name].clone() for name in ("advantages", "completion_mask", "tool_mask")})
            return super()._compute_loss(model, inputs)

    rollouts: list[Rollout] = []
    tasks = list(open_world(EnvSpec("alfworld", games)).tasks)[:2]
    trainer = Witness(
        model=str(tiny_model),
        reward_funcs=[lambda won, **more: won],
        args=trl.GRPOConfig(
            output_dir=str(tmp_path),
            per_device_train_batch_size=8,
            num_generations=4,
            max_completion_length=512,
            max_steps=1,
            beta=0.0,
            bf16=False,
            use_cpu=True,
            report_to=[],
            shuffle_dataset=False,
            save_strategy="no",
            disable_tqdm=True,
        ),
        train_dataset=Dataset.from_dict({"prompt": tasks}),
        rollout_func=rollout_function(games, rollouts),
        credit=credit,
    )
    trainer.train()

    [batch] = seen
    layer = ReferenceGraph(connection, layer_name)
    # TRL adds 1e-4 to the deviation; all else is as in the rollouts' own records.
    config = preset("paper").updated({"invalid_penalty": "recorded", "std_eps": 1e-4})
    wanted = {r.id: r for r in shape(layer.label(RolloutBatch(tuple(rollouts)), version=0), config).batch}
    mask = batch["completion_mask"] * batch["tool_mask"]
    assert batch["advantages"].shape == mask.shape
    rows = [[float(v) for v, m in zip(a, k, strict=True) if m] for a, k in zip(batch["advantages"], mask, strict=True)]
    expected = [
        [float(step.advantage or 0.0) for step in wanted[r.id].steps for _ in range(step.tokens)] for r in rollouts
    ]
    for row in rows:  # TRL shuffles the rows of a batch
        match = [e for e in expected if len(e) == len(row)]
        assert any(
            all(math.isclose(a, b, rel_tol=1e-5, abs_tol=1e-6) for a, b in zip(row, e, strict=True)) for e in match
        )
    assert any(len({round(value, 6) for value in row}) > 1 for row in rows), "steps of one trajectory differ"
    assert layer.info().version == 1
    assert layer.stats().successes == sum(r.success for r in rollouts)
