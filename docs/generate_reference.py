"""Write ``docs/cli.md``, the reference of the command line, from the commands themselves.

Run ``make docs`` after a change of a command; a test fails when the file is out of date.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer.main

from proas.cli.app import app

TARGET = Path(__file__).resolve().parent / "cli.md"

_HEAD = """# Command-line reference

Written from the commands themselves by `make docs`; do not edit.

Every command answers `--help`, and every command takes `--json`: standard output then holds one JSON document and
everything else goes to standard error. Exit codes: 0 done, 1 failed, 2 the command line made no sense, 130
interrupted. An error is one message with a hint, and with `--json` also a document `{"error": {"kind", "message",
"hint", "exit_code"}}`. `PROAS_DEBUG=1` shows the traceback of a fault in ProAS itself.

The database is the one that `NEO4J_URI` names (with `NEO4J_USERNAME`, `NEO4J_PASSWORD` or `NEO4J_PASSWORD_FILE`, and
`NEO4J_DATABASE`), else the local server that runs, else one is started. A `.env` file in the working directory is
read; what the environment already says wins. A password is never taken from the command line.
"""


_OWN_OF_TYPER = {"--help", "--install-completion", "--show-completion"}


def commands(command: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    """The command and all below it, with the words that call each."""
    yield path, command
    for name, below in getattr(command, "commands", {}).items():
        yield from commands(below, (*path, name))


def section(path: tuple[str, ...], command: Any) -> str:
    """One command as Markdown."""
    lines = [f"{'#' * min(len(path) + 1, 4)} `{' '.join(path)}`", "", (command.help or "").strip(), ""]
    arguments = [p for p in command.params if p.param_type_name == "argument"]
    options = [p for p in command.params if p.param_type_name == "option" and not _OWN_OF_TYPER & set(p.opts)]
    if hasattr(command, "commands"):
        rows = [(f"`{name}`", _first_line(below.help)) for name, below in command.commands.items()]
        lines += [*_table(("command", "what it does"), rows), ""]
        if options:
            lines += [*_table(("option", "meaning"), [(_option(p), _meaning(p)) for p in options]), ""]
        return "\n".join(lines)
    usage = " ".join([*path, *(_argument(p) for p in arguments), "[OPTIONS]" if options else ""]).strip()
    lines += ["```", usage, "```", ""]
    if arguments:
        lines += [*_table(("argument", "meaning"), [(f"`{_argument(p)}`", _meaning(p)) for p in arguments]), ""]
    if options:
        lines += [*_table(("option", "meaning"), [(_option(p), _meaning(p)) for p in options]), ""]
    return "\n".join(lines)


def _argument(parameter: Any) -> str:
    name = parameter.metavar or parameter.name.upper()
    return name if parameter.required else f"[{name}]"


def _option(parameter: Any) -> str:
    names = ", ".join(f"`{name}`" for name in (*parameter.opts, *parameter.secondary_opts))
    if parameter.metavar is None:
        msg = f"{names} has no metavar; every option needs one, empty for a switch"
        raise ValueError(msg)
    return f"{names} {parameter.metavar}".strip().replace("|", "\\|")


def _meaning(parameter: Any) -> str:
    text = " ".join((getattr(parameter, "help", None) or "").split())
    default = parameter.default
    if getattr(parameter, "required", False):
        return f"{text} Required."
    if default is None or default is False or default in ("", ()) or callable(default):
        return text
    if default is True:
        return f"{text} Default: `{parameter.opts[0]}`."
    return f"{text} Default: `{getattr(default, 'value', default)}`."


def _first_line(text: str | None) -> str:
    return (text or "").strip().split("\n\n")[0].replace("\n", " ")


def _table(head: tuple[str, str], rows: list[tuple[str, str]]) -> list[str]:
    return [f"| {head[0]} | {head[1]} |", "| --- | --- |", *(f"| {a} | {b} |" for a, b in rows)]


def reference() -> str:
    """The whole page."""
    root = typer.main.get_command(app)
    return "\n".join([_HEAD, *(section(path, command) for path, command in commands(root, ("proas",)))])


if __name__ == "__main__":
    if sys.argv[1:] == ["--check"]:
        sys.exit(0 if TARGET.read_text(encoding="utf-8") == reference() else "docs/cli.md is out of date: make docs")
    TARGET.write_text(reference(), encoding="utf-8")
