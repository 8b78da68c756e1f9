"""From ``FILE#ID`` to rollouts of a task, labelled by the graph."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from proas.cli.console import listed
from proas.errors import DataError, UsageError

if TYPE_CHECKING:
    from proas.graph.store import ReferenceGraph
    from proas.rollouts import Rollout
    from proas.views.drawing import DrawnTask

__all__ = ["chosen_rollouts", "file_and_id", "ids_meant", "with_files"]

_LISTED = 8


def file_and_id(typed: str) -> tuple[Path, str]:
    """The file, and the id after it; ids and names of files may both hold a ``#``.

    Raises:
        DataError: There is no such file.
    """
    for path, rest in _splits(typed):
        if path.is_file():
            return path, rest
    name = typed.partition("#")[0] or typed
    if Path(name).is_dir():
        raise DataError(f"{name} is a folder", hint="give a JSONL file of rollouts, with #ID for one of them")
    raise DataError(f"there is no file {name}", hint="give FILE#ID, for example labelled.jsonl#1")


def _splits(typed: str) -> Iterator[tuple[Path, str]]:
    """Every reading, the longest name of a file first."""
    yield Path(typed), ""
    for place in range(len(typed) - 1, 0, -1):
        if typed[place] == "#":
            yield Path(typed[:place]), typed[place + 1 :]


def chosen_rollouts(
    store: ReferenceGraph, task: str, typed: str, *, version: int | None, only_one: bool
) -> list[Rollout]:
    """Rollouts of a task from a file.

    Labels that the file holds are kept, unless a version is asked for; a rollout without is labelled by the graph.

    Args:
        store: The graph.
        task: Key of the task.
        typed: ``FILE`` or ``FILE#ID``; the id may leave out the task's key.
        version: Label as of this version.
        only_one: Exactly one is wanted.

    Raises:
        DataError: The file cannot be read, or no rollout in it is of the task.
        UsageError: No rollout has the id, or several could be meant.
    """
    from proas.rollout_files import load_rollouts
    from proas.rollouts import RolloutBatch
    from proas.states import attach_all

    path, wanted = file_and_id(typed)
    batch = load_rollouts(path)
    own = [rollout for rollout in batch if rollout.task == task]
    if not own:
        others = f"it holds {len(batch):,} of other tasks" if len(batch) else "it holds no rollout at all"
        broken = f"; {len(batch.rejects):,} lines cannot be used: {batch.rejects[0].reason}" if batch.rejects else ""
        raise DataError(f"{path} holds no rollout of {task}", hint=others + broken)
    if wanted:
        meant = ids_meant([rollout.id for rollout in own], wanted)
        own = [rollout for rollout in own if rollout.id in meant] or own
        if wanted not in meant and len(own) != 1:
            raise UsageError(f"{path} holds no single rollout {wanted!r} of {task}", hint=_names(own))
    if only_one and len(own) != 1:
        raise UsageError(f"{path} holds {len(own):,} rollouts of {task}: which?", hint=_names(own))
    bare = [r for r in own if version is not None or not any(step.label for step in r.steps)]
    if not bare:
        return own
    labelled = {r.id: r for r in store.label(attach_all(RolloutBatch(tuple(bare))), version=version)}
    return [labelled.get(rollout.id, rollout) for rollout in own]


def with_files(store: ReferenceGraph, task: DrawnTask, typed: Sequence[str], *, version: int | None) -> DrawnTask:
    """A drawn task with the rollouts of files laid over it; each is ``FILE`` or ``FILE#ID``.

    Raises:
        DataError: A file cannot be read, or no rollout in it is of the task.
        UsageError: No rollout has the id.
    """
    from proas.views.drawing import with_rollouts

    for one in typed:
        task = with_rollouts(task, chosen_rollouts(store, task.key, one, version=version, only_one=False))
    return task


def ids_meant(ids: Sequence[str], typed: str) -> list[str]:
    """The id that was typed, else those that end with it behind a ``#``."""
    exact = [one for one in ids if one == typed]
    return exact or [one for one in ids if one.endswith(f"#{typed.removeprefix('#')}")]


def _names(rollouts: list[Rollout]) -> str:
    told = [f"{r.id} ({'solved' if r.success else 'failed'})" for r in rollouts]
    return f"add #ID:{listed(told, _LISTED)}"
