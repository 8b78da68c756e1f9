"""Options of ``--source webshop``."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from proas.cli.graph.sources.base import Asked
from proas.errors import UsageError

if TYPE_CHECKING:
    from proas.graph_builders import Builder

__all__ = ["Goals", "WebShopOptions"]


class Goals(StrEnum):
    """Whose goals."""

    HUMAN = "human"
    SYNTHETIC = "synthetic"
    ALL = "all"


@dataclass(frozen=True, slots=True)
class WebShopOptions:
    """What only this source takes.

    Attributes:
        goals: Whose goals.
    """

    goals: Annotated[
        Goals,
        typer.Option(
            "--goals",
            help="People's goals, synthetic ones, or both.",
            metavar="human|synthetic|all",
            rich_help_panel="WebShop",
        ),
    ] = Goals.ALL

    def builder(self, asked: Asked) -> Builder:
        """The builder of these goals. Raises ``UsageError`` for an option of another source."""
        from proas.graph_builders.webshop import WebShopBuilder
        from proas.graph_builders.webshop.builder import ALL_GOALS

        if asked.env is not None:
            raise UsageError("--env does not go with --source webshop", hint="leave it out")
        wanted = self.goals.value
        return WebShopBuilder(tuple(source for source in ALL_GOALS if wanted in (source, "all")))
