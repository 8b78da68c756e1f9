"""A database that cannot be reached while rollouts are labelled: an error, or advantages that stay as they are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Proas
from tests.e2e.test_bad_input import free_port


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.fixture
def nobody(no_server: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Address of a server that is down."""
    uri = f"bolt://127.0.0.1:{free_port()}"
    monkeypatch.setenv("NEO4J_URI", uri)
    monkeypatch.setenv("NEO4J_PASSWORD", "swordfish")
    return uri


def test_by_default_it_is_an_error(proas: Proas, nobody: str, rollouts: Path) -> None:
    done = proas("label", rollouts, "--graph", "any", "--out", "out.jsonl", "--json")
    assert done.code == 1
    assert done.error["kind"] == "GraphUnavailable"
    assert nobody in done.error["message"]
    assert not Path("out.jsonl").exists()


def test_passed_through_advantages_stay_as_they_are(proas: Proas, nobody: str, rollouts: Path) -> None:
    words = ("label", rollouts, "--graph", "any", "--out", "out.jsonl", "--on-failure", "passthrough", "--json")
    done = proas(*words)
    assert done.code == 0, done.err
    assert done.document["passed_through"] is True
    assert (done.document["covered"], done.document["version"]) == (0, None)
    assert f"{nobody} did not answer" in done.err
    assert "swordfish" not in done.out + done.err
    assert len(lines(Path("out.jsonl"))) == len(lines(rollouts))
    assert not any(step.get("label") for record in lines(Path("out.jsonl")) for step in record["steps"])

    shaped = proas("shape", "out.jsonl", "--out", "shaped.jsonl", "--json")
    assert shaped.code == 0, shaped.err
    steps = [step for record in lines(Path("shaped.jsonl")) for step in record["steps"]]
    assert any(step["base_advantage"] for step in steps)
    assert all(step["advantage"] == step["base_advantage"] for step in steps)
    assert shaped.document["metrics"]["proas/coverage"] == 0.0
    assert shaped.document["metrics"]["proas/passed_through_rollouts"] == len(lines(rollouts))


@pytest.mark.neo4j
def test_a_server_that_answers_is_asked_whatever_the_policy(proas: Proas, graph: str, rollouts: Path) -> None:
    documents = [
        proas(
            "label", rollouts, "--graph", graph, "--out", f"{policy}.jsonl", "--on-failure", policy, "--json"
        ).document
        for policy in ("raise", "passthrough")
    ]
    assert [document["passed_through"] for document in documents] == [False, False]
    assert Path("raise.jsonl").read_bytes() == Path("passthrough.jsonl").read_bytes()
    missing = proas(
        "label", rollouts, "--graph", f"{graph}x", "--out", "o.jsonl", "--on-failure", "passthrough", "--json"
    )
    assert missing.code == 1
    assert missing.error["kind"] == "GraphNotFound"
    assert graph in missing.error["hint"]
