"""Neo4j Browser itself, in a real browser: log in, set the colours, run every saved query, see what is drawn."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

from proas.graph.saved import ask
from proas.localdb import ServerInfo
from proas.rollout_files import load_rollouts, write_rollouts
from proas.shaping import preset, shape
from proas.views.diff_page import growth_by_task
from tests.e2e.conftest import Proas, connection_to, evolved_layer, login
from tests.support.browser import Watched, watched

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator

pytestmark = pytest.mark.neo4j

PICTURES = {"task", "subgoal", "added", "shortest", "support", "detours", "beyond", "rollout", "only_here", "graphs"}
TABLES = {"growth", "provenance", "compare"}
PATIENCE = 30_000


@dataclass(frozen=True)
class Runs:
    """Two runs over one base, with rollouts attached to the first; a task of which more than one success was joined."""

    first: str
    second: str
    task: str
    labelled: Path


@pytest.fixture(scope="module")
def runs(
    built: str, rollouts: Path, neo4j_server: ServerInfo, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Runs]:
    connection = connection_to(neo4j_server)
    batch = load_rollouts(rollouts)
    thirds = [batch.rollouts[k::3] for k in range(3)]
    layers = [evolved_layer(connection, built, thirds[:parts], f"run {parts}") for parts in (3, 1)]
    file = tmp_path_factory.mktemp("browser") / "shaped.jsonl"
    write_rollouts(file, shape(layers[0].label(batch, version=1), preset("membership")).batch)

    def shows_all(key: str) -> bool:
        """More than one success was joined, and some rollout leaves the graph."""
        known = layers[0].read(key).states.keys()
        astray = any(not known >= set(rollout.state_keys) for rollout in batch if rollout.task == key)
        return astray and bool(ask(layers[0], "support", {"graph": layers[0].name, "task": key}).nodes)

    task = next(key for key, _ in growth_by_task(layers[0].diff(0, 3)) if shows_all(key))
    yield Runs(layers[0].name, layers[1].name, task, file)
    for layer in layers:
        layer.drop()


@pytest.fixture
def served(runs: Runs, neo4j_server: ServerInfo, work: Path, proas: Proas) -> Iterator[dict[str, Any]]:
    """What ``proas db browser`` says while it serves; it is ended as a user ends it."""
    for more in (("--task", runs.task), ("--max", 30)):
        attached = proas("rollouts", "attach", runs.labelled, "--graph", runs.first, *more, "--json")
        assert attached.code == 0, attached.err
    words = ("db", "browser", "--graph", runs.first, "--other", runs.second, "--task", runs.task)
    program = subprocess.Popen(
        [sys.executable, "-m", "proas.cli", *words, "--no-open", "--json", "--serve"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **login(neo4j_server)},
        cwd=work,
    )
    assert program.stdout is not None
    try:
        text = ""
        for line in program.stdout:
            text += line
            if line.rstrip() == "}":
                break
        document: dict[str, Any] = json.loads(text)
        own = urlsplit(document["url"])
        if neo4j_server.http_url:  # a server that somebody named may have its page anywhere
            document["url"] = f"{neo4j_server.http_url}{own.path}?{own.query}"
        yield document
    finally:
        program.send_signal(signal.SIGINT)
        _, said = program.communicate(timeout=60)
    assert program.returncode == 0, said
    assert "Traceback" not in said


def logged_in(seen: Watched, document: dict[str, Any], server: ServerInfo) -> Locator:
    """Log in as the page asks for it; returns the guide, which has opened by itself."""
    page = seen.page
    page.set_default_timeout(PATIENCE)
    # Browser asks other machines for fonts and news; here they have none.
    page.context.route(
        lambda url: urlsplit(url).hostname not in {"127.0.0.1", "localhost"},
        lambda route: route.fulfill(status=200, body=""),
    )
    page.goto(document["url"])
    assert page.locator("[data-testid=username]").input_value() == server.username
    page.locator("[data-testid=password]").fill(server.password.get_secret_value())
    page.locator("[data-testid=connect]").click()
    guide = page.locator("[data-testid=guidesDrawer]")
    guide.get_by_text("Before you begin").wait_for()
    page.get_by_text("You are connected as user").first.wait_for()
    return guide


def made_ready(seen: Watched, guide: Locator) -> None:
    """The clicks that the guide asks for."""
    for said in ("Set the colours", "Set the parameters", "Draw what a query returns"):
        frames = seen.page.locator("[data-testid=frameCommand]").count()
        guide.get_by_text(said).click()
        seen.page.wait_for_function(
            "n => document.querySelectorAll('[data-testid=frameCommand]').length > n", arg=frames
        )


def run_query(seen: Watched, query: Locator) -> Locator:
    """Click a query of the guide, run it, and wait for what comes of it; returns its frame."""
    page = seen.page
    text = query.inner_text().strip()
    play = page.locator("[data-testid=editor-Run]")
    query.click()
    page.wait_for_timeout(300)
    if play.is_disabled():  # the editor had not taken it yet
        query.click()
    play.click()
    frame = page.locator("[data-testid=frame]").first
    frame.get_by_text(text.splitlines()[0][:40]).first.wait_for()
    frame.locator("g.node, tbody tr").first.wait_for()
    page.wait_for_timeout(1200)  # until the picture has settled
    return frame


def test_the_guide_leads_through_every_saved_query_and_browser_draws_them(
    served: dict[str, Any], runs: Runs, neo4j_server: ServerInfo, chromium: Browser
) -> None:
    with watched(chromium, width=1600, height=1000) as seen:
        guide = logged_in(seen, served, neo4j_server)
        seen.picture("neo4j-browser-guide")
        made_ready(seen, guide)
        ran: dict[str, str] = {}
        titles = {
            (Path(served["assets"]) / name).read_text(encoding="utf-8").splitlines()[0]: name.removesuffix(".cypher")
            for name in served["files"]
            if name.endswith(".cypher")
        }
        with urllib.request.urlopen(served["guide"], timeout=10) as answer:
            slides = answer.read().decode().count("<slide")
        for _ in range(slides - 1):
            guide.get_by_text("Next", exact=True).click()
            queries = guide.locator("pre.runnable:visible")
            for place in range(queries.count()):
                if queries.nth(place).inner_text().strip().startswith(":"):
                    continue
                title = queries.nth(place).inner_text().strip().splitlines()[0]
                name = titles[title]
                frame = run_query(seen, queries.nth(place))
                seen.picture(f"neo4j-browser-{name}")
                if name in PICTURES:
                    assert frame.locator("g.node").count() > 1, name
                    assert frame.locator("g.relationship").count() > 0, name
                    captions = " ".join(frame.locator("g.node text, g.relationship text").all_text_contents())
                    assert not re.search(r"[0-9a-f]{32}", captions), name
                    ran[name] = captions
                else:
                    assert frame.locator("tbody tr").count() > 1, name
                    ran[name] = ""
                assert not frame.locator("[data-testid=frameStatusbar]").get_by_text("ERROR").count(), name
        assert set(ran) == PICTURES | TABLES == set(titles.values())
        assert "holding" in ran["task"]
        assert seen.errors == []


def test_colours_tell_source_age_and_verdict(
    served: dict[str, Any], neo4j_server: ServerInfo, chromium: Browser
) -> None:
    """What the style sheet says of a label is what the drawn node has."""
    grass = (Path(served["assets"]) / "proas.grass").read_text(encoding="utf-8")
    colour = dict(re.findall(r"([\w.]+) \{[^}]*?\n  color: (#[0-9A-F]{6});", grass))
    with watched(chromium, width=1600, height=1000) as seen:
        guide = logged_in(seen, served, neo4j_server)
        made_ready(seen, guide)
        guide.get_by_text("Next", exact=True).click()
        frame = run_query(seen, guide.locator("pre.runnable:visible").first)
        fills = set(
            frame.locator("g.node circle.b-outline").evaluate_all("all => all.map(c => c.getAttribute('fill'))")
        )
        assert {colour["node.FromPlan"], colour["node.FromRollout"], colour["node.OrderGoal"]} <= fills
        assert colour["node.State"] not in fills, "a state without a colour of its own"
        assert seen.errors == []


def test_guide_and_style_are_there_while_it_serves_and_clearing_takes_the_colours_off(
    served: dict[str, Any], runs: Runs, proas: Proas
) -> None:
    with urllib.request.urlopen(served["style"], timeout=10) as answer:
        assert answer.read().decode().startswith("node {")
    with urllib.request.urlopen(served["guide"], timeout=10) as answer:
        assert runs.first in answer.read().decode()
    assert served["coloured_states"] > 0
    cleared = proas("db", "browser", "--graph", runs.first, "--clear", "--json")
    assert cleared.document["cleared"] > 0
    assert proas("graph", "verify", "--graph", runs.first).code == 0
    assert proas("rollouts", "prune", "--graph", runs.first, "--keep", 3, "--json").document["left"] == 3
    assert proas("rollouts", "prune", "--graph", runs.first, "--all", "--json").document["left"] == 0


def test_commands_say_what_is_wrong(runs: Runs, work: Path, proas: Proas, built: str) -> None:
    nothing = proas("rollouts", "prune", "--graph", runs.first, "--json")
    assert nothing.code == 2
    assert "--keep" in nothing.error["hint"]
    missing = proas("rollouts", "attach", "none.jsonl", "--graph", runs.first, "--json")
    assert missing.code == 1
    (work / "bad.jsonl").write_text("{}\n", encoding="utf-8")
    bad = proas("rollouts", "attach", "bad.jsonl", "--graph", runs.first, "--json")
    assert bad.code == 1
    assert "bad.jsonl" in bad.error["message"]
    assert proas("db", "browser", "--graph", "no-such-graph", "--no-open", "--json").code == 1
    assert proas("db", "browser", "--graph", runs.first, "--other", "no-such-graph", "--no-open", "--json").code == 1
    plain = proas("db", "browser", "--graph", runs.first, "--no-open", "--no-serve")
    assert plain.code == 0
    assert "MATCH (t:Task)" in plain.out
