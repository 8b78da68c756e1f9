"""Checkpoints: all that a run needs to go on exactly where it was.

Randomness needs no place in them: every draw is seeded by the run's seed and the iteration, task and number that it is
for, so that iteration k + 1 of a resumed run is that of a run that was never ended.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from proas.errors import DataError, UsageError

__all__ = ["Checkpoint", "latest_checkpoint", "prune_checkpoints"]

FORM = 1
_NAME = re.compile(r"iteration-(\d{6})\.pt")


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The state of a run after an iteration.

    Attributes:
        iteration: Iterations done; 0 is after the warm start.
        policy: Description of the policy.
        weights: Its weights, flat.
        reference: Weights of the reference policy.
        optimiser: State of the optimiser.
        position: Tasks taken from the stream.
        episodes: Episodes played in training so far.
        memory: What an estimator keeps between iterations, as plain values.
        starts: Where rollouts of each task begin (``proas.training.starts``), as plain values.
        learnt: Rollouts, as JSON, that a graph holds which forgets at each iteration and cannot be rewound;
            ``None`` where it can.
    """

    iteration: int
    policy: dict[str, Any]
    weights: Tensor
    reference: Tensor
    optimiser: dict[str, Any]
    position: int = 0
    episodes: int = 0
    memory: dict[str, Any] = field(default_factory=dict)
    starts: dict[str, Any] = field(default_factory=dict)
    learnt: list[str] | None = None

    def write(self, folder: Path) -> Path:
        """Write it, whole or not at all, and answer with its path."""
        folder.mkdir(parents=True, exist_ok=True)
        target = folder / f"iteration-{self.iteration:06d}.pt"
        document = {"form": FORM, **{name: getattr(self, name) for name in self.__slots__}}
        part = target.with_suffix(".part")
        torch.save(document, part)
        part.replace(target)
        return target

    @classmethod
    def read(cls, file: Path) -> Checkpoint:
        """Read one. Nothing in it is executed.

        Raises:
            DataError: It is damaged or of another form.
        """
        try:
            document = torch.load(file, map_location="cpu", weights_only=True)
        except Exception as error:  # what an unpickler raises over bytes that are no checkpoint is open
            # torch's own words advise to read without care
            why = str(error) if isinstance(error, OSError) else "it is damaged, or no checkpoint"
            raise DataError(f"{file} cannot be read: {why}", hint="take an earlier checkpoint") from error
        if not isinstance(document, dict) or document.get("form") != FORM:
            raise DataError(f"{file} is no checkpoint of this version of ProAS", hint="train anew")
        try:
            return cls(**{name: document[name] for name in cls.__slots__ if name in document})
        except TypeError as error:
            raise DataError(f"{file} lacks parts: {error}", hint="take an earlier checkpoint") from error


def _checkpoints(folder: Path) -> list[tuple[int, Path]]:
    found = [(int(match.group(1)), file) for file in folder.glob("*.pt") if (match := _NAME.fullmatch(file.name))]
    return sorted(found)


def latest_checkpoint(folder: Path, iteration: int | None = None) -> Path:
    """The newest checkpoint, or that of an iteration.

    Raises:
        UsageError: There is none.
    """
    found = _checkpoints(folder)
    chosen = [file for number, file in found if iteration is None or number == iteration]
    if not chosen:
        known = ", ".join(str(number) for number, _ in found) or "none"
        what = "no checkpoint" if iteration is None else f"no checkpoint of iteration {iteration}"
        raise UsageError(f"{folder} holds {what}", hint=f"iterations with a checkpoint: {known}")
    return chosen[-1]


def prune_checkpoints(folder: Path, keep: int) -> None:
    """Remove all but the first and the newest ones, and what a killed run left half written."""
    for _, file in _checkpoints(folder)[1:-keep]:
        file.unlink(missing_ok=True)
    for part in folder.glob("*.part"):
        part.unlink(missing_ok=True)
