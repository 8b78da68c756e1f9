"""``proas graph build --source distill`` as a user runs it: from nothing, killed, interrupted and cut off."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from proas.agents import Job
from proas.envs import EnvSpec, open_world
from proas.localdb import ServerInfo
from tests.e2e.conftest import Proas, login
from tests.support.replay_endpoint import MODEL, Book, ReplayEndpoint, entry, record

pytestmark = pytest.mark.neo4j
ROOT = Path(__file__).resolve().parents[2]
TASKS = 4
ATTEMPTS = 3
LIMIT = 12


@pytest.fixture(scope="module")
def book(games: Path) -> Book:
    """What an expert and an erring one answer in four of the games."""
    world = open_world(EnvSpec("alfworld", games))
    jobs = [Job(task, number) for task in world.tasks[:TASKS] for number in range(ATTEMPTS)]
    return record(world, jobs, lambda job: "noisy" if job.number % 2 else "expert", step_limit=LIMIT)


@pytest.fixture
def distill(proas: Proas, games: Path, graph_name: str, work: Path) -> Iterator[Callable[..., Any]]:
    """Distil with usual options into a graph of the test's own; ``words`` come last."""

    def run(url: str, *words: object) -> Any:
        return proas(*arguments(url, games, graph_name), "--json", *words)

    yield run
    proas("graph", "drop", graph_name, "--force", "--yes")


def arguments(url: str, games: Path, graph: str) -> list[object]:
    """The command line."""
    return [
        *("graph", "build", "--source", "distill", "--env", "alfworld", "--data", games, "--limit", TASKS),
        *("--model", MODEL, "--endpoint", url, "--graph", graph, "--journal", "j.jsonl"),
        *("--attempts", ATTEMPTS, "--sampling-seed", 7, "--max-steps", LIMIT, "--concurrency", 3),
    ]


def paid(endpoint: ReplayEndpoint) -> list[str]:
    """Prompts that were answered, in order."""
    return [entry(request["messages"], request["seed"]) for request in endpoint.requests]


def test_from_nothing_to_a_verified_graph(
    distill: Callable[..., Any], proas: Proas, book: Book, graph_name: str
) -> None:
    with ReplayEndpoint(book) as endpoint:
        done = distill(endpoint.url)
        assert done.code == 0, done.err
        assert endpoint.most_at_once <= 3
    document = done.document
    coverage = document["coverage"]
    assert (document["tasks"], coverage["covered"], coverage["tasks"]) == (TASKS, TASKS, TASKS)
    assert (coverage["attempts"], coverage["tokens"]) == (TASKS * ATTEMPTS, endpoint.billed)
    assert document["tallies"]["successes"] == coverage["successes"]
    assert document["carry_over_share"] is None
    assert proas("graph", "verify", "--graph", graph_name, "--json").document["ok"]
    again = distill("http://127.0.0.1:9")  # all attempts are there, so that nobody is asked
    assert (again.code, again.document["skipped"]) == (0, TASKS)


def test_the_page_s_example(proas: Proas, graph_name: str, work: Path) -> None:
    page = (ROOT / "docs" / "distill.md").read_text("utf-8")
    generate, build = re.findall(r"^    proas (generate .*|graph build .* --graph taught .*)$", page, re.MULTILINE)
    assert proas(*shlex.split(generate.replace("--count 12", "--count 2"))).code == 0
    world = open_world(EnvSpec("alfworld", Path("games")))
    jobs = [Job(task, number) for task in world.tasks for number in range(8)]
    with ReplayEndpoint(record(world, jobs, lambda _job: "expert")) as endpoint:
        words = shlex.split(build.replace("http://127.0.0.1:8000/v1", endpoint.url).replace("taught", graph_name))
        done = proas(*words, "--json")
    assert done.code == 0, done.err
    proas("graph", "drop", graph_name, "--force", "--yes")
    assert (done.document["tasks"], done.document["coverage"]["attempts"]) == (2, 16)
    home = Path(os.environ["PROAS_HOME"])
    assert done.document["coverage"]["journal"] == str(home / "journals" / f"{graph_name}.jsonl")


def test_killed_in_the_middle_and_run_again(
    distill: Callable[..., Any], games: Path, book: Book, graph_name: str, work: Path, neo4j_server: ServerInfo
) -> None:
    journal = work / "j.jsonl"
    with ReplayEndpoint(book, delay=0.02) as endpoint:
        running = _start(arguments(endpoint.url, games, graph_name), work, neo4j_server)
        _wait_for(lambda: journal.exists() and journal.read_bytes().count(b"\n") >= 5, running)
        running.kill()
        running.communicate(timeout=60)
        endpoint.delay = 0
        kept = journal.read_text("utf-8").count("\n") - 1
        done = distill(endpoint.url)
    assert done.code == 0, done.err
    coverage = done.document["coverage"]
    assert (coverage["attempts"], coverage["covered"]) == (TASKS * ATTEMPTS, TASKS)
    assert coverage["reused"] == kept
    asked = paid(endpoint)
    assert set(asked) == set(book)
    # What was lost is what was under way: three attempts at most, each of at most so many steps.
    assert len(asked) - len(book) <= 3 * LIMIT


def test_interrupted_and_run_again_pays_nothing_twice(
    distill: Callable[..., Any], games: Path, book: Book, graph_name: str, work: Path, neo4j_server: ServerInfo
) -> None:
    journal = work / "j.jsonl"
    with ReplayEndpoint(book, delay=0.02) as endpoint:
        running = _start(arguments(endpoint.url, games, graph_name), work, neo4j_server)
        _wait_for(lambda: journal.exists() and journal.read_bytes().count(b"\n") >= 4, running)
        running.send_signal(signal.SIGINT)
        _out, err = running.communicate(timeout=60)
        assert running.returncode == 130, err
        assert "interrupted" in err
        assert "Traceback" not in err
        endpoint.delay = 0
        done = distill(endpoint.url)
    assert done.document["coverage"]["attempts"] == TASKS * ATTEMPTS
    asked = paid(endpoint)
    assert len(asked) - len(set(asked)) <= 3  # the calls that were under way at that moment


def test_a_model_that_goes_away_ends_with_code_1_and_says_how_to_go_on(distill: Callable[..., Any], book: Book) -> None:
    first = ReplayEndpoint(book, fault=lambda number, _request: _gone_after(first, number, 60))
    with first:
        broken = distill(first.url, "--retry-for", 0.2)
    assert broken.code == 1
    assert "attempts were not made: " in broken.err
    assert "run the same command again" in broken.err.replace("\n", " ")
    coverage = broken.document["coverage"]
    assert coverage["stopped"]["why"] == "model"
    assert broken.document["tasks"] == coverage["covered"] > 0
    with ReplayEndpoint(book) as second:
        done = distill(second.url)
    assert (done.code, done.document["coverage"]["covered"]) == (0, TASKS)


def _gone_after(endpoint: ReplayEndpoint, number: int, calls: int) -> str:
    if number < calls:
        return ""
    endpoint.vanish()
    return "no answer"


def test_a_spent_budget_is_no_failure(distill: Callable[..., Any], book: Book) -> None:
    with ReplayEndpoint(book) as endpoint:
        done = distill(endpoint.url, "--budget-tokens", 20_000)
        assert done.code == 0, done.err
        assert done.document["coverage"]["tokens"] == endpoint.billed <= 20_000
    assert "raise --budget-tokens" in done.err.replace("\n", " ")


def test_people_are_shown_the_coverage(proas: Proas, games: Path, graph_name: str, work: Path, book: Book) -> None:
    with ReplayEndpoint(book) as endpoint:
        done = proas(*arguments(endpoint.url, games, graph_name))
    proas("graph", "drop", graph_name, "--force", "--yes")
    assert done.code == 0, done.err
    told = " ".join(done.out.split())
    assert f"Coverage by {MODEL} covered {TASKS} of {TASKS} tasks" in told
    assert "tokens" in told
    assert "j.jsonl" in told


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "--source distill plays in an environment"),
        (["--env", "nowhere"], "no environment is called 'nowhere'"),
        (["--env", "alfworld"], "no model is named"),
        (["--env", "alfworld", "--model", "m"], "neither an endpoint nor an engine is given"),
        (
            ["--env", "alfworld", "--model", "m", "--engine", "vllm", "--endpoint", "localhost:1"],
            "both an endpoint and an engine are given",
        ),
        (["--env", "alfworld", "--model", "m", "--engine", "steam"], "no engine is called 'steam'"),
        (["--env", "alfworld", "--model", "m", "--endpoint", "ftp://x"], "not the address of an endpoint"),
        (["--env", "alfworld", "--model", "m", "--endpoint", "localhost:1", "--history", "many"], "--history takes"),
        (["--env", "alfworld", "--model", "m", "--endpoint", "localhost:1", "--option", "x=1"], "no option 'x'"),
        (["--env", "alfworld", "--model", "m", "--endpoint", "localhost:1", "--goals", "human"], "--goals belongs to"),
        (["--env", "alfworld", "--model", "m", "--endpoint", "localhost:1", "--max-detour", "0.5"], "longest detour"),
        (["--env", "alfworld", "--model", "m", "--endpoint", "localhost:1", "--model-option", "x"], "NAME=JSON"),
    ],
)
def test_a_command_line_that_makes_no_sense(proas: Proas, words: list[str], message: str) -> None:
    refused = proas("graph", "build", "--source", "distill", *words, "--json")
    assert refused.code == 2, refused.err
    assert message in refused.error["message"]


def test_options_of_the_teacher_do_not_go_with_another_source(proas: Proas) -> None:
    refused = proas("graph", "build", "--source", "webshop", "--attempts", 3, "--json")
    assert (refused.code, refused.error["message"]) == (2, "--attempts belongs to --source distill, not to webshop")
    refused = proas("graph", "build", "--source", "webshop", "--option", "goals=human", "--json")
    assert (refused.code, refused.error["message"]) == (2, "--option does not go with --source webshop")


def test_nobody_at_the_endpoint_is_told_before_a_server_is_needed(proas: Proas, games: Path, no_server: Path) -> None:
    failed = proas(*arguments("http://127.0.0.1:9", games, "x"), "--json")
    assert failed.code == 1
    assert failed.error["kind"] in ("TryFailed", "ModelUnavailable")
    assert "nobody answers at http://127.0.0.1:9/v1" in failed.error["message"]
    assert json.loads((no_server / "j.jsonl").read_text("utf-8"))["journal"] == "proas.distill"


def _start(words: list[object], cwd: Path, server: ServerInfo) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "proas.cli", *(str(word) for word in words)],
        cwd=cwd,
        env={**os.environ, **login(server)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        text=True,
        # A test run that was started in the background ignores SIGINT, and so would what it starts.
        preexec_fn=_heed_interrupts,  # noqa: PLW1509  (no threads here)
    )


def _heed_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def _wait_for(met: Callable[[], bool], running: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + 60
    while not met():
        assert running.poll() is None, running.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.01)
