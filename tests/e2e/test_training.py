"""The trainer as a user runs it."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.e2e.conftest import Outcome, Proas

pytestmark = pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed (extra `train`)")


def smoke(proas: Proas, games: Path, out: str, *more: object) -> Outcome:
    return proas("train", "--smoke", "--data", games, "--out", out, *more, "--json")


@pytest.mark.neo4j
def test_train_eval_and_compare(proas: Proas, work: Path, games: Path, graph: str) -> None:
    trained = smoke(proas, games, "shaped", "--proas", "--seed", 3, "--graph", graph)
    assert trained.code == 0, trained.err
    name = json.loads((work / "shaped/config.json").read_text(encoding="utf-8"))["graph"]
    try:
        document = trained.document
        assert document["arm"] == "grpo+proas-recommended"
        assert document["iterations"] == 2
        assert document["episodes"] == 2 * 2 * 4
        assert document["last"]["proas/graph/version"] == 2
        assert document["last"]["proas/graph/coverage"] == 1.0  # the base graph knows every task
        assert proas("graph", "stats", "--graph", name, "--json").code == 0
        assert proas("graph", "diff", "--graph", name, "--from", 0, "--to", 2, "--json").code == 0
        rows = [json.loads(line) for line in (work / "shaped/metrics.jsonl").read_text(encoding="utf-8").splitlines()]
        assert [row["iteration"] for row in rows] == [0, 1, 2]
        assert json.loads((work / "shaped/final.json").read_text(encoding="utf-8"))["last"] == rows[-1]
        if find_spec("tensorboard") is not None:
            assert list((work / "shaped/tensorboard").iterdir())
        _goes_on(proas, work)
    finally:
        proas("graph", "drop", name, "--force", "--yes")

    plain = smoke(proas, games, "plain", "--seed", 3, "--init", "shaped", "--iterations", 1)
    assert plain.code == 0, plain.err
    assert plain.document["arm"] == "grpo"

    measured = proas("eval", "shaped", "--temperature", 0, "--tasks", 2, "--checkpoint", 2, "--json")
    assert measured.code == 0, measured.err
    assert measured.document["iteration"] == 2
    assert [e["episodes"] for e in measured.document["evaluations"]] == [2]
    assert proas("eval", "shaped", "--tasks", 2).code == 0

    compared = proas("compare", "plain", "shaped", "--target", 70, "--out", "report", "--json")
    assert compared.code == 0, compared.err
    assert [arm["name"] for arm in compared.document["arms"]] == ["grpo", "grpo+proas-recommended"]
    assert "different length" in compared.document["warnings"][0]
    assert (work / "report/report.md").is_file()
    assert proas("compare", "plain", "shaped").code == 0


def _goes_on(proas: Proas, work: Path) -> None:
    """Two iterations more, and the same two evaluations again where the seed is the same."""
    more = proas("train", "--resume", "--out", "shaped", "--iterations", 3, "--json")
    assert more.code == 0, more.err
    assert more.document["last"]["iteration"] == 3
    assert more.document["last"]["proas/graph/version"] == 3
    lines = (work / "shaped/metrics.jsonl").read_text(encoding="utf-8").splitlines()
    assert len(lines) == 4


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--resume",), "holds no run"),
        (("--set", "update.speed=1"), "no setting 'update.speed'"),
        (("--set", "update.kl"), "NAME=VALUE"),
        (("--set", "shaping.mui=perhaps"), "shaping setting mui"),
        (("--option", "colour=red"), "no option"),
        (("--env", "chess"), "no environment"),
        (("--init", "nowhere"), "holds no checkpoint"),
        (("--data", "nowhere"), "no such file"),
        (("--tasks", "50"), "an iteration takes 50 tasks, and there are 8"),
        (("--preset", "huge"), "no training preset"),
        (("--set", "policy.model=nowhere"), "no model folder"),
    ],
)
def test_faults_are_named(proas: Proas, no_server: Path, games: Path, words: tuple[str, ...], message: str) -> None:
    data = () if words[0] in ("--resume", "--data") else ("--data", games)
    done = (
        proas("train", *(() if "--preset" in words else ("--smoke",)), "--out", "run", *data, *words)
        if words[0] != "--resume"
        else proas("train", "--out", "run", *words)
    )
    assert done.code in (1, 2)
    assert message in done.err
    assert "Traceback" not in done.err


def test_a_run_is_not_begun_twice_and_resumes_with_its_own_settings_only(
    proas: Proas, no_server: Path, games: Path
) -> None:
    assert smoke(proas, games, "run", "--algo", "sft").code == 0
    again = smoke(proas, games, "run")
    assert (again.code, "--resume" in again.err) == (2, True)
    other = proas("train", "--resume", "--out", "run", "--seed", 9)
    assert (other.code, "own settings" in other.err) == (2, True)
    assert proas("eval", "run", "--split", "valid_seen").code == 2
    assert proas("eval", "run", "--checkpoint", 7).code == 2
    assert proas("eval", "nowhere").code == 2
    assert proas("compare", "run", "run").code == 2
