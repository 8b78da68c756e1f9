"""Options that many commands share, declared once.

A command that takes a parameter annotated :class:`DatabaseOptions` gets one option for each of its fields
(:func:`with_database`), so that ``proas graph list --uri bolt://...`` works and the help says so.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

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
    "with_database",
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

    uri: str | None = None
    username: str | None = None
    database: str | None = None
    password_file: Path | None = None


_DATABASE_PARAMETERS: dict[str, Any] = {
    "uri": Annotated[
        str | None,
        typer.Option(
            "--uri",
            help="Address of the Neo4j server; NEO4J_URI if not given.",
            metavar="URI",
            rich_help_panel=_PANEL,
        ),
    ],
    "username": Annotated[
        str | None,
        typer.Option(
            "--username", help="User name; NEO4J_USERNAME if not given.", metavar="NAME", rich_help_panel=_PANEL
        ),
    ],
    "database": Annotated[
        str | None,
        typer.Option(
            "--database", help="Database; NEO4J_DATABASE if not given.", metavar="NAME", rich_help_panel=_PANEL
        ),
    ],
    "password_file": Annotated[
        Path | None,
        typer.Option(
            "--password-file",
            help="File with the password; NEO4J_PASSWORD or NEO4J_PASSWORD_FILE if not given.",
            metavar="PATH",
            rich_help_panel=_PANEL,
        ),
    ],
}


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


def with_database(command: Callable[..., None]) -> Callable[..., None]:
    """Replace a command's ``DatabaseOptions`` parameter by the options that fill it."""
    signature = inspect.signature(command, eval_str=True)
    taken = [p.name for p in signature.parameters.values() if p.annotation is DatabaseOptions]
    if len(taken) != 1:
        msg = f"{command.__name__} needs exactly one parameter of type DatabaseOptions"
        raise TypeError(msg)
    keyword = inspect.Parameter.KEYWORD_ONLY
    kept = [p.replace(kind=keyword) for p in signature.parameters.values() if p.name != taken[0]]
    added = [
        inspect.Parameter(name, keyword, default=None, annotation=annotation)
        for name, annotation in _DATABASE_PARAMETERS.items()
    ]

    @functools.wraps(command)
    def expanded(**arguments: Any) -> None:
        options = DatabaseOptions(**{name: arguments.pop(name) for name in _DATABASE_PARAMETERS})
        command(**arguments, **{taken[0]: options})

    expanded.__signature__ = signature.replace(parameters=[*kept, *added])  # type: ignore[attr-defined]
    expanded.__annotations__ = {p.name: p.annotation for p in [*kept, *added]}
    del expanded.__wrapped__  # Typer would read the signature of the original
    return expanded
