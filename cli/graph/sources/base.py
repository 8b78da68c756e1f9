"""What the options of one source of ``proas graph build`` have to offer."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

if TYPE_CHECKING:
    from proas.cli.console import Output
    from proas.graph_builders import Builder

__all__ = ["Asked", "SourceOptions"]


@dataclass(frozen=True, slots=True)
class Asked:
    """What several sources can be given.

    Attributes:
        data: Values of ``--data``, none for the source's default.
        env: Value of ``--env``.
        output: Where notes and progress go.
    """

    data: tuple[Path, ...]
    env: str | None
    output: Output


class SourceOptions(Protocol):
    """A dataclass of Typer options that makes its source's builder."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    def builder(self, asked: Asked) -> Builder:
        """The builder. Raises ``UsageError`` where the options make no sense together."""
        ...
