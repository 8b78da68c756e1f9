"""Options of the sources that learn from episodes: which steps and transitions are worth keeping."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

import typer

from proas.cli.options import LARGEST

__all__ = ["QualityOptions", "Rule"]

_PANEL = "Quality filter, for trajectories and distill"


class Rule(StrEnum):
    """Purification rule."""

    LOOP_ERASED = "loop_erased"
    PAPER = "paper"


@dataclass(frozen=True, slots=True)
class QualityOptions:
    """What ``--source trajectories`` and ``--source distill`` both take.

    Attributes:
        purification: Which steps of a success are worth keeping.
        min_support: Successes that must have a transition.
    """

    purification: Annotated[
        Rule,
        typer.Option(
            "--purification",
            help="Cut every return to an earlier state (loop_erased), or only invalid steps and self-loops (paper).",
            metavar="loop_erased|paper",
            rich_help_panel=_PANEL,
        ),
    ] = Rule.LOOP_ERASED
    min_support: Annotated[
        int,
        typer.Option(
            "--min-support",
            min=1,
            max=LARGEST,
            help="Successes that must have a transition.",
            metavar="N",
            rich_help_panel=_PANEL,
        ),
    ] = 1
