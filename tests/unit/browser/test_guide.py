"""The guide, the style sheet and the saved queries fit each other, whatever names the data has."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser

import pytest

from proas.browser.guide import GuideFacts, guide_page, parameters_command
from proas.cypher import browser_files, statement

FILES = browser_files()
GRASS = FILES["proas.grass"]
QUERIES = {name: text for name, text in FILES.items() if name.endswith(".cypher")}
FACTS = GuideFacts(
    graph="run-a",
    base="kitchen",
    version=3,
    task="heat <b>'it'</b>/\"x\"\n& `y`",
    goal="heat <script>alert(1)</script> it",
    states=12,
    subgoals=("start", "take & <i>hold</i>", "done"),
    learnt_at=2,
    added=40,
    painted=1,
    rollouts=2,
    rollout="t#1",
    other="run-b",
)


def page(facts: GuideFacts = FACTS) -> str:
    return guide_page(facts, style="http://localhost:1/proas.grass", grass=GRASS, queries=QUERIES)


class Markup(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()
        self.commands: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open.append(tag)
        self.seen.add(tag)
        self.commands += [value or "" for name, value in attrs if name == "data-exec"]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_names_from_data_are_no_markup():
    markup = Markup()
    markup.feed(page())
    assert markup.open == []
    assert "script" not in markup.seen
    assert "heat &lt;script&gt;" in page()


def test_the_commands_set_colours_and_every_parameter_that_a_query_takes():
    markup = Markup()
    markup.feed(page())
    style, parameters, config = markup.commands
    assert style == "style http://localhost:1/proas.grass"
    assert config == "config autoComplete: false"
    assert parameters == parameters_command(FACTS)
    values = json.loads(parameters.removeprefix("params "))
    assert values["task"] == FACTS.task
    taken = {name for text in QUERIES.values() for name in re.findall(r"\$(\w+)", re.sub(r"(?m)^//.*$", "", text))}
    assert taken == set(values)


def test_every_saved_query_is_in_the_guide_and_says_what_it_is_for():
    told = unescape(page())
    for name, text in QUERIES.items():
        first = text.splitlines()[0]
        assert first.startswith("// "), name
        assert first in told, name
        assert not re.search(r"(?i)\b(create|merge|set|delete|remove)\b", re.sub(r"(?m)^//.*$", "", text)), name


def test_a_guide_without_rollouts_or_without_a_graph_says_how_to_get_them():
    assert "proas rollouts attach" in page(GuideFacts(graph="g", task="t"))
    assert "Two runs" not in page(GuideFacts(graph="g", task="t"))
    assert "Nothing was learnt" in page(GuideFacts(graph="g", task="t"))
    assert "proas graph build" in page(GuideFacts())


def test_the_style_sheet_has_what_browser_s_reader_of_it_takes():
    """It splits properties at colons and semicolons, so captions can have neither."""
    for line in GRASS.splitlines():
        assert re.fullmatch(r"(node|relationship)(\.\w+)? \{|\}|  [a-z-]+: (\"[^:;\"]*\"|[^:;\"]+);", line), line


@pytest.mark.parametrize("name", ["paint_subgoals", "paint_states", "paint_transitions", "attach_steps"])
def test_every_label_and_type_that_is_laid_for_colours_has_a_rule(name):
    text = statement(name)
    laid = set(re.findall(r"SET [ms]:(\w+)", text)) | set(re.findall(r"CREATE \([ar]\)-\[[ex]:(\w+)\]", text))
    assert laid
    for one in laid:
        assert re.search(rf"^(node|relationship)\.{one} \{{", GRASS, re.MULTILINE), one


def test_a_task_without_attached_rollouts_is_pointed_to_one_that_has_some():
    other = replace(FACTS, rollout_task='cool "it"/<b>')
    assert ":param task =&gt; " in page(other)
    assert json.dumps(other.rollout_task) in unescape(page(other))
    assert "None of them is of the task" not in page()
