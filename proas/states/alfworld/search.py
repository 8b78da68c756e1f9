"""When a step seeks information: it looks where the rollout has not looked, while something needed is still unseen."""

from __future__ import annotations

from collections.abc import Iterable

from proas.envs.alfworld.goal import AlfWorldGoal
from proas.states.alfworld.commands import Command
from proas.states.alfworld.memory import kind_of

__all__ = ["KNIVES", "Search"]

KNIVES = frozenset({"knife", "butterknife"})
"""Kinds that cut."""


class Search:
    """What one rollout has seen so far.

    A step *seeks* when it arrives at a receptacle, or is shown the contents of one, for the first time, while a needed
    object has not been seen: an object of the goal's kind (two of them for a task of two), the lamp, or a knife where
    the object must be sliced. The step that first shows the last of them still seeks. Receptacles on one spot count
    each for itself; ``look`` lists no receptacle's contents and never seeks.

    Args:
        goal: The task, which says what is needed.
    """

    def __init__(self, goal: AlfWorldGoal) -> None:
        self._arrived: set[str] = set()
        self._shown: set[str] = set()
        # Kinds of which any one serves, how many are needed, and those seen so far.
        self._needs: list[tuple[frozenset[str], int, set[str]]] = [(frozenset({goal.object}), goal.count, set())]
        if goal.lamp:
            self._needs.append((frozenset({goal.lamp}), 1, set()))
        if goal.sliced:
            self._needs.append((KNIVES, 1, set()))

    def seeks(self, command: Command, shown: str, contents: Iterable[str]) -> bool:
        """Take in a step that was carried out; whether it was one of seeking.

        Args:
            command: What was carried out.
            shown: The receptacle whose contents were shown, else empty.
            contents: Those contents.
        """
        lacking = any(len(seen) < count for _, count, seen in self._needs)
        news = False
        if command.verb == "go" and command.object not in self._arrived:
            self._arrived.add(command.object)
            news = True
        if shown:
            if shown not in self._shown:
                self._shown.add(shown)
                news = True
            self._see(contents)
        if command.verb == "take":
            self._see((command.object,))
        return lacking and news

    def _see(self, names: Iterable[str]) -> None:
        for name in names:
            for kinds, _, seen in self._needs:
                if kind_of(name) in kinds:
                    seen.add(name)
