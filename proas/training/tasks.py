"""Which tasks a run trains on and which it is measured on."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from proas.envs.base import World
from proas.errors import DataError, TaskError
from proas.keys import digest
from proas.rollouts import Reject

__all__ = ["Splits", "TaskStream", "find_split", "fixed_tasks", "known_splits", "recurring", "split_around"]

_ARCHIVE = re.compile(r"(.+?)(-\d+)?\.(tar(\.\w+)?|tgz|txz)")
_SPLIT = re.compile(r"(train|valid|test|dev|eval)\w*")


@dataclass(frozen=True, slots=True)
class Splits:
    """Where tasks come from.

    Attributes:
        train: Data of the training tasks; ``None`` for the environment's default.
        valid: Data of the validation tasks.
        held_out: Both are the same data, and the validation tasks are held out of it.
    """

    train: Path | None
    valid: Path | None
    held_out: bool

    @classmethod
    def of(cls, data: str, train: str, valid: str) -> Splits:
        """The splits of some data.

        Args:
            data: Folder or archive; empty for the environment's default.
            train: Name of the training split.
            valid: Name of the validation split.
        """
        if not data:
            return cls(None, None, held_out=True)
        root = Path(data)
        trained = find_split(root, train) or root
        measured = find_split(root, valid)
        return cls(trained, measured or trained, held_out=measured is None or measured == trained)


def find_split(data: Path, name: str) -> Path | None:
    """Folder of a split under some data, or under a release folder in it (``json_2.1.3/valid_seen``)."""
    if not data.is_dir() or not name:
        return None
    found = [data / name, *sorted(data.glob(f"json_*/{name}"), reverse=True)]
    return next((folder for folder in found if folder.is_dir()), None)


def known_splits(data: Path) -> dict[str, Path]:
    """Splits to be measured on by name: folders of a folder, or of a release folder in it, else archives in it.

    An archive's name may end in the number of its tasks (``valid_seen-140.tar.xz``). Folders of other names are left
    out: they are tasks.
    """
    if not data.is_dir():
        return {}
    archives = {match[1]: file for file in sorted(data.iterdir()) if (match := _ARCHIVE.fullmatch(file.name))}
    folders = {folder.name: folder for place in (*sorted(data.glob("json_*")), data) for folder in _folders(place)}
    return {name: place for name, place in sorted({**archives, **folders}.items()) if _SPLIT.fullmatch(name)}


def split_around(data: Path, name: str) -> Path | None:
    """A split in some data or beside it, as a folder or an archive."""
    found = (find_split(place, name) or known_splits(place).get(name) for place in (data, data.parent))
    return next(filter(None, found), None)


def _folders(place: Path) -> Iterator[Path]:
    return (folder for folder in place.iterdir() if folder.is_dir()) if place.is_dir() else iter(())


def fixed_tasks(world: World, count: int, choice: int = 0) -> list[str]:
    """Playable tasks that are the same for every run: those whose keys' digests come first; others by another choice.

    Raises:
        DataError: There is none that can be played.
    """
    env = world.environment()
    chosen: list[str] = []
    for task in sorted(world.tasks, key=lambda key: digest("fixed", *([choice] if choice else []), key)):
        if len(chosen) >= count:
            break
        try:
            env.reset(task, seed=0)
        except TaskError:
            continue
        chosen.append(task)
    if not chosen:
        raise DataError(f"none of the {len(world.tasks)} {world.name} tasks can be played", hint="give other data")
    return chosen


def recurring(tasks: Sequence[str], count: int, seed: int) -> list[str]:
    """So many of the tasks, chosen by the seed; all of them where the count is 0."""
    return sorted(tasks, key=lambda key: digest("recur", seed, key))[:count] if count else list(tasks)


class TaskStream:
    """Training tasks without end: all of them in an order drawn from the seed, then all in another order, and so on.

    Args:
        world: Where they are played; those that cannot be are passed over and remembered.
        tasks: Keys of the tasks.
        seed: Of the orders.
        position: How many were taken before; a run that resumes goes on from there.

    Raises:
        DataError: There are no tasks, or none can be played.
    """

    def __init__(self, world: World, tasks: Sequence[str], seed: int, position: int = 0) -> None:
        if not tasks:
            raise DataError(f"no {world.name} tasks are left to train on", hint="give more data, or evaluate on fewer")
        self.position = position
        self.rejects: dict[str, Reject] = {}
        self._env = world.environment()
        self._tasks = tuple(tasks)
        self._seed = seed

    def take(self, count: int) -> list[str]:
        """The next tasks, each once.

        Raises:
            DataError: There are fewer that can be played.
        """
        chosen: list[str] = []
        misses = 0
        for task in self._endless():
            if task in chosen or not self._playable(task):
                misses += 1
                if misses > 2 * len(self._tasks):
                    raise DataError(
                        f"only {len(chosen)} tasks can be played at once, {count} are wanted",
                        hint="set tasks to fewer, or give more data",
                    )
                continue
            chosen.append(task)
            if len(chosen) == count:
                break
        return chosen

    def more(self, count: int, besides: Collection[str]) -> list[str]:
        """Up to so many of the next tasks, none of them among others; fewer where there are no more to be played."""
        left = set(self._tasks) - set(besides) - set(self.rejects)
        chosen: list[str] = []
        following = self._endless()
        while left and len(chosen) < count:
            task = next(following)
            if task in left:
                left.discard(task)
                if self._playable(task):
                    chosen.append(task)
        return chosen

    def _endless(self) -> Iterator[str]:
        size = len(self._tasks)
        while True:
            passed, place = divmod(self.position, size)
            if place == 0 or not hasattr(self, "_order"):
                self._order = sorted(self._tasks, key=lambda key: digest("order", self._seed, passed, key))
            self.position += 1
            yield self._order[place]

    def _playable(self, task: str) -> bool:
        if task in self.rejects:
            return False
        try:
            self._env.reset(task, seed=0)
        except TaskError as error:
            self.rejects[task] = Reject(f"{error.problem}: {error.reason}", source=self._env.name, id=task)
            return False
        return True
