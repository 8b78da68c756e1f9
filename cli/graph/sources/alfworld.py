"""Options of ``--source alfworld``."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from proas.cli.graph.sources.base import Asked
from proas.cli.options import LARGEST

if TYPE_CHECKING:
    from proas.graph_builders import Builder

__all__ = ["AlfWorldOptions", "StatesName"]

_PANEL = "ALFWorld"

_DEFAULT_MOST = 2000


class StatesName(StrEnum):
    """What states are made of."""

    FACTS = "facts"
    KNOWLEDGE = "knowledge"


@dataclass(frozen=True, slots=True)
class AlfWorldOptions:
    """What only this source takes.

    Attributes:
        states: What states are made of.
        max_states: States of a task at most, with its surroundings.
    """

    states: Annotated[
        StatesName,
        typer.Option(
            "--states",
            help="States of what was done (facts), or also of what has been seen (knowledge): for rollouts of the "
            "environment alfworld-knowledge.",
            metavar="facts|knowledge",
            rich_help_panel=_PANEL,
        ),
    ] = StatesName.FACTS
    max_states: Annotated[
        int,
        typer.Option(
            "--max-states",
            min=1,
            max=LARGEST,
            help="With --expand around, states of a task at most; those left out are counted.",
            metavar="N",
            rich_help_panel=_PANEL,
        ),
    ] = _DEFAULT_MOST

    def builder(self, asked: Asked) -> Builder:
        """The builder of these states."""
        from proas.graph_builders.alfworld import AlfWorldBuilder
        from proas.states.alfworld import FACTS, KNOWLEDGE

        del asked
        noting = KNOWLEDGE if self.states is StatesName.KNOWLEDGE else FACTS
        return AlfWorldBuilder(noting, most=self.max_states)
