"""The statement files and the code that runs them are kept in step."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import proas
from proas.cypher import browser_files, migration_files, statement, statement_names
from proas.graph.migrations import split_statements

PACKAGE = Path(proas.__file__).parent
QUERIES = PACKAGE / "cypher" / "queries"


def _code() -> list[Path]:
    return sorted(path for path in PACKAGE.rglob("*.py") if "cypher" not in path.relative_to(PACKAGE).parts)


def _strings() -> set[str]:
    found: set[str] = set()
    for path in _code():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.add(node.value)
    return found


def _asked() -> set[str]:
    """Names that the code hands to ``rows``, ``row`` or ``statement``."""
    found: set[str] = set()
    for path in _code():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
                called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
                value = node.args[0].value
                if called in ("rows", "row", "statement") and isinstance(value, str):
                    found.add(value)
    return found


@pytest.mark.parametrize("name", sorted(statement_names()))
def test_a_file_is_one_explained_statement(name):
    text = (QUERIES / f"{name}.cypher").read_text(encoding="utf-8")
    assert text.startswith("// ")
    assert text.endswith("\n")
    assert len(split_statements(text)) == 1
    assert not statement(name).endswith(";")
    assert "apoc." not in text.lower()
    header = "\n".join(line for line in text.splitlines() if line.startswith("//"))
    parameters = set(re.findall(r"\$(\w+)", statement(name)))
    assert parameters == set() or "Takes:" in header
    missing = {p for p in parameters if not re.search(rf"\b{p}\b", header)}
    assert not missing, "parameters that the header does not explain"
    if re.search(r"(?m)^RETURN\b", statement(name)):
        assert "Returns:" in header or "Returns one row:" in header


def test_every_statement_is_used():
    assert statement_names() <= _strings()


def test_every_statement_that_is_asked_for_exists():
    assert {name for name in _asked() if re.fullmatch(r"[a-z]+(_[a-z]+)+", name)} <= statement_names()


def test_an_unknown_name_is_an_error():
    with pytest.raises(KeyError):
        statement("../migrations/V0001__reference_graph")


def test_no_statement_is_written_in_code():
    """Cypher lives in files; what looks like a statement in a Python string is one that somebody pasted."""
    pattern = re.compile(r"\b(MATCH|MERGE|UNWIND|DETACH DELETE)\b\s*[(\[$]")
    assert not [text for text in _strings() if pattern.search(text)]


def test_migrations_and_browser_files_are_packaged():
    assert next(iter(migration_files())).startswith("V0001__")
    assert any(name.endswith(".grass") for name in browser_files())
    assert any(name.endswith(".cypher") for name in browser_files())
