"""``proas diagnose`` and the prompted ``proas eval`` as a user runs them."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path

import pytest

from proas.agents import Job, PromptSettings
from proas.envs import EnvSpec, open_world
from proas.training.tasks import fixed_tasks
from tests.e2e.conftest import Proas, spawn
from tests.support.replay_endpoint import MODEL, ReplayEndpoint, record

pytestmark = pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed (extra `train`)")


@pytest.fixture(scope="module")
def run(games: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A policy of a second of imitation: it fails nearly always."""
    folder = tmp_path_factory.mktemp("diagnose")
    made = spawn("train", "--smoke", "--algo", "sft", "--data", games, "--out", "run", cwd=folder)
    assert made.code == 0, made.err
    return folder / "run"


def test_noise(proas: Proas, no_server: Path, run: Path) -> None:
    words = ("diagnose", "noise", run, "--states", 3, "--continuations", 2, "--steps", "0,1,2", "--out", "found")
    done = proas(*words, "--json")
    assert done.code == 0, done.err
    document = done.document
    assert [row["steps"] for row in document["rows"]] == [0, 1, 2]
    assert len(document["states"]) == 3
    assert document["settings"]["continuations"] == 2
    written = json.loads((no_server / "found/noise.json").read_text(encoding="utf-8"))
    assert written == {name: value for name, value in document.items() if name != "files"}
    if find_spec("matplotlib") is not None:
        assert (no_server / "found/noise.svg").read_text(encoding="utf-8").startswith("<?xml")
    shown = proas(*words[:3], "--states", 1, "--continuations", 1, "--steps", 1, "--out", "shown")
    assert shown.code == 0
    assert "Unreasonable steps in the visible past" in shown.out


def test_temperatures(proas: Proas, no_server: Path, run: Path) -> None:
    words = ("diagnose", "temperatures", run, "--temperatures", "1,0,0.5", "--tasks", 3, "--repeats", 2)
    done = proas(*words, "--out", "found", "--json")
    assert done.code == 0, done.err
    document = done.document
    assert [(row["temperature"], row["episodes"]) for row in document["rows"]] == [(0.0, 3), (0.5, 6), (1.0, 6)]
    same = proas("eval", run, "--temperature", 0.5, "--tasks", 3, "--repeats", 2, "--json").document["evaluations"][0]
    assert document["rows"][1]["success"]["value"] == same["success"]
    assert document["rows"][1]["invalid"] == same["invalid"]
    written = json.loads((no_server / "found/temperatures.json").read_text(encoding="utf-8"))
    assert written == {name: value for name, value in document.items() if name != "files"}
    assert "Over temperatures" in proas(*words, "--out", "shown").out


def test_credit_of_a_run_a_folder_and_a_file(proas: Proas, games: Path, no_server: Path) -> None:
    words = ("train", "--smoke", "--data", games, "--iterations", 2, "--set", "rollouts_every=1", "--out", "grpo")
    assert proas(*words).code == 0
    done = proas("diagnose", "credit", "grpo", "--forms", 3, "--json")
    assert done.code == 0, done.err
    samples = done.document["samples"]
    assert [sample["name"] for sample in samples] == ["00001", "00002"]
    first = [json.loads(line) for line in Path("grpo/rollouts/00001.jsonl").read_text(encoding="utf-8").splitlines()]
    assert sum(row["steps"] for row in samples[0]["rows"]) == sum(len(rollout["steps"]) for rollout in first)
    total = sum(step["advantage"] for rollout in first for step in rollout["steps"])
    assert sum(row["after"] for row in samples[0]["rows"]) == pytest.approx(total)
    assert len(samples[0]["rows"]) <= 4
    again = proas("diagnose", "credit", "grpo/rollouts", "--iterations", 2, "--forms", 3, "--out", "found", "--json")
    (second,) = again.document["samples"]
    assert (second["name"], second["success"], second["rollouts"]) == ("00002", samples[1]["success"], 8)
    shown = proas("diagnose", "credit", "grpo/rollouts/00001.jsonl", "--out", "found")
    assert "Credit by the form of the action" in shown.out
    assert proas("diagnose", "credit", "grpo", "--iterations", 7).code == 2


def test_suppress_needs_no_database_for_a_run_without_a_graph(proas: Proas, no_server: Path, run: Path) -> None:
    words = ("diagnose", "suppress", run, "--rollouts", 4, "--positions", 2, "--continuations", 2, "--out", "found")
    done = proas(*words, "--json")
    assert done.code == 0, done.err
    document = done.document
    assert document["labels"] == "loop mask"
    assert len(document["positions"]) == 8
    assert set(document["slopes"]["gain"]) == {"raw", "adjusted", "labels", "matched"}
    shown = proas(*words[:3], "--rollouts", 1, "--continuations", 1, "--horizon", 2, "--out", "shown")
    assert "drift predicts blame" in shown.out


@pytest.mark.neo4j
def test_labels_with_the_graph_of_the_games(proas: Proas, work: Path, run: Path, graph: str) -> None:
    words = ("--tasks", 2, "--group-size", 2, "--rounds", 1, "--support", "1,2", "--graph", graph, "--out", "found")
    done = proas("diagnose", "labels", run, *words, "--json")
    assert done.code == 0, done.err
    document = done.document
    assert document["labels"].startswith(f"graph {graph} at version ")
    assert document["sample"]["steps"] > document["sample"]["optimal"]
    rows = {(row["graph"], row["version"], row["support"]): row for row in document["precision"]}
    optimal = rows["run", 0, 1]  # it holds every shortest solution, so what it calls reasonable is optimal
    assert optimal["transitions"] > 0
    assert optimal["precision"]["value"] in (None, 1.0)
    assert not [row for row in proas("graph", "list", "--json").document["graphs"] if "diagnose" in row["name"]]
    fewer = ("--tasks", 1, "--group-size", 2, "--rounds", 1, "--graph", graph, "--out", "shown")
    assert "fresh rollouts after iteration" in proas("diagnose", "labels", run, *fewer).out
    strict = proas("diagnose", "suppress", run, "--rollouts", 1, "--continuations", 1, "--graph", graph, "--out", "f")
    assert strict.code == 0, strict.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("noise", "--steps", "1,x"), "no list of numbers"),
        (("temperatures", "--temperatures", "1,x"), "no list of temperatures"),
        (("temperatures", "--temperatures", "-1"), "nothing can be drawn at temperature -1"),
        (("temperatures", "--temperatures", "nan"), "nothing can be drawn at temperature nan"),
        (("noise", "--steps", "0"), "one of them above 0"),
        (("noise", "--steps", "0"), "for example 0,1,2,4,8"),
        (("noise", "--steps", "-1,2"), "one of them above 0"),
        (("noise", "--checkpoint", "77"), "no checkpoint of iteration 77"),
        (("noise", "--split", "nothing"), "no split 'nothing'"),
        (("noise", "--data", "nowhere"), "no such file"),
        (("suppress", "--split", "nothing"), "no split 'nothing'"),
        (("labels", "--support", "0"), "at least 1"),
        (("labels", "--support", "0"), "for example 1,2,3"),
    ],
)
def test_faults_are_named(proas: Proas, no_server: Path, run: Path, words: tuple[str, ...], message: str) -> None:
    done = proas("diagnose", words[0], run, *words[1:])
    assert done.code in (1, 2)
    assert message in done.err
    assert "Traceback" not in done.err


def test_there_is_a_run_to_diagnose(proas: Proas, no_server: Path) -> None:
    for command in ("noise", "suppress", "labels", "temperatures"):
        done = proas("diagnose", command, "nowhere")
        assert (done.code, "holds no run" in done.err) == (2, True)


@pytest.mark.neo4j
def test_a_graph_that_is_not_there_is_named(proas: Proas, work: Path, run: Path) -> None:
    done = proas("diagnose", "suppress", run, "--graph", "nothing-here")
    assert done.code != 0
    assert "nothing-here" in done.err


def test_a_prompted_model_plays_what_policies_are_measured_on(
    proas: Proas, no_server: Path, run: Path, games: Path
) -> None:
    world = open_world(EnvSpec("alfworld", games))
    policy = proas("eval", run, "--temperature", 0, "--json").document
    tasks = fixed_tasks(world, policy["tasks"])
    for place, limit in ((("--data", games), 50), ((run,), 12)):
        book = record(
            world, [Job(task, 0) for task in tasks], lambda _job: "expert", prompts=PromptSettings(), step_limit=limit
        )
        with ReplayEndpoint(book) as endpoint:
            words = ("eval", *place, "--endpoint", endpoint.url, "--model", MODEL, "--temperature", 0, "--tasks", 4)
            done = proas(*words, "--json")
            assert done.code == 0, done.err
            assert MODEL in proas(*words).out
        document = done.document
        assert document.keys() >= policy.keys()
        assert (document["model"], document["tasks"], document["data"]) == (MODEL, policy["tasks"], policy["data"])
        (evaluation,) = document["evaluations"]
        assert evaluation.keys() == policy["evaluations"][0].keys()
        assert evaluation["success"] > 0
        assert list(evaluation["by_kind"]) == list(policy["evaluations"][0]["by_kind"])
        assert document["calls"] > 0


def test_who_is_measured_must_be_clear(proas: Proas, no_server: Path, run: Path) -> None:
    for words, message in (
        ((), "nothing to measure"),
        ((run, "--env", "alfworld"), "--env goes with --endpoint"),
        ((run, "--endpoint", "http://127.0.0.1:9/v1"), "--model"),
        ((run, "--model", "m"), "give --endpoint URL\n"),  # and no engine, which this command has not
        ((run, "--option", "colour=red"), "no option"),
        ((run, "--endpoint", "http://127.0.0.1:9/v1", "--model", "m", "--checkpoint", 1), "--checkpoint is for"),
        ((run, "--endpoint", "http://127.0.0.1:9/v1", "--model", "m", "--env", "webshop"), "plays in alfworld"),
        ((run, "--endpoint", "http://127.0.0.1:9/v1", "--model", "m", "--retry-for", 0, "--tasks", 1), "127.0.0.1:9"),
    ):
        done = proas("eval", *words)
        assert done.code in (1, 2, 3, 4), (words, done.code)
        assert message in done.err, (words, done.err)
        assert "Traceback" not in done.err
