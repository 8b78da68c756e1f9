"""A real small language model behind an endpoint plays a task; it need not win it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from proas.agents import EpisodeSettings, ModelChoice, PromptSettings, Sampling
from proas.graph_builders import BuildOptions
from proas.graph_builders.distill import DistillBuilder, DistillSettings
from tests.support import small_model_server

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """SmolLM2-135M-Instruct at an address of its own."""
    if lacking := small_model_server.missing():
        pytest.skip(f"a real model needs {', '.join(lacking)}")
    server = small_model_server.SmallModelServer(small_model_server.SmallModel(small_model_server.weights()))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server.url
    server.shutdown()
    server.server_close()
    thread.join(10)


def test_a_real_model_is_played_counted_and_reported(url: str, tmp_path: Path) -> None:
    settings = DistillSettings(
        "webshop",
        options={"goals": "human"},
        attempts=1,
        step_limit=2,
        prompts=PromptSettings(history=1, thoughts=False),
        episode=EpisodeSettings(sampling=Sampling(0.0, max_tokens=12)),
        concurrency=1,
    )
    choice = ModelChoice(small_model_server.NAME, url, timeout=600)
    builder = DistillBuilder(settings, choice.model, choice.open, tmp_path / "j.jsonl")
    assert builder.count(None, BuildOptions(limit=1)) == 1
    (answer,) = builder.build(None, BuildOptions(limit=1))
    coverage = builder.coverage
    assert answer.task
    assert (coverage.tasks, coverage.tried, coverage.attempts, coverage.stopped.why) == (1, 1, 1, "")
    assert coverage.calls == coverage.steps == 2
    assert not coverage.tokens_estimated
    assert coverage.prompt_tokens > 100
    assert 0 < coverage.completion_tokens <= 24
