"""The sources of ``proas graph build`` and the options that only one of them takes, one module a source."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING

from proas.cli.graph.sources.base import Asked, SourceOptions
from proas.errors import UsageError

if TYPE_CHECKING:
    from proas.graph_builders import Builder

__all__ = ["Asked", "SourceOptions", "chosen_builder", "one_path"]


def chosen_builder(source: str, asked: Asked, groups: Mapping[str, SourceOptions]) -> Builder:
    """The builder that a command line asks for.

    Args:
        source: Name of the source.
        asked: What several sources can be given.
        groups: The options of each source that has its own, by its name.

    Raises:
        UsageError: There is no such source, or options were given that it does not take.
    """
    from proas.graph_builders import builder, builder_names

    if source not in builder_names():
        raise UsageError(f"there is no source {source!r}", hint="known: " + ", ".join(builder_names()))
    for name, group in groups.items():
        given = [f.name for f in fields(group) if getattr(group, f.name) != f.default]
        if given and name != source:
            option = given[0].replace("_", "-")
            raise UsageError(f"--{option} belongs to --source {name}, not to {source}", hint="leave it out")
    if source in groups:
        return groups[source].builder(asked)
    if asked.env is not None:
        raise UsageError(f"--env does not go with --source {source}", hint="leave it out")
    return builder(source)


def one_path(data: tuple[Path, ...], source: str) -> Path | None:
    """The one path that most sources take; ``None`` for the source's default.

    Raises:
        UsageError: There are several.
    """
    if len(data) > 1:
        raise UsageError(f"--source {source} takes one --data, not {len(data)}", hint="give the folder that holds them")
    return data[0] if data else None
