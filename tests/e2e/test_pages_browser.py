"""The pages in a real browser: drawn, without an error, without the network, by mouse, keyboard and screen reader."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from proas.graph.records import Task, TaskGraph, Transition
from proas.graph.saved import ask, saved_queries
from proas.graph.store import ReferenceGraph
from proas.localdb import ServerInfo
from proas.rollout_files import load_rollouts, write_rollouts
from proas.rollouts import State
from proas.shaping import preset, shape
from proas.subgoals import GOAL_REACHED, Rung, ladder_of
from proas.views.choosing import QUESTIONS, draw, questions
from proas.views.drawing import draw_task
from proas.views.graph_page import GraphPage, graph_page
from tests.e2e.conftest import Proas, connection_to, evolved_layer
from tests.support.browser import Watched, watched

if TYPE_CHECKING:
    from playwright.sync_api import Browser

VERSIONS = 3


@dataclass(frozen=True)
class Evolved:
    """A layer that evolved three times, its tasks, and shaped rollouts of them."""

    layer: str
    task: str
    rollouts: Path


@pytest.fixture(scope="module")
def evolved(
    built: str, rollouts: Path, neo4j_server: ServerInfo, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Evolved]:
    """What a training run would leave: a few successes joined in each version, and the labels that came of it."""
    connection = connection_to(neo4j_server)
    batch = load_rollouts(rollouts)
    layer = evolved_layer(connection, built, [batch.rollouts[k::VERSIONS] for k in range(VERSIONS)], "pages")
    assert layer.info().version == VERSIONS
    file = tmp_path_factory.mktemp("pages") / "shaped.jsonl"
    shaped = shape(layer.label(batch, version=1), preset("membership")).batch
    write_rollouts(file, shaped)
    grown = {part.task for part in layer.diff(0, VERSIONS).tasks if part.added_states}
    (task, *_) = [r.task for r in shaped if r.task in grown and r.success and any(s.advantage for s in r.steps)]
    yield Evolved(layer.name, task, file)
    layer.drop(force=True)


@pytest.fixture
def page_of_a_task(evolved: Evolved, proas: Proas, work: Path) -> Path:
    """The page of a task with its rollouts over it."""
    out = work / "task.html"
    words = ("--graph", evolved.layer, "--rollout", evolved.rollouts, "--html", out)
    done = proas("graph", "viz", evolved.task, *words, "--json")
    assert done.code == 0, done.err
    assert done.document["rollouts"] == 4
    return out


def opened(seen: Watched, file: Path) -> Watched:
    """Open a page and wait until it has drawn, if it draws."""
    seen.page.goto(file.as_uri())
    if seen.page.locator("#drawing").count():
        seen.page.wait_for_function("window.proas && document.querySelectorAll('#drawing canvas').length > 0")
        seen.page.wait_for_timeout(150)  # until the canvas has been painted
    return seen


def clean(seen: Watched) -> None:
    """Nothing was wrong, and nothing was asked of the network."""
    assert seen.errors == []
    assert seen.requests == []


def drawn(seen: Watched, selector: str = ".state") -> int:
    """How many elements can be seen."""
    found: int = seen.page.evaluate(f"proas.cy.elements('{selector}').filter(':visible').length")
    return found


def said(seen: Watched) -> str:
    """What a screen reader has been told."""
    return seen.page.locator("#said").inner_text()


def colours(seen: Watched) -> int:
    """Number of colours in the drawing: one, if nothing is drawn."""
    found: int = seen.page.evaluate(
        """() => { const all = new Set();
        for (const canvas of document.querySelectorAll('#drawing canvas')) {
          const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
          for (let i = 0; i < data.length; i += 4) all.add(data.slice(i, i + 4).join());
        } return all.size; }"""
    )
    return found


def test_a_task_is_drawn_with_its_subgoals_from_left_to_right(chromium: Browser, page_of_a_task: Path) -> None:
    with watched(chromium, width=1440, height=900) as seen:
        opened(seen, page_of_a_task)
        assert drawn(seen) > 5
        assert drawn(seen, ".way") > 5
        assert colours(seen) > 50
        by_subgoal = seen.page.evaluate(
            "proas.cy.nodes('.state').map((n) => [n.data('m'), n.position('x')]).sort((a, b) => a[0] - b[0])"
        )
        reach: dict[int, list[float]] = {}
        for m, x in by_subgoal:
            reach.setdefault(m, []).append(x)
        order = sorted(reach)
        assert len(order) > 2
        assert all(max(reach[a]) < min(reach[b]) for a, b in pairwise(order))
        boxes = seen.page.evaluate("proas.cy.nodes('.state').map((n) => [n.position('x'), n.position('y')])")
        for i, (x, y) in enumerate(boxes):
            assert all(abs(x - u) >= 160 or abs(y - v) >= 90 for u, v in boxes[:i]), "two states overlap"
        seen.picture("page-task")
        clean(seen)


def test_the_slider_goes_through_the_versions(chromium: Browser, page_of_a_task: Path) -> None:
    with watched(chromium) as seen:
        opened(seen, page_of_a_task)
        slider = seen.page.get_by_role("slider", name="Version")
        now = drawn(seen)
        counts = []
        for k in range(VERSIONS + 1):
            slider.fill(str(k))
            assert said(seen).startswith(f"Version {k} of {VERSIONS}")
            seen.page.wait_for_timeout(150)  # styles are applied with the next picture of the screen
            counts.append(drawn(seen))
        assert counts == sorted(counts)
        assert counts[0] < counts[-1] == now
        new = seen.page.evaluate("proas.cy.elements('.new').map((e) => e.data('v'))")
        assert all(v == VERSIONS for v in new)
        seen.page.keyboard.press("Home")
        assert said(seen).startswith("Version 0")
        clean(seen)


def test_a_rollout_is_followed_step_by_step(chromium: Browser, evolved: Evolved, page_of_a_task: Path) -> None:
    own = [r for r in load_rollouts(evolved.rollouts) if r.task == evolved.task]
    (number, rollout) = next((i, r) for i, r in enumerate(own) if any(s.advantage for s in r.steps) and r.success)
    with watched(chromium, width=1440, height=900) as seen:
        opened(seen, page_of_a_task)
        seen.page.get_by_label("Rollout", exact=True).select_option(str(number))
        rows = seen.page.locator("#chosen tbody tr")
        assert rows.count() == len(rollout.steps)
        for t, step in enumerate(rollout.steps):
            cells = rows.nth(t).locator("td").all_inner_texts()
            assert step.label is not None
            assert step.base_advantage is not None
            assert step.advantage is not None
            assert cells[1].startswith(step.action)
            assert cells[2:5] == [str(int(step.label.reasonable)), str(int(step.label.progress)), str(step.label.drift)]
            shown = [0.0 if text == "0" else float(text.replace("−", "-")) for text in cells[5:]]
            assert shown == pytest.approx([step.base_advantage, step.advantage], abs=0.006)
        assert seen.page.locator('tr[aria-current="step"] td').first.inner_text() == "1"
        seen.page.get_by_role("button", name="one step on").click()
        seen.page.locator("h1").click()
        seen.page.keyboard.press("n")
        assert seen.page.locator('tr[aria-current="step"] td').first.inner_text() == "3"
        assert f"Step 3 of {len(rollout.steps)}: {rollout.steps[2].action}" in said(seen)
        assert drawn(seen, ".walk.done") <= 3
        assert drawn(seen, ".walk.now") == 1
        seen.picture("page-rollout")
        clean(seen)


def test_states_that_only_rollouts_reach_are_shown_with_them(chromium: Browser, page_of_a_task: Path) -> None:
    with watched(chromium) as seen:
        opened(seen, page_of_a_task)
        outside = seen.page.evaluate("proas.data.nodes.filter((n) => n.s === 'outside').length")
        assert outside > 0
        assert drawn(seen, ".outside") == 0
        most = 0
        for number in range(4):
            seen.page.get_by_label("Rollout", exact=True).select_option(str(number))
            most = max(most, drawn(seen, ".outside"))
        assert most > 0
        seen.page.get_by_label("Rollout", exact=True).select_option("")
        assert drawn(seen, ".outside") == 0
        clean(seen)


def test_search_finds_states_by_fact_and_by_action(chromium: Browser, page_of_a_task: Path) -> None:
    with watched(chromium) as seen:
        opened(seen, page_of_a_task)
        seen.page.locator("body").press("/")
        seen.page.keyboard.type("HOLDING")
        expected = seen.page.evaluate(
            "proas.data.nodes.filter((n) => n.s !== 'outside' && n.f.join().includes('holding')).length"
        )
        assert expected > 0
        assert seen.page.locator("#hits").inner_text() == f"{expected} found"
        seen.page.keyboard.press("Enter")
        assert seen.page.locator("#chosen h2").inner_text().startswith("holding")
        seen.picture("page-search")
        search = seen.page.get_by_role("searchbox", name="Search")
        search.fill("go to")
        assert int(seen.page.locator("#hits").inner_text().split()[0]) > 0
        search.fill("no such thing anywhere")
        assert seen.page.locator("#hits").inner_text() == "0 found"
        search.press("Escape")
        assert drawn(seen, ".faded") == 0
        clean(seen)


def test_keys_alone_are_enough(chromium: Browser, page_of_a_task: Path) -> None:
    with watched(chromium) as seen:
        opened(seen, page_of_a_task)
        reached = set()
        for _ in range(14):
            seen.page.keyboard.press("Tab")
            reached.add(seen.page.evaluate("document.activeElement.id || document.activeElement.className"))
        assert {"skip", "version", "rollout", "search", "fit", "theme", "drawing"} <= reached
        seen.page.locator("#drawing").focus()
        seen.page.keyboard.press("ArrowRight")
        first = said(seen)
        assert first.startswith("start. Subgoal 0")
        seen.page.keyboard.press("ArrowRight")
        assert said(seen) != first
        seen.page.keyboard.press("Enter")
        seen.page.keyboard.press("[")
        assert said(seen).startswith(f"Version {VERSIONS - 1}")
        before = seen.page.evaluate("proas.cy.zoom()")
        seen.page.keyboard.press("+")
        assert seen.page.evaluate("proas.cy.zoom()") > before
        clean(seen)


def test_the_same_facts_are_there_as_tables(chromium: Browser, page_of_a_task: Path) -> None:
    with watched(chromium) as seen:
        opened(seen, page_of_a_task)
        page = seen.page
        for summary in page.locator("#facts summary").all():
            if not summary.evaluate("(e) => e.parentElement.open"):
                summary.click()
        inside = page.evaluate("proas.data.nodes.filter((n) => n.s !== 'outside').length")
        assert page.get_by_role("table", name="States").locator("tbody tr").count() == inside
        ways = page.evaluate("proas.data.edges.length")
        assert page.get_by_role("table", name="Transitions").locator("tbody tr").count() == ways
        assert page.get_by_role("group", name="Legend").locator("li").count() == 9
        assert page.get_by_role("application", name="Drawing of the graph").count() == 1
        clean(seen)


def test_dark_is_dark_and_can_be_changed(chromium: Browser, page_of_a_task: Path) -> None:
    def ground(seen: Watched) -> int:
        text = seen.page.evaluate("getComputedStyle(document.body).backgroundColor")
        return sum(int(part) for part in re.findall(r"\d+", text)[:3])

    with watched(chromium, dark=True, width=1440, height=900) as seen:
        opened(seen, page_of_a_task)
        assert ground(seen) < 150
        fill = "proas.cy.nodes('.start').style('background-color')"
        night = seen.page.evaluate(fill)
        seen.picture("page-task-dark")
        seen.page.get_by_role("button", name="Light or dark").click()
        assert ground(seen) > 700
        assert seen.page.evaluate(fill) != night
        clean(seen)


def test_a_narrow_window_shows_everything_below_each_other(chromium: Browser, page_of_a_task: Path) -> None:
    with watched(chromium, width=420, height=900) as seen:
        opened(seen, page_of_a_task)
        assert seen.page.evaluate("document.documentElement.scrollWidth") <= 420
        seen.picture("page-narrow")
        clean(seen)


def test_what_was_learnt_between_two_versions(chromium: Browser, evolved: Evolved, proas: Proas, work: Path) -> None:
    span = ("--from", 0, "--to", VERSIONS, "--graph", evolved.layer)
    grown = proas("graph", "diff", *span, "--json").document
    done = proas("graph", "diff", *span, "--html", "diff.html", "--json")
    assert done.code == 0, done.err
    with watched(chromium, width=1440, height=900) as seen:
        opened(seen, work / "diff.html")
        text = seen.page.locator("header").inner_text()
        assert f"{grown['added_states']:,} states, {grown['added_transitions']:,} transitions" in text
        assert seen.page.locator("header tbody tr").count() == len(grown["tasks"])
        assert drawn(seen, "edge.new") == grown["added_transitions"] == drawn(seen, ".way")
        seen.picture("page-diff")
        clean(seen)


def test_queries_over_all_tasks(chromium: Browser, evolved: Evolved, proas: Proas, work: Path) -> None:
    for name in ("shortest", "support", "added", "subgoal", "task"):
        words = ("--query", name, "--graph", evolved.layer, "--subgoal", 1, "--html", f"{name}.html", "--json")
        done = proas("graph", "viz", *words)
        assert done.code == 0, done.err
        with watched(chromium, width=1440, height=900) as seen:
            opened(seen, work / f"{name}.html")
            assert drawn(seen) == done.document["states"] > 0
            assert drawn(seen, ".title") == (done.document["tasks"] if done.document["tasks"] > 1 else 0)
            seen.picture(f"page-query-{name}")
            clean(seen)


HOSTILE = "</script><script>window.hacked = 1</script><img src=x onerror='window.hacked = 2'>\"'&amp;\u202e\x07"


def test_words_from_data_neither_run_nor_load_anything(chromium: Browser, tmp_path: Path) -> None:
    first, second = State.of("e", HOSTILE, [HOSTILE]), State.of("e", HOSTILE, [f"{HOSTILE} done", GOAL_REACHED])
    graph = TaskGraph(
        Task(HOSTILE, "e", HOSTILE, HOSTILE),
        ladder_of([Rung(HOSTILE)], goal=HOSTILE),
        first,
        {state.key: state for state in (first, second)},
        (Transition(first.key, HOSTILE, second.key, HOSTILE),),
    )
    page = GraphPage(HOSTILE, HOSTILE, 0, (), (draw_task(graph, {}),))
    file = tmp_path / "hostile.html"
    file.write_text(graph_page(page), encoding="utf-8")
    with watched(chromium) as seen:
        opened(seen, file)
        seen.page.locator("#drawing").focus()
        seen.page.keyboard.press("ArrowRight")
        assert seen.page.evaluate("typeof window.hacked") == "undefined"
        assert seen.page.locator("img").count() == 0
        assert "<script>window.hacked = 1</script>" in seen.page.locator("h1").inner_text()
        assert "\u202e" not in seen.page.locator("body").inner_text()
        blocked = seen.page.evaluate(
            "new Promise((done) => { addEventListener('securitypolicyviolation', (e) => done(e.violatedDirective));"
            "fetch('https://example.invalid/').catch(() => {}); })"
        )
        assert blocked == "connect-src"


def test_two_thousand_states_are_drawn_and_can_be_searched(chromium: Browser, tmp_path: Path) -> None:
    states = [
        State.of("e", "large", [f"at place {i}", *[f"m{m} done" for m in range(1, i // 400 + 1)]]) for i in range(2000)
    ]
    ladder = ladder_of([Rung(f"milestone {m}", ((f"m{m} done",),)) for m in range(1, 5)])
    edges = {
        (i, j): Transition(states[i].key, f"go to place {j}", states[j].key, "plan", 1, i % 7)
        for i in range(2000)
        for j in (i + 1, i + 13, i + 211)
        if j < 2000
    }
    graph = TaskGraph(
        Task("large", "e", "reach the end"), ladder, states[0], {s.key: s for s in states}, (*edges.values(),)
    )
    file = tmp_path / "large.html"
    file.write_text(graph_page(GraphPage("g", "large", 0, (), (draw_task(graph, {}),), after=None)), encoding="utf-8")
    with watched(chromium, width=1440, height=900) as seen:
        opened(seen, file)
        assert drawn(seen) == 2000
        seen.page.get_by_role("button", name="Whole").click()
        seen.page.get_by_role("searchbox", name="Search").fill("place 199")
        meant = {i for i in range(2000) if "199" in f"{i}"[:3]}
        meant |= {i for i, j in edges if "199" in f"{j}"[:3]}  # from there the action leads to such a place
        assert seen.page.locator("#hits").inner_text() == f"{len(meant)} found"
        seen.picture("page-large")
        clean(seen)


def test_the_report_of_a_run(chromium: Browser, evolved: Evolved, proas: Proas, work: Path) -> None:
    run = work / "run <b>"
    run.mkdir()
    settings = {"env": "alfworld", "seed": 3, "iterations": 3}
    document = {"form": 1, "arm": "grpo+proas-membership", "settings": settings, "graph": evolved.layer}
    (run / "config.json").write_text(json.dumps(document), encoding="utf-8")
    batch = load_rollouts(evolved.rollouts)
    measured = shape(batch, preset("membership")).metrics
    rows = [
        {"iteration": float(k), "rollout/success": 0.25, "evaluation/t1/success": 0.5, **measured} for k in (1, 2, 3)
    ]
    (run / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    done = proas("report", run, "--rollouts", evolved.rollouts, "--html", "report.html", "--json")
    assert done.code == 0, done.err
    assert done.document["detours"] > 0
    assert done.document["changed_tasks"] > 0
    for dark in (False, True):
        with watched(chromium, width=1280, height=1600, dark=dark) as seen:
            opened(seen, work / "report.html")
            page = seen.page
            assert page.locator("h1").inner_text() == "Training run run <b>"
            assert page.get_by_role("img").count() == len(done.document["charts"]) >= 3
            assert (
                page.get_by_role("table", name="Ways off the graph").locator("tbody tr").count()
                == done.document["detours"]
            )
            mask = page.get_by_role("row", name=re.compile("^mask rate")).locator("td").nth(1).inner_text()
            assert float(mask) == pytest.approx(measured["proas/mask_rate"], abs=0.001)
            seen.picture(f"report{'-dark' if dark else ''}")
            clean(seen)


ANSWERED = {
    "growth": "What a task learnt and when",
    "provenance": "Who showed it",
    "beyond": "Regions that rollouts reach",
    "rollout": "A rollout",
    "compare": "Two runs compared",
    "only_here": "Two runs compared",
    "detours": "The detours that rollouts took most often",
    "graphs": "All graphs",
}


@pytest.fixture
def attached(evolved: Evolved, proas: Proas, work: Path) -> Iterator[Evolved]:
    """The same with its rollouts attached."""
    done = proas("rollouts", "attach", evolved.rollouts, "--graph", evolved.layer)
    assert done.code == 0, done.err
    yield evolved
    assert proas("rollouts", "prune", "--graph", evolved.layer, "--all").code == 0


def test_every_saved_query_of_neo4j_browser_makes_a_page(
    chromium: Browser, attached: Evolved, built: str, proas: Proas, work: Path
) -> None:
    """Those that choose from a task's graph, and those that only the database answers."""
    names = {saved.name for saved in saved_queries()}
    own = {question.name for question in QUESTIONS}
    assert own < names
    assert names == own | ANSWERED.keys()
    strays = 0
    with watched(chromium, width=1440, height=900) as seen:
        for name, title in ANSWERED.items():
            of_task = () if name in {"detours", "graphs"} else (attached.task,)
            other = ("--other", built) if name in {"compare", "only_here"} else ()
            words = (*of_task, "--query", name, "--graph", attached.layer, *other, "--html", work / f"{name}.html")
            done = proas("graph", "viz", *words, "--json")
            assert done.code == 0, (name, done.err)
            opened(seen, work / f"{name}.html")
            assert seen.page.locator("h1").inner_text().startswith(title), name
            if name in {"growth", "provenance", "compare", "graphs"}:
                assert seen.page.locator("tbody tr").count() > 1, name
            if name in {"detours", "beyond"}:
                assert drawn(seen, ".detour") == done.document["detours"] > 0
                strays += drawn(seen, ".outside")
            if name == "rollout":
                seen.page.locator("#rollout").select_option("0")
                assert drawn(seen, ".walk") > 0
            seen.picture(f"page-query-{name}")
        assert strays > 0
        clean(seen)


def test_a_saved_query_draws_in_a_page_what_it_draws_in_browser(
    evolved: Evolved, built: str, neo4j_server: ServerInfo
) -> None:
    """On a graph that is no layer, where both look at the same: the same transitions."""
    store = ReferenceGraph(connection_to(neo4j_server), built)
    for name in ("task", "shortest", "support"):
        parameters = {"graph": built, "task": evolved.task}
        answer = ask(store, name, parameters)
        stored = {way.get("key") for way in answer.relationships.values() if way.type == "TRANSITION"}
        (task,) = draw(store, [evolved.task], questions(name))[0] or (None,)
        if task is None:
            assert not stored, name
        elif name == "shortest":  # any of the shortest will do
            assert len(stored) == len(task.transitions)
        else:
            assert stored == {t.key for t in task.transitions}, name


def test_a_query_that_lacks_what_it_is_about_says_so(evolved: Evolved, built: str, proas: Proas, work: Path) -> None:
    def said(*words: object) -> str:
        done = proas("graph", "viz", *words, "--html", work / "none.html", "--json")
        assert done.code in {1, 2}
        assert not (work / "none.html").exists()
        return f"{done.error['message']} {done.error['hint']}"

    assert "name the TASK" in said("--query", "growth", "--graph", built)
    assert "proas rollouts attach" in said("--query", "detours", "--graph", built)
    assert "proas rollouts attach" in said(evolved.task, "--query", "rollout", "--graph", built)
    assert "no-such-graph" in said(evolved.task, "--query", "compare", "--graph", built, "--other", "no-such-graph")
    assert "there is no query 'nope'" in said(evolved.task, "--query", "nope", "--graph", built)


def test_the_page_names_the_versions_that_brought_something(chromium: Browser, page_of_a_task: Path) -> None:
    with watched(chromium) as seen:
        opened(seen, page_of_a_task)
        buttons = seen.page.locator("#grown button")
        brought = seen.page.evaluate(
            "[...new Set([...proas.data.nodes, ...proas.data.edges].filter((e) => e.s !== 'outside' && e.v > 0)"
            ".map((e) => String(e.v)))].sort()"
        )
        assert buttons.all_inner_texts() == brought != []
        buttons.first.click()
        assert said(seen).startswith(f"Version {brought[0]} of {VERSIONS}")
        assert drawn(seen, ".new") > 0
        clean(seen)
