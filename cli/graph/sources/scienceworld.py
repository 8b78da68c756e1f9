"""Options of ``--source scienceworld``."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from proas.cli.graph.sources.base import Asked
from proas.cli.options import LARGEST

if TYPE_CHECKING:
    from proas.graph_builders import Builder

__all__ = ["ScienceWorldOptions", "Split"]

_DEFAULT_VARIATIONS = 5


class Split(StrEnum):
    """Which variations."""

    TRAIN = "train"
    DEV = "dev"
    TEST = "test"
    ALL = "all"


@dataclass(frozen=True, slots=True)
class ScienceWorldOptions:
    """What only this source takes.

    Attributes:
        task: Name of a task.
        variations: Most variations of each task.
        split: Which variations.
        simplifications: What is made easier.
    """

    task: Annotated[
        str | None,
        typer.Option(
            "--task",
            help="One task, such as boil; all 30 if not given.",
            metavar="NAME",
            rich_help_panel="ScienceWorld",
        ),
    ] = None
    variations: Annotated[
        int,
        typer.Option(
            "--variations",
            min=1,
            max=LARGEST,
            help="At most this many variations of each task.",
            metavar="N",
            rich_help_panel="ScienceWorld",
        ),
    ] = _DEFAULT_VARIATIONS
    split: Annotated[
        Split,
        typer.Option(
            "--split",
            help="Variations of which part of the benchmark.",
            metavar="train|dev|test|all",
            rich_help_panel="ScienceWorld",
        ),
    ] = Split.TRAIN
    simplifications: Annotated[
        str,
        typer.Option(
            "--simplifications",
            help="What is made easier, separated by +, for example easy.",
            metavar="NAMES",
            rich_help_panel="ScienceWorld",
        ),
    ] = ""

    def builder(self, asked: Asked) -> Builder:
        """The builder of these variations. Raises ``UsageError`` for a simplification that is not known."""
        from proas.envs.scienceworld import SPLITS
        from proas.envs.scienceworld.goal import parse_simplifications
        from proas.graph_builders.scienceworld import ScienceWorldBuilder

        del asked
        return ScienceWorldBuilder(
            self.task,
            self.variations,
            split=next(known for known in SPLITS if known == self.split.value),
            simplifications=parse_simplifications(self.simplifications),
        )
