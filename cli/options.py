"""Options that many commands share, declared once.

A command that takes a parameter annotated :class:`DatabaseOptions`, or another group of options, gets one option for
each of its fields (:func:`with_options`), so that ``proas graph list --uri bolt://...`` works and the help says so.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

if TYPE_CHECKING:
    from proas.envs import EnvSpec

__all__ = [
    "LARGEST",
    "DatabaseOptions",
    "EnvName",
    "EnvOptions",
    "GraphMeant",
    "GraphName",
    "Json",
    "Strict",
    "TrialLimit",
    "VersionOption",
    "env_spec",
    "with_options",
]

LARGEST = 2**31 - 1
"""Largest count or version that an option takes: beyond it lies a slip of the finger, and overflow further down."""

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document on standard output.", metavar="")]
GraphName = Annotated[str, typer.Option("--graph", "-g", help="Name of the reference graph.", metavar="NAME")]
GraphMeant = Annotated[
    str | None,
    typer.Option(
        "--graph",
        "-g",
        help="Name of the reference graph; if not given, PROAS_GRAPH, else the only one that is there.",
        metavar="NAME",
    ),
]
TrialLimit = Annotated[
    int | None,
    typer.Option(
        "--limit",
        min=1,
        max=LARGEST,
        help="Consider at most this many trials, in order of their names.",
        metavar="N",
    ),
]
EnvName = Annotated[str, typer.Option("--env", help="The environment; `proas env list` names them.", metavar="NAME")]
EnvOptions = Annotated[
    list[str] | None,
    typer.Option(
        "--option",
        help="A setting of the environment; may be repeated. `proas env list` names them.",
        metavar="NAME=VALUE",
    ),
]
VersionOption = Annotated[
    int | None,
    typer.Option(
        "--version",
        min=0,
        max=LARGEST,
        help="Read the graph as of this version; the newest if not given.",
        metavar="N",
    ),
]
Strict = Annotated[
    bool, typer.Option("--strict", help="End with code 1 when any record had to be kept aside.", metavar="")
]

_PANEL = "Database"


@dataclass(frozen=True, slots=True)
class DatabaseOptions:
    """Which database a command talks to; what is ``None`` comes from the environment.

    Attributes:
        uri: Address of the server.
        username: Name to log in with.
        database: Name of the database.
        password_file: File whose first line is the password.
    """

    uri: Annotated[
        str | None,
        typer.Option(
            "--uri",
            help="Address of the Neo4j server; NEO4J_URI if not given.",
            metavar="URI",
            rich_help_panel=_PANEL,
        ),
    ] = None
    username: Annotated[
        str | None,
        typer.Option(
            "--username", help="User name; NEO4J_USERNAME if not given.", metavar="NAME", rich_help_panel=_PANEL
        ),
    ] = None
    database: Annotated[
        str | None,
        typer.Option(
            "--database", help="Database; NEO4J_DATABASE if not given.", metavar="NAME", rich_help_panel=_PANEL
        ),
    ] = None
    password_file: Annotated[
        Path | None,
        typer.Option(
            "--password-file",
            help="File with the password; NEO4J_PASSWORD or NEO4J_PASSWORD_FILE if not given.",
            metavar="PATH",
            rich_help_panel=_PANEL,
        ),
    ] = None


def env_spec(name: str, data: Path | None, options: Sequence[str] | None) -> EnvSpec:
    """What ``--env``, ``--data`` and ``--option`` ask for.

    Raises:
        UsageError: There is no such environment, or an option is not written as NAME=VALUE, or it does not take that.
    """
    from proas.envs import EnvSpec, env_kind
    from proas.errors import UsageError

    chosen: dict[str, str] = {}
    for option in options or ():
        key, equals, value = option.partition("=")
        if not key or not equals:
            raise UsageError(f"--option {option!r} is not of the form NAME=VALUE", hint="for example goals=human")
        chosen[key] = value
    env_kind(name).settled(chosen)
    return EnvSpec(name, data, chosen)


def with_options(command: Callable[..., None]) -> Callable[..., None]:
    """Replace each parameter of a command that is a group of options by the options that fill it.

    A group is a dataclass whose fields are annotated as Typer's options and have defaults. Its options come after the
    command's own, in the order of the groups.
    """
    signature = inspect.signature(command, eval_str=True)
    groups: dict[str, Any] = {p.name: p.annotation for p in signature.parameters.values() if is_dataclass(p.annotation)}
    keyword = inspect.Parameter.KEYWORD_ONLY
    kept = [p.replace(kind=keyword) for p in signature.parameters.values() if p.name not in groups]
    hints = {name: get_type_hints(group, include_extras=True) for name, group in groups.items()}
    added = [
        inspect.Parameter(f.name, keyword, default=f.default, annotation=hints[name][f.name])
        for name, group in groups.items()
        for f in fields(group)
    ]

    @functools.wraps(command)
    def expanded(**arguments: Any) -> None:
        filled = {
            name: group(**{f.name: arguments.pop(f.name) for f in fields(group)}) for name, group in groups.items()
        }
        command(**arguments, **filled)

    expanded.__signature__ = signature.replace(parameters=[*kept, *added])  # type: ignore[attr-defined]
    expanded.__annotations__ = {p.name: p.annotation for p in [*kept, *added]}
    del expanded.__wrapped__  # Typer would read the signature of the original
    return expanded
