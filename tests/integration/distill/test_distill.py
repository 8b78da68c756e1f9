"""A teacher that replays recorded answers is distilled into a real graph, through every trouble on the way."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from proas.agents import EpisodeSettings, Job, ModelChoice, Patience, PromptSettings, Sampling
from proas.envs import EnvSpec, open_world
from proas.envs.alfworld.generator import generate
from proas.envs.collect import CollectSettings, collect
from proas.errors import ModelRefused, ModelUnavailable, UsageError
from proas.graph.store import ReferenceGraph
from proas.graph_builders import BuildOptions, BuildReport, Built, Rejected, build_graph
from proas.graph_builders.distill import Budget, DistillBuilder, DistillSettings, QualityFilter
from proas.rollouts import Rollout, RolloutBatch
from proas.states import follower_for
from tests.support.replay_endpoint import MODEL, Book, ReplayEndpoint, entry, record

ATTEMPTS = 3
QUICK = Patience(retry_for=20, first_pause=0.01, longest_pause=0.02)


@dataclass(frozen=True)
class Teacher:
    """An environment's tasks and what a mixed bag of its policies answers in them."""

    env: str
    data: Path | None
    tasks: tuple[str, ...]
    book: Book
    step_limit: int

    def settings(self, **changes: Any) -> DistillSettings:
        episode = EpisodeSettings(sampling=Sampling(0.7, seed=7))
        plain = DistillSettings(self.env, attempts=ATTEMPTS, step_limit=self.step_limit, episode=episode, concurrency=6)
        return replace(plain, **changes)

    def builder(self, url: str, journal: Path, patience: Patience = QUICK, **changes: Any) -> DistillBuilder:
        choice = ModelChoice(MODEL, url, timeout=changes.pop("timeout", 30.0))
        return DistillBuilder(self.settings(**changes), MODEL, choice.open, journal, patience=patience)

    def build(self, builder: DistillBuilder, graph: ReferenceGraph) -> BuildReport:
        options = BuildOptions(limit=len(self.tasks))
        assert builder.count(self.data, options) == len(self.tasks)
        return build_graph("distill", builder, graph, data=self.data, options=options)

    def answers(self, builder: DistillBuilder) -> list[Built | Rejected]:
        return list(builder.build(self.data, BuildOptions(limit=len(self.tasks))))


def _recorded(env: str, data: Path | None, count: int, step_limit: int) -> Teacher:
    world = open_world(EnvSpec(env, data))
    tasks = tuple(islice(world.tasks, count))
    jobs = [Job(task, number) for task in tasks for number in range(ATTEMPTS)]
    book = record(world, jobs, lambda job: "noisy" if job.number % 2 else "expert", step_limit=step_limit)
    return Teacher(env, data, tasks, book, step_limit)


@pytest.fixture(scope="module", autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PROAS_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        patch.delenv("OPENAI_API_KEY", raising=False)
        patch.delenv("PROAS_API_KEY", raising=False)
        yield


@pytest.fixture(scope="module")
def kitchen(tmp_path_factory: pytest.TempPathFactory, _own_cache: None) -> Teacher:
    """Six games, one of each kind."""
    folder = tmp_path_factory.mktemp("games")
    for trial in generate(6, seed=21):
        trial.write(folder)
    return _recorded("alfworld", folder, 6, step_limit=20)


@pytest.fixture(scope="module")
def shop(_own_cache: None) -> Teacher:
    """Five goals of the product set that ships with the package."""
    return _recorded("webshop", None, 5, step_limit=12)


@pytest.mark.parametrize("name", ["kitchen", "shop"])
def test_a_teacher_becomes_a_sound_graph(
    name: str, request: pytest.FixtureRequest, graph: ReferenceGraph, tmp_path: Path
) -> None:
    teacher: Teacher = request.getfixturevalue(name)
    with ReplayEndpoint(teacher.book) as endpoint:
        builder = teacher.builder(endpoint.url, tmp_path / "j.jsonl")
        report = teacher.build(builder, graph)
    coverage = builder.coverage
    assert graph.verify().ok
    assert report.tasks == coverage.covered == coverage.solved == coverage.tried == coverage.tasks == len(teacher.tasks)
    assert coverage.attempts == ATTEMPTS * len(teacher.tasks)
    assert coverage.successes + sum(coverage.causes.values()) == coverage.attempts
    assert set(report.transitions) == {"distill"}
    assert (coverage.prompt_tokens + coverage.completion_tokens, coverage.tokens_estimated) == (endpoint.billed, False)
    assert (coverage.calls, coverage.invalid_formats, coverage.missing, coverage.stopped.why) == (
        len(endpoint.requests),
        0,
        0,
        "",
    )
    # The expert's own ways are in the graph: all its steps are reasonable.
    world = open_world(EnvSpec(teacher.env, teacher.data))
    walks = collect(world, teacher.tasks, CollectSettings(policy="expert", group_size=1), follower_for)
    for labelled in graph.label(RolloutBatch(tuple(walk for walk in walks if isinstance(walk, Rollout)))):
        assert labelled.success
        assert all(step.label is not None and step.label.reasonable for step in labelled.steps)
    again = teacher.build(teacher.builder("http://127.0.0.1:9", tmp_path / "j.jsonl"), graph)
    assert (again.skipped, again.added_states, again.added_transitions) == (len(teacher.tasks), 0, 0)


def test_the_result_does_not_depend_on_the_order_of_the_answers(kitchen: Teacher, tmp_path: Path) -> None:
    found: list[list[Built | Rejected]] = []
    orders: list[list[str]] = []
    for number, concurrency in enumerate((1, 5, 24)):
        chance = random.Random(number)

        def late(request: dict[str, Any], chance: random.Random = chance) -> str:
            import time

            time.sleep(chance.random() * 0.01)
            return kitchen.book[entry(request["messages"], request["seed"])]

        journal = tmp_path / f"{number}.jsonl"
        with ReplayEndpoint(late) as endpoint:
            found.append(kitchen.answers(kitchen.builder(endpoint.url, journal, concurrency=concurrency)))
            assert endpoint.most_at_once <= concurrency
        orders.append([json.loads(line)["id"] for line in journal.read_text("utf-8").splitlines()[1:]])
    assert found[0] == found[1] == found[2]
    assert [answer.task for answer in found[0]] == list(kitchen.tasks)
    assert sorted(orders[0]) == sorted(orders[1]) == sorted(orders[2])
    assert orders[0] != orders[2]
    assert [job.rpartition("#")[2] for job in orders[0]] == ["0"] * 6 + ["1"] * 6 + ["2"] * 6


def test_faults_on_the_way_change_nothing(kitchen: Teacher, tmp_path: Path) -> None:
    passing = ("429", "500", "503", "reset", "cut", "html", "invalid json", "empty choices", "no answer")
    faults = (*passing, "goodbye", "parts", "latin")
    chance = random.Random(4)
    script = [chance.choice(faults) if chance.random() < 0.3 else "" for _ in range(5000)]
    with ReplayEndpoint(kitchen.book) as endpoint:
        smooth = kitchen.answers(kitchen.builder(endpoint.url, tmp_path / "smooth.jsonl"))
    with ReplayEndpoint(kitchen.book, fault=lambda number, _request: script[number]) as endpoint:
        builder = kitchen.builder(endpoint.url, tmp_path / "rough.jsonl")
        rough = kitchen.answers(builder)
    graphs = [[answer.graph for answer in answers if isinstance(answer, Built)] for answers in (smooth, rough)]
    assert graphs[0] == graphs[1]
    assert builder.coverage.broken_off == 0
    assert builder.coverage.wasted_tokens > 0


@pytest.mark.parametrize("budget", [1_000, 15_000, 45_000])
def test_a_budget_holds_to_the_token_and_a_larger_one_goes_on_from_there(
    kitchen: Teacher, tmp_path: Path, budget: int
) -> None:
    journal = tmp_path / "j.jsonl"
    with ReplayEndpoint(kitchen.book) as endpoint:
        short = kitchen.builder(endpoint.url, journal, budget=Budget(tokens=budget))
        first = kitchen.answers(short)
        assert short.coverage.tokens == endpoint.billed <= budget
        assert short.coverage.stopped.why == "tokens"
        assert short.coverage.missing == ATTEMPTS * 6 - short.coverage.attempts > 0
        untried = [a for a in first if isinstance(a, Rejected) and a.problem == "not_tried"]
        assert len(untried) == 6 - short.coverage.tried
        whole = kitchen.builder(endpoint.url, journal)
        kitchen.answers(whole)
    assert whole.coverage.attempts == ATTEMPTS * 6
    asked = [entry(request["messages"], request["seed"]) for request in endpoint.requests]
    assert len(asked) == len(set(asked)) == len(kitchen.book)  # no prompt was paid for twice
    assert whole.coverage.tokens == endpoint.billed


def test_a_budget_of_attempts_covers_many_tasks(kitchen: Teacher, tmp_path: Path) -> None:
    with ReplayEndpoint(kitchen.book) as endpoint:
        builder = kitchen.builder(endpoint.url, tmp_path / "j.jsonl", budget=Budget(attempts=8))
        kitchen.answers(builder)
    coverage = builder.coverage
    assert (coverage.attempts, coverage.tried, coverage.missing) == (8, 6, 10)
    assert coverage.stopped.why == "attempts"


def test_an_endpoint_that_dies_leaves_what_was_done(kitchen: Teacher, graph: ReferenceGraph, tmp_path: Path) -> None:
    journal = tmp_path / "j.jsonl"
    impatient = Patience(retry_for=0.2, first_pause=0.05)
    first = ReplayEndpoint(kitchen.book, fault=lambda number, _request: _die_after(first, number, 150))
    with first:
        builder = kitchen.builder(first.url, journal, impatient)
        report = kitchen.build(builder, graph)
    coverage = builder.coverage
    assert coverage.stopped.why == "model"
    assert "nobody answers" in coverage.stopped.message
    assert "run the same command again" in coverage.stopped.hint
    assert 0 < coverage.attempts < ATTEMPTS * 6
    assert coverage.broken_off > 0
    assert report.tasks == coverage.covered > 0
    assert graph.verify().ok
    with ReplayEndpoint(kitchen.book) as second:
        whole = kitchen.builder(second.url, journal)
        kitchen.build(whole, graph)
    assert (whole.coverage.attempts, whole.coverage.reused) == (ATTEMPTS * 6, coverage.attempts)
    assert whole.coverage.covered == 6
    assert graph.verify().ok
    paid = [entry(r["messages"], r["seed"]) for r in (*first.requests[:150], *second.requests)]
    assert len(paid) - len(set(paid)) <= 6  # at most what was on its way when the endpoint died
    assert len(set(paid)) == len(kitchen.book)


def _die_after(endpoint: ReplayEndpoint, number: int, calls: int) -> str:
    if number < calls:
        return ""
    endpoint.vanish()
    return "no answer"


def test_a_teacher_that_is_not_there_is_told_before_anything_is_built(kitchen: Teacher, tmp_path: Path) -> None:
    options = BuildOptions(limit=6)
    with pytest.raises(ModelUnavailable, match="nobody answers"):
        kitchen.builder("http://127.0.0.1:9", tmp_path / "a.jsonl").count(kitchen.data, options)
    with ReplayEndpoint(kitchen.book) as endpoint:
        choice = ModelChoice("gpt-unknown", endpoint.url)
        builder = DistillBuilder(kitchen.settings(), "gpt-unknown", choice.open, tmp_path / "b.jsonl")
        with pytest.raises(ModelRefused, match="it offers recorded, other"):
            builder.count(kitchen.data, options)
        with pytest.raises(UsageError, match="--expand optimal does not go with distill"):
            builder.count(kitchen.data, BuildOptions(expand="optimal"))
        assert endpoint.requests == []


def test_enough_successes_leave_a_task_alone(kitchen: Teacher, tmp_path: Path) -> None:
    with ReplayEndpoint(kitchen.book) as endpoint:
        builder = kitchen.builder(endpoint.url, tmp_path / "j.jsonl", enough=1, concurrency=1)
        kitchen.answers(builder)
    # The first attempt is the expert's, and wins.
    assert (builder.coverage.attempts, builder.coverage.successes, builder.coverage.missing) == (6, 6, 0)


@pytest.mark.parametrize(
    ("says", "problem"),
    [
        (lambda _request: "I am a language model and cannot move.", "unreadable"),
        (lambda _request: "<think>x</think><action>dance</action>", "step limit"),
        (lambda _request: "", "unreadable"),
    ],
)
def test_a_teacher_that_cannot_play_covers_nothing(
    kitchen: Teacher, tmp_path: Path, says: Callable[[dict[str, Any]], str], problem: str
) -> None:
    with ReplayEndpoint(says) as endpoint:
        builder = kitchen.builder(endpoint.url, tmp_path / "j.jsonl", attempts=1)
        answers = kitchen.answers(builder)
    assert all(isinstance(a, Rejected) and a.problem == "unsolved" and problem in a.reason for a in answers)
    coverage = builder.coverage
    assert (coverage.covered, coverage.tried, coverage.successes) == (0, 6, 0)
    assert (coverage.invalid_formats > 0) == (problem == "unreadable")


def test_one_task_whose_prompt_is_refused_costs_only_itself(kitchen: Teacher, tmp_path: Path) -> None:
    goals = _goals(kitchen.tasks, kitchen.data)
    poisoned = next(goal for goal in goals.values() if list(goals.values()).count(goal) == 1)

    def fault(_number: int, request: dict[str, Any]) -> str:
        return "400" if poisoned in request["messages"][1]["content"] else ""

    with ReplayEndpoint(kitchen.book, fault=fault) as endpoint:
        builder = kitchen.builder(endpoint.url, tmp_path / "j.jsonl")
        answers = kitchen.answers(builder)
    lost = [answer for answer in answers if isinstance(answer, Rejected)]
    assert [(goals[one.task], one.problem, one.reason) for one in lost] == [
        (poisoned, "unsolved", "3 attempts, none won: refused 3")
    ]
    assert builder.coverage.stopped.why == ""


def _goals(tasks: Sequence[str], data: Path | None) -> dict[str, str]:
    env = open_world(EnvSpec("alfworld", data)).environment()
    goals = {}
    for task in tasks:
        env.reset(task)
        goals[task] = env.goal_text
    return goals


def test_a_recorded_success_that_no_longer_wins_is_not_believed(kitchen: Teacher, tmp_path: Path) -> None:
    journal = tmp_path / "j.jsonl"
    with ReplayEndpoint(kitchen.book) as endpoint:
        kitchen.answers(kitchen.builder(endpoint.url, journal, attempts=1))
    header, *lines = journal.read_text("utf-8").splitlines(keepends=True)
    forged = json.loads(lines[0])
    forged["steps"][0]["action"] = "look"  # the states still say that it led on
    journal.write_text("".join([header, json.dumps(forged) + "\n", *lines[1:]]), "utf-8")
    builder = kitchen.builder("http://127.0.0.1:9", journal, attempts=1, budget=Budget(attempts=0))
    answers = kitchen.answers(builder)
    (lost,) = [answer for answer in answers if isinstance(answer, Rejected)]
    assert (lost.task, lost.problem) == (forged["task"], "unverified")
    assert builder.coverage.unverified == 1
    assert builder.coverage.covered == 5


def test_the_filter_s_losses_are_in_the_report(kitchen: Teacher, tmp_path: Path) -> None:
    journal = tmp_path / "j.jsonl"
    with ReplayEndpoint(kitchen.book) as endpoint:
        kitchen.answers(kitchen.builder(endpoint.url, journal))
    rules = {
        "none": QualityFilter(purification="paper", max_detour=None),
        "loops": QualityFilter(max_detour=None),
        "support": QualityFilter(max_detour=None, min_support=2),
        "agreement": QualityFilter(max_detour=None, min_agreement=1.0),
    }
    kept: dict[str, int] = {}
    for name, rule in rules.items():
        builder = kitchen.builder("http://127.0.0.1:9", journal, quality=rule)
        built = [answer.graph for answer in kitchen.answers(builder) if isinstance(answer, Built)]
        kept[name] = sum(len(graph.transitions) for graph in built)
        assert all(e.support >= rule.min_support for graph in built for e in graph.transitions)
        dropped = builder.coverage.dropped
        assert (dropped["loops"] > 0) == (name != "none")
        assert (dropped["support"] > 0, dropped["agreement"] > 0) == (name == "support", name == "agreement")
    assert kept["none"] > kept["loops"] > kept["support"] >= kept["agreement"] > 0


def test_a_dialogue_is_distilled_too(kitchen: Teacher, tmp_path: Path) -> None:
    world = open_world(EnvSpec("alfworld", kitchen.data))
    prompts = PromptSettings(layout="dialogue", history=None)
    book = record(world, [Job(task, 0) for task in kitchen.tasks], lambda _job: "expert", prompts=prompts)
    with ReplayEndpoint(book) as endpoint:
        builder = kitchen.builder(endpoint.url, tmp_path / "j.jsonl", prompts=prompts, attempts=1, step_limit=None)
        kitchen.answers(builder)
    assert builder.coverage.covered == 6
    assert max(len(request["messages"]) for request in endpoint.requests) > 6
