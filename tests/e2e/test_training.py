"""The trainer as a user runs it."""

from __future__ import annotations

import json
import re
from importlib.util import find_spec
from pathlib import Path

import pytest

from proas.training.config import TrainConfig
from proas.training.run_directory import RunDirectory
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
    reworded = proas("eval", "shaped", "--tasks", 2, "--option", "wording=put", "--json")
    assert reworded.document["data"].endswith("with wording=put")
    assert "these games say put" in reworded.err

    compared = proas("compare", "plain", "shaped", "--target", 70, "--out", "report", "--json")
    assert compared.code == 0, compared.err
    assert [arm["name"] for arm in compared.document["arms"]] == ["grpo", "grpo+proas-recommended"]
    assert "init (shaped, none)" in compared.document["warnings"][0]
    assert "different length" in compared.document["warnings"][1]
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
        (("--init", "nowhere"), "holds no run"),
        (("--data", "nowhere"), "no such file"),
        (("--tasks", "50"), "an iteration takes 50 tasks, and there are 8"),
        (("--preset", "huge"), "no training preset"),
        (("--set", "preset=huge"), "choose the preset by --preset huge"),
        (("--graph", "plans"), "grpo asks no graph, and --graph names 'plans'"),
        (("--algo", "sft", "--proas"), "sft only imitates"),
        (("--algo", "sft", "--shaping", "loop-mask"), "sft only imitates"),
        (("--proas", "--shaping", "none"), "--shaping none does not"),
        (("--proas", "--shaping", "loop-mask"), "--shaping loop-mask does not"),
        (("--shaping", "loop-mask", "--graph", "plans"), "--graph names 'plans'"),
        (("--set", "policy.model=nowhere"), "no model folder"),
        (("--set", "temperature=inf"), "finite number"),
        (("--set", "evaluation.temperatures=[1e-45]"), "give 0 for the likeliest words, or 0.01 to 100"),
        (("--set", "text.episode=100"), "does not hold one action"),
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


def test_a_policy_is_measured_under_other_options(proas: Proas, no_server: Path) -> None:
    pytest.importorskip("bm25s", reason="WebShop's search is not installed (extra `webshop`)")
    made = proas(
        "train", "--smoke", "--env", "webshop", "--algo", "sft", "--set", "warm_start.demonstrations=4", "--out", "run"
    )
    assert made.code == 0, made.err
    own = proas("eval", "run", "--temperature", 0, "--json").document
    other = proas("eval", "run", "--temperature", 0, "--tasks", 3, "--option", "goals=human", "--json")
    assert other.code == 0, other.err
    assert (other.document["tasks"], own["tasks"]) == (3, 4)
    assert other.document["data"] == f"{own['data']} with goals=human"


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


def test_what_plays_is_what_is_recorded(proas: Proas, no_server: Path, games: Path) -> None:
    """A run that starts from another has its policy, whatever preset it names."""
    assert smoke(proas, games, "warm", "--algo", "sft", "--set", "policy.width=48").code == 0
    named = smoke(proas, games, "other", "--init", "warm", "--set", "policy.width=64")
    assert (named.code, "policy.width=64 contradicts" in named.err, "has 48" in named.err) == (2, True, True)
    assert not (no_server / "other").exists()
    assert smoke(proas, games, "run", "--init", "warm", "--iterations", 1).code == 0
    recorded = json.loads((no_server / "run/config.json").read_text(encoding="utf-8"))
    assert recorded["settings"]["policy"]["width"] == 48

    for value in ("inf", "1e-45"):
        for way in ((), ("--json",)):
            done = proas("eval", "run", "--temperature", value, *way)
            assert (done.code, "nothing can be drawn at temperature" in done.err + done.out) == (2, True), done.err
    for words in (("eval", "run"), ("diagnose", "noise", "run")):
        nan = proas(*words, "--temperature", "nan")
        assert (nan.code, "temperature" in nan.err) == (2, True), nan.err


def test_a_model_on_disk_is_found_from_anywhere_and_its_positions_are_kept(
    proas: Proas, no_server: Path, games: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("transformers", reason="transformers is not installed")
    from tests.unit.training.test_huggingface import made

    (no_server / "small").mkdir()
    values = {"vocab_size": 257, "n_embd": 32, "n_layer": 1, "n_head": 2, "n_positions": 512}
    made(no_server / "small", "GPT2Config", values)
    words = ("--algo", "sft", "--set", "policy.model=small", "--set", "warm_start.demonstrations=4")
    long = smoke(proas, games, "long", *words)
    assert (long.code, "512 positions" in long.err, "--set text.episode=512" in long.err) == (2, True, True)
    assert smoke(proas, games, "run", *words, "--set", "text.episode=512").code == 0
    (no_server / "elsewhere").mkdir()
    monkeypatch.chdir(no_server / "elsewhere")
    measured = proas("eval", "../run", "--tasks", 1, "--temperature", 1, "--json")
    assert measured.code == 0, measured.err


def run_of(name: str, settings: dict[str, object], success: float) -> Path:
    """A run's folder with what `compare` reads."""
    directory = RunDirectory(Path(name))
    directory.begin(TrainConfig().updated(settings), graph="", init="")
    for iteration, value in ((0, 0.2), (5, success)):
        directory.append({"iteration": iteration, "evaluation/t0.4/success": value})
    return directory.path


def test_compare_tells_arms_apart_and_shows_what_was_measured(proas: Proas, no_server: Path) -> None:
    run_of("usual", {}, 0.5)
    run_of("fast", {"update.learning_rate": 0.1}, 0.8)
    compared = proas("compare", "usual", "fast", "--target", 70, "--json")
    assert compared.code == 0, compared.err
    usual, fast = compared.document["arms"]
    assert (usual["name"], fast["name"]) == ("grpo", "grpo update.learning_rate=0.1")
    assert usual["rollouts"] is usual["seconds"] is None
    assert fast["speed_up"] == {"0.4": {"factor": 1.0, "at_least": True}}
    assert list(fast["difference"]) == ["0.4"]  # nothing was measured at the other temperature
    assert compared.document["warnings"] == [
        "the runs differ in more than the method (algorithm, shaping, graph): update.learning_rate (0.0003, 0.1)"
    ]
    table = proas("compare", "usual", "fast", "--target", 70)
    assert "≥ 1.00" in table.out
    for measured in ("T=1", "rollouts"):
        assert len(re.findall(rf"{measured} +- +- +- +-", table.out)) == 2


def test_damaged_metrics_are_a_fault_of_the_folder_not_of_the_program(proas: Proas, no_server: Path) -> None:
    metrics = run_of("run", {}, 0.5) / "metrics.jsonl"
    for line, message in (
        (b'{"evaluation/t0.4/success": 1}\n', "iteration: holds no number"),
        (b"\xff\xfe\x00\n", "JSON"),
    ):
        metrics.write_bytes(line)
        done = proas("compare", "run")
        assert (done.code, "metrics.jsonl:1: " in done.err, message in done.err) == (1, True, True), done.err
        assert "unexpected" not in done.err
