"""What the pages say is true: the README's commands run in their order, every command named anywhere exists."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main

from proas.cli.app import app
from tests.e2e.conftest import Proas

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "ARCHITECTURE.md", *sorted((ROOT / "docs").glob("**/*.md"))]
GROUPS = {"db", "diagnose", "env", "evidence", "graph", "rollouts"}


def command_lines(page: Path) -> Iterator[str]:
    """Lines of code blocks, indented or fenced, that call the program."""
    for line in page.read_text(encoding="utf-8").splitlines():
        found = re.match(r"(?:    |\$ |)(proas (?:\w+).*)$", line)
        if found and (line.startswith(("    ", "$ ")) or "--" in line):
            yield found.group(1).split("  #")[0].strip()


def inline_commands(page: Path) -> Iterator[str]:
    """Calls of the program in running text, in back-ticks."""
    yield from re.findall(r"`(proas [a-z][^`]*)`", page.read_text(encoding="utf-8").replace("\n", " "))


def command_of(words: list[str]) -> Any:
    """The command that words call; fails when there is none."""
    root = typer.main.get_command(app)
    depth = 2 if words[0] in GROUPS and len(words) > 1 else 1
    for word in words[:depth]:
        names = word.split("|")  # `proas db up|down`
        assert set(names) <= root.commands.keys(), f"no command {word!r}"  # type: ignore[attr-defined]
        root = root.commands[names[0]]  # type: ignore[attr-defined]
    return root


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_command_on_a_page_exists(page: Path) -> None:
    for line in [*command_lines(page), *inline_commands(page)]:
        words = shlex.split(line.replace("[", "").replace("]", ""), comments=True)[1:]
        if words and words[0].startswith("-"):
            continue
        command = command_of([word for word in words if not word.startswith("-")])
        known = {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)}
        for word in words:
            if word.startswith("-"):
                assert word.split("=")[0] in known, f"{page.name}: {line}"


@pytest.mark.neo4j
def test_the_readme_s_road_from_games_to_advantages(proas: Proas, work: Path) -> None:
    lines = list(command_lines(ROOT / "README.md"))
    assert len(lines) >= 8
    try:
        for line in lines:
            words = shlex.split(line, comments=True)[1:]
            if words in (["db", "up"], ["db", "browser"]):
                continue  # the tests' server is up; test_local_server.py and test_neo4j_browser.py do these
            done = proas(*words)
            assert done.code == 0, f"{line}\n{done.err}"
        (program,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
        exec(compile(program, "README.md", "exec"), {"__name__": "readme"})
    finally:
        proas("graph", "drop", "kitchen", "--force", "--yes")
