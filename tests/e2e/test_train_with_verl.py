"""`proas train --backend verl`: the command is printed as it would be run; slips are named."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from tests.e2e.conftest import Proas


def test_a_dry_run_prints_the_command(proas: Proas, work: Path) -> None:
    words = ["train", "--backend", "verl", "--preset", "alfworld-1.5b-grpo", "--dry-run", "--data", "games"]
    done = proas(*words, "--seed", "2", "trainer.total_training_steps=3")
    assert done.code == 0
    printed = shlex.split(done.out.replace("\\\n", ""))
    assert printed[:3] == ["python", "-m", "verl.trainer.main_ppo"]
    for word in (
        "trainer.v1.trainer_mode=proas_sync",
        "+algorithm.proas.graph=alfworld",
        "+algorithm.proas.run=alfworld-1.5b-grpo-steps-seed2",
        "trainer.total_training_steps=3",
        "data.seed=2",
    ):
        assert printed.count(word) == 1, word
    assert any(word.startswith("data.train_files=") and str(work.resolve()) in word for word in printed)
    document = json.loads(proas(*words, "--json").out)
    assert (document["gpus"], document["graph"], document["ran"]) == (2, "alfworld", False)
    assert "Password" not in done.out


def test_a_baseline_names_no_graph(proas: Proas) -> None:
    done = proas("train", "--backend", "verl", "--preset", "webshop-7b-dapo-baseline", "--dry-run", "--json")
    document = json.loads(done.out)
    assert document["graph"] is None
    assert not [word for word in document["command"] if "algorithm.proas" in word]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--backend", "verl"], "which preset?"),
        (["--backend", "verl", "--preset", "alfworld"], "no preset is called 'alfworld'"),
        (["--backend", "verl", "--preset", "alfworld-1.5b-grpo", "--tasks", "4"], "--tasks is for the reference"),
        (["--backend", "verl", "--preset", "alfworld-1.5b-grpo", "--shaping", "loop-mask"], "is not for verl"),
        (["--dry-run", "--out", "run"], "--dry-run means something to verl only"),
        (["trainer.x=1", "--out", "run"], "'trainer.x=1' means something to verl only"),
        ([], "where does the run go?"),
    ],
    ids=lambda value: "",
)
def test_slips_are_named(proas: Proas, words: list[str], said: str) -> None:
    done = proas("train", *words)
    assert done.code == 2
    assert said in done.err
