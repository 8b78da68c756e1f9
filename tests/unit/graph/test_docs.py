"""The page about the graph says what the code does."""

from __future__ import annotations

from pathlib import Path

import pytest

from proas.graph.verification import RULES

PAGE = Path(__file__).resolve().parents[3] / "docs" / "graph.md"


@pytest.mark.skipif(not PAGE.is_file(), reason="the docs are not beside the tests")
def test_every_rule_of_verification_is_documented():
    text = PAGE.read_text(encoding="utf-8")
    assert [rule for rule, meaning in RULES.items() if f"| `{rule}` | {meaning} |" not in text] == []
