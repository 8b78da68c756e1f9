"""Logged episodes on the command line: what it prints, writes and ends with."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from proas.envs.alfworld import sample_root
from tests.e2e.conftest import Proas
from tests.support.episode_logs import agentgym, lines, messages, played

SOURCE = ("graph", "build", "--source", "trajectories")


@pytest.mark.neo4j
def test_from_logs_to_labels(proas: Proas, work: Path, graph_name: str) -> None:
    lines(work / "a.jsonl", map(messages, played("alfworld", "noisy", tasks=3, group=4, seed=1)))
    lines(work / "b.jsonl", [*map(agentgym, played("alfworld", tasks=3)), {"what": "is this"}])
    games = f"alfworld={sample_root()}"
    asked = (*SOURCE, "--data", "a.jsonl", "--data", "b*", "--env-data", games, "--graph", graph_name)
    try:
        done = proas(*asked, "--write-rollouts", "all.jsonl", "--json")
        assert done.code == 0, done.err
        told = done.document["episodes"]
        assert (told["files"], told["episodes"]) == (2, 15)
        assert told["formats"] == {"agentgym": 3, "trl": 12}
        assert set(told["entered"]) == {"replayed"}
        assert told["asides"] == {"unknown_format": 1}
        (example,) = told["examples"]
        assert (example["source"], example["line"]) == ("b.jsonl", 4)
        assert done.document["transitions"] == {"replayed": sum(done.document["transitions"].values())}
        again = proas(*asked, "--strict")
        assert again.code == 1
        assert "unchanged         3" in again.out
        assert (again.out + again.err).count("b.jsonl:4") == 1
        assert "tasks considered    3" in again.out
        assert "trials" not in again.out + again.err
        assert proas("graph", "verify", "--graph", graph_name).code == 0
        labelled = proas("label", "all.jsonl", "--graph", graph_name, "--out", "labelled.jsonl", "--json")
        assert labelled.code == 0
        assert labelled.document["covered"] >= 10
        assert labelled.document["progress"] > 0
    finally:
        proas("graph", "drop", graph_name, "--force", "--yes")


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        ((), 2, "needs --data"),
        (("--data", "missing.jsonl"), 1, "missing.jsonl: no such file or folder"),
        (("--data", "*.csv"), 1, "no episodes there"),
        (("--data", "log.jsonl", "--format", "csv"), 2, "no format"),
        (("--data", "log.jsonl", "--env", "chess"), 2, "docs/own_environment.md"),
        (("--data", "log.jsonl", "--threshold", "100"), 2, "--score-max"),
        (("--data", "log.jsonl", "--env-data", "."), 2, "ENV=PATH"),
        (("--data", "log.jsonl", "--env-data", "alfworld=nowhere"), 1, "nowhere: no such file or folder"),
        (("--data", "log.jsonl", "--env-data", "chess=."), 2, "chess"),
        (("--data", "log.jsonl", "--replay", "sometimes"), 2, "sometimes"),
        (("--data", "log.jsonl", "--write-rollouts", "no/where.jsonl"), 1, "there is no folder"),
        (("--data", "log.jsonl", "--option", "goals=human"), 2, "--env"),
        (("--data", "log.jsonl", "--goals", "human"), 2, "belongs to --source webshop"),
    ],
)
def test_mistakes_are_told_before_a_server_is_asked(
    proas: Proas, no_server: Path, words: tuple[str, ...], code: int, told: str
) -> None:
    (no_server / "log.jsonl").write_text(json.dumps({"messages": []}) + "\n")
    done = proas(*SOURCE, *words)
    assert done.code == code, done.err
    assert told in " ".join(done.err.split())
    assert "Traceback" not in done.err


def test_options_of_this_source_go_with_no_other(proas: Proas, no_server: Path) -> None:
    for option, value in (("--replay", "never"), ("--purification", "paper"), ("--min-support", "2")):
        done = proas("graph", "build", "--source", "webshop", option, value)
        assert done.code == 2
        assert option in done.err


@pytest.mark.neo4j
def test_logs_that_hold_nothing_build_nothing(proas: Proas, work: Path, graph_name: str) -> None:
    (work / "empty.jsonl").write_text("")
    try:
        done = proas(*SOURCE, "--data", "empty.jsonl", "--graph", graph_name)
        assert done.code == 1
        assert "the file is empty" in done.out
        assert "nothing was built" in done.err
    finally:
        proas("graph", "drop", graph_name, "--force", "--yes")
