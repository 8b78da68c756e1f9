"""What the options of one source of ``proas graph build`` have to offer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, runtime_checkable

from rich.console import RenderableType

from proas.cli.graph.sources.quality import QualityOptions

if TYPE_CHECKING:
    from proas.cli.console import Output
    from proas.graph_builders import Builder

__all__ = ["Asked", "Epilogue", "SourceOptions", "WithEpilogue"]


@dataclass(frozen=True, slots=True)
class Asked:
    """What several sources can be given.

    Attributes:
        data: Values of ``--data``, none for the source's default.
        env: Value of ``--env``.
        output: Where notes and progress go.
        options: Values of ``--option``.
        graph: Name of the graph that is built into.
        quality: What of an episode is worth keeping.
    """

    data: tuple[Path, ...]
    env: str | None
    output: Output
    options: tuple[str, ...] = ()
    graph: str = ""
    quality: QualityOptions = field(default_factory=QualityOptions)


@dataclass(frozen=True, slots=True)
class Epilogue:
    """What a source has to say after the build, beside its report.

    Attributes:
        document: Fields that join the JSON document.
        tables: What people are shown after the report.
        warning: What they should know; empty for nothing.
        failed: Whether the command ends with code 1.
        told: Problems of rejects that its tables show already, and that are of records rather than of tasks.
    """

    document: Mapping[str, object] = field(default_factory=dict)
    tables: tuple[RenderableType, ...] = ()
    warning: str = ""
    failed: bool = False
    told: frozenset[str] = frozenset()


class SourceOptions(Protocol):
    """A dataclass of Typer options that makes its source's builder."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    def builder(self, asked: Asked) -> Builder:
        """The builder. Raises ``UsageError`` where the options make no sense together."""
        ...


@runtime_checkable
class WithEpilogue(Protocol):
    """Options of a source that has more to say than the report of every build."""

    def epilogue(self, builder: Builder) -> Epilogue:
        """What to say of a builder that has answered for its last task."""
        ...
