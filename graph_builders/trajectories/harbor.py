"""Folders of Harbor's trials, where the outcome lies beside the trajectory.

Source: Harbor's ``TrialPaths`` and ``TrialResult``. A trial's folder holds ``agent/trajectory.json`` (ATIF),
``result.json`` with ``{"task_name", "verifier_result": {"rewards": {"reward": 1.0}}, ...}``, ``config.json``,
``lock.json`` and ``verifier/``; the folder of a job holds those of its trials, and a ``result.json`` and a
``config.json`` of its own.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from proas.graph_builders.trajectories.episodes import Episode
from proas.graph_builders.trajectories.fields import Labels, labels_of

__all__ = ["is_paper", "outcome_beside", "with_outcome"]

_PAPERS = frozenset(("result.json", "config.json", "lock.json"))
_LARGEST = 16 << 20


def is_paper(file: Path) -> bool:
    """Whether a file is one that Harbor keeps beside trajectories, and holds no episode."""
    if file.parent.name == "verifier":
        return _is_trial(file.parent.parent)
    if file.name not in _PAPERS:
        return False
    return _is_trial(file.parent) or any(file.parent.glob("*/agent/trajectory.json"))


def _is_trial(folder: Path) -> bool:
    return (folder / "agent" / "trajectory.json").is_file()


def outcome_beside(path: Path) -> Labels | None:
    """What the trial's result says; ``None`` where the file is no trial's trajectory, or its result cannot be read."""
    result = path.parent.parent / "result.json"
    if path.parent.name != "agent" or not path.name.startswith("trajectory") or not result.is_file():
        return None
    try:
        if result.stat().st_size > _LARGEST:
            return None
        value = json.loads(result.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    return labels_of(value) if isinstance(value, dict) else None


def with_outcome(episode: Episode, told: Labels) -> Episode:
    """The episode with the trial's outcome, unless it has one of its own."""
    names = (*episode.names, *told.names)
    if episode.success is not None or episode.score is not None:
        return replace(episode, names=names)
    return replace(episode, names=names, success=told.success, score=told.score)
