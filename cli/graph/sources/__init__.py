"""The sources of ``proas graph build`` and the options that only one of them takes, one module a source."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING

from proas.cli.graph.sources.base import Asked, Epilogue, SourceOptions, WithEpilogue
from proas.cli.graph.sources.quality import QualityOptions
from proas.errors import UsageError

if TYPE_CHECKING:
    from proas.graph_builders import Builder

__all__ = ["ANY_ENVIRONMENT", "Asked", "Epilogue", "SourceOptions", "chosen_builder", "epilogue_of", "one_path"]

ANY_ENVIRONMENT = frozenset({"distill", "trajectories"})
"""Sources whose episodes come from an environment that ``--env`` and ``--option`` name."""


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
    if source not in ANY_ENVIRONMENT:
        kept = asked.quality != QualityOptions()
        for name, value in (
            ("--env", asked.env),
            ("--option", asked.options),
            ("--purification or --min-support", kept),
        ):
            if value:
                raise UsageError(f"{name} does not go with --source {source}", hint="leave it out")
    return groups[source].builder(asked) if source in groups else builder(source)


def epilogue_of(source: str, builder: Builder, groups: Mapping[str, SourceOptions]) -> Epilogue:
    """What a source has to say once the build is over; usually nothing."""
    group = groups.get(source)
    return group.epilogue(builder) if isinstance(group, WithEpilogue) else Epilogue()


def one_path(data: tuple[Path, ...], source: str) -> Path | None:
    """The one path that most sources take; ``None`` for the source's default.

    Raises:
        UsageError: There are several.
    """
    if len(data) > 1:
        raise UsageError(f"--source {source} takes one --data, not {len(data)}", hint="give the folder that holds them")
    return data[0] if data else None
