"""Every Cypher statement of ProAS, one a file, loaded by name.

Values reach the database as parameters only; nothing is ever pasted into a statement. Each file under ``queries``
begins with a comment that says what the statement does, what it takes and what it returns. ``migrations`` holds the
schema, ``browser`` a style and saved queries for people.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

__all__ = ["browser_files", "migration_files", "saved_query", "statement", "statement_names"]


def _folder(name: str) -> Traversable:
    return files(__package__) / name


@cache
def statement(name: str) -> str:
    """Text of one statement, without its comments.

    Args:
        name: File name without ``.cypher``, for example ``label_batch``.

    Raises:
        KeyError: There is no such statement.
    """
    if name not in statement_names():
        raise KeyError(name)
    text = (_folder("queries") / f"{name}.cypher").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("//")]
    return "\n".join(lines).strip()


@cache
def statement_names() -> frozenset[str]:
    """Names of all statements."""
    return frozenset(f.name.removesuffix(".cypher") for f in _folder("queries").iterdir() if f.name.endswith(".cypher"))


def migration_files() -> dict[str, str]:
    """Text of each migration by file name, in order of the names."""
    return _texts("migrations")


def browser_files() -> dict[str, str]:
    """Text of each file for Neo4j Browser by file name: ``.cypher`` saved queries and the ``.grass`` style."""
    return _texts("browser")


@cache
def saved_query(name: str) -> str:
    """Text of one saved query.

    Args:
        name: File name without ``.cypher``, for example ``detours``.

    Raises:
        KeyError: There is no such query.
    """
    return browser_files()[f"{name}.cypher"]


def _texts(folder: str) -> dict[str, str]:
    found = sorted(_folder(folder).iterdir(), key=lambda f: f.name)
    return {f.name: f.read_text(encoding="utf-8") for f in found if f.name.endswith((".cypher", ".grass"))}
