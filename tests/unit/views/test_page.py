"""A page holds all that it needs, and lets data be words only."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from pathlib import Path

import pytest

from proas.errors import DataError
from proas.views.page import Cell, document, embedded, table, words, write_page

HOSTILE = '</script><b onload="x">\'&\x1b[31m\u202e'


def test_words_are_escaped_and_cannot_steer_a_terminal_or_a_line() -> None:
    shown = words(HOSTILE)
    assert not set("<>\"'\x1b\u202e") & set(shown)
    assert "&lt;/script&gt;" in shown


def test_embedded_data_comes_back_and_cannot_end_its_element() -> None:
    text = embedded({"a": HOSTILE, "b": [1.5, None, ("ä\n",)]})
    assert not set("<>&") & set(text)
    plain = HOSTILE.replace("\x1b", "\ufffd").replace("\u202e", "\ufffd")
    assert json.loads(text) == {"a": plain, "b": [1.5, None, ["ä\n"]]}


def test_the_policy_names_every_script_and_style_and_allows_nothing_else() -> None:
    page = document(HOSTILE, "<p>body</p>", scripts=("let a = 1;",), data={"x": HOSTILE})
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    rules = {words.split()[0]: words.split()[1:] for words in policy.split(";")}
    assert rules["default-src"] == ["'none'"]
    assert rules["img-src"] == ["data:"]
    for kind, element in (("script-src", "script"), ("style-src", "style")):
        sources = re.findall(rf"<{element}(?: id=\"[^\"]*\")?>(.*?)</{element}>", page, re.DOTALL)
        hashes = [base64.b64encode(hashlib.sha256(s.encode()).digest()).decode() for s in sources]
        assert rules[kind] == [f"'sha256-{digest}'" for digest in hashes]
    assert not re.findall(r"(?:src|href)=\"(?!data:|#)", page)
    assert " style=" not in page


def test_a_table_has_a_caption_and_heads_and_can_be_reached_by_keyboard() -> None:
    made = table(HOSTILE, ("name", "#n"), [("<i>", 3), (Cell("<b>ours</b>"), 4)])
    assert made.count('<th scope="col"') == 2
    assert "<td>&lt;i&gt;</td>" in made
    assert "<td><b>ours</b></td>" in made
    assert '<td class="number">3</td>' in made
    assert 'tabindex="0"' in made


def test_a_page_replaces_what_was_there_whole(tmp_path: Path) -> None:
    file = tmp_path / "out.html"
    file.write_text("old", encoding="utf-8")
    write_page(file, "new ä")
    assert file.read_text(encoding="utf-8") == "new ä"
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize("place", ["missing/out.html", "."])
def test_a_page_that_cannot_be_written_says_where(tmp_path: Path, place: str) -> None:
    with pytest.raises(DataError, match="cannot write"):
        write_page(tmp_path / place, "text")
