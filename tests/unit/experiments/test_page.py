"""The page: hand-written words survive, the rest follows from the records, the same records make the same bytes."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

from proas.errors import DataError, UsageError
from proas.experiments.page import write_page
from proas.experiments.plan import Plan
from proas.experiments.records import Results
from tests.unit.experiments.conftest import MakeRecord

pytestmark = pytest.mark.skipif(find_spec("matplotlib") is None, reason="matplotlib is not installed (extra viz)")


@pytest.fixture
def results(record: MakeRecord) -> Results:
    records = [record("grpo", seed, [0.1, 0.2 + 0.1 * seed, 0.5]) for seed in (0, 1)]
    return Results((*records, *(record("proas", seed, [0.1, 0.4, 0.7]) for seed in (0, 1))))


def test_the_same_records_make_the_same_bytes(plan: Plan, results: Results, tmp_path: Path) -> None:
    texts = []
    for name in ("a", "b"):
        files, _ = write_page([plan], results, tmp_path / name / "page.md", tmp_path / name / "images")
        assert [file.name for file in files] == ["page.md", "kitchen.md", "kitchen-success.svg", "kitchen-training.svg"]
        texts.append([file.read_bytes() for file in files])
    assert texts[0] == texts[1]


def test_the_page_says_what_the_records_say(plan: Plan, results: Results, tmp_path: Path) -> None:
    page = tmp_path / "docs" / "page.md"
    write_page([plan], results, page, tmp_path / "docs" / "images" / "x")
    text = page.read_text(encoding="utf-8")
    assert "(images/x/kitchen-success.svg)" in text
    assert "### Kitchen: success" in text
    assert "2 runs are missing: loop-mask-s0, loop-mask-s1" in text
    assert "games of the test" in text
    assert "(page/kitchen.md#arms)" in text
    other = (tmp_path / "docs" / "page" / "kitchen.md").read_text(encoding="utf-8")
    assert "## Arms" in other
    assert "`proas ablate --table kitchen --only proas --seeds 0,1`" in other
    assert "abacus" in other
    assert "(../page.md)" in other
    shared = {line for line in other.splitlines() if line.startswith("#")} & set(text.splitlines())
    assert not shared, "each table stands once"


def test_words_written_by_hand_are_kept(plan: Plan, results: Results, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    write_page([plan], results, page, tmp_path)
    text = page.read_text(encoding="utf-8")
    words = "It does.\n\nBy how much, see `below` <!-- a remark -->.\n"
    page.write_text(text.replace("<!-- words: kitchen -->\n", f"<!-- words: kitchen -->\n{words}"), encoding="utf-8")
    for _ in range(2):
        write_page([plan], results, page, tmp_path)
        assert f"<!-- words: kitchen -->\n{words}<!-- end of words -->" in page.read_text(encoding="utf-8")


def test_words_without_a_place_are_never_lost(plan: Plan, results: Results, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    text = "<!-- words: garden -->\nIt grows.\n<!-- end of words -->\n"
    page.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match="'garden'"):
        write_page([plan], results, page, tmp_path)
    page.write_text("<!-- words: summary -->\nA mark was lost.\n", encoding="utf-8")
    with pytest.raises(DataError, match="marks"):
        write_page([plan], results, page, tmp_path)
    assert page.read_text(encoding="utf-8") == "<!-- words: summary -->\nA mark was lost.\n"


def test_a_page_is_no_folder(plan: Plan, results: Results, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="has no ending"):
        write_page([plan], results, tmp_path / "page", tmp_path)
    assert not (tmp_path / "page").exists()


def test_a_plan_without_results_says_so(plan: Plan, tmp_path: Path) -> None:
    files, _ = write_page([plan], Results(()), tmp_path / "page.md", tmp_path)
    assert files == [tmp_path / "page.md", tmp_path / "page" / "kitchen.md"]
    assert "No results yet" in files[1].read_text(encoding="utf-8")
    assert "No results yet: `proas evidence run kitchen`" in files[0].read_text(encoding="utf-8")
