"""The command line that trains with verl, from a preset and what the run adds to it."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from proas.graph import Connection
from proas.integrations.verl.presets import Preset, RunPlan

__all__ = ["VerlCommand"]


@dataclass(frozen=True, slots=True)
class VerlCommand:
    """A training run of verl.

    Attributes:
        preset: What it starts from.
        plan: What the run adds.
        overrides: Hydra overrides of the user's; they come last and win.
    """

    preset: Preset
    plan: RunPlan
    overrides: tuple[str, ...] = ()

    @property
    def uses_graph(self) -> bool:
        """Whether the run reads and evolves a reference graph."""
        return self.preset.shaped

    def words(self, python: str = sys.executable) -> list[str]:
        """The words of the command."""
        return [python, "-m", "verl.trainer.main_ppo", *self._settled(self.plan.overrides(self.preset))]

    def text(self, python: str = "python") -> str:
        """The command as a person types it, one override a line."""
        first, *overrides = [self.words(python)[:3], *([word] for word in self.words(python)[3:])]
        return " \\\n  ".join(shlex.join(part) for part in [first, *overrides])

    def environment(self, connection: Connection | None, environ: Mapping[str, str] | None = None) -> dict[str, str]:
        """The environment of the run: the present one, where its figures go, and the database of the graph.

        The password goes this way alone: a command line and verl's configuration are seen and logged.
        """
        made = dict(os.environ if environ is None else environ)
        # verl's file of figures lies in the working folder otherwise, wherever that of its trainer's process is.
        made.setdefault("VERL_FILE_LOGGER_ROOT", str(self.plan.out))
        if connection is not None:
            made.pop("NEO4J_PASSWORD_FILE", None)
            made |= {
                "NEO4J_URI": connection.uri,
                "NEO4J_USERNAME": connection.username,
                "NEO4J_PASSWORD": connection.password.get_secret_value(),
                "NEO4J_DATABASE": connection.database,
            }
        return made

    def _settled(self, overrides: Sequence[str]) -> list[str]:
        """The preset's overrides but for those that the user gives a value of his own, then the user's.

        Hydra takes the last value of a key that exists; a key that is added (``+key=``) may be added only once.
        """
        mine = {_key(word) for word in self.overrides}
        return [*(word for word in overrides if _key(word) not in mine), *self._added(overrides)]

    def _added(self, overrides: Sequence[str]) -> list[str]:
        """The user's overrides; a key of ours that has to be added gets its plus sign where he left it out."""
        ours = {_key(word) for word in overrides if word.startswith("+")}
        return [
            f"+{word}" if word[:1] not in "+~" and (_key(word) in ours or _key(word).startswith(_SECTIONS)) else word
            for word in self.overrides
        ]


_SECTIONS = ("algorithm.proas.", "data.proas.")
"""Sections that verl's own configuration does not have."""


def _key(word: str) -> str:
    return word.partition("=")[0].lstrip("+~")
