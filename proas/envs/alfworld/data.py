"""Finds ALFWorld trials: a release root, a split, a task, one trial, or an archive of any of them.

A trial is a folder ``<task>/<trial>/`` with ``traj_data.json``, ``initial_state.pddl`` and ``game.tw-pddl``, of which
the first or the last may be missing. Its key is ``<task>/<trial>``; where two releases under one root hold the same
trial, their files are joined and the game file of the later release wins. Nothing here writes into the data.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from proas.envs.alfworld.archive import TRIAL_FILES, is_archive, unpacked
from proas.envs.alfworld.goal import AlfWorldGoal
from proas.errors import DataError, TaskError

__all__ = [
    "WORDINGS",
    "Trial",
    "TrialError",
    "TrialProblem",
    "Wording",
    "data_root",
    "iter_trials",
    "read_traj_data",
    "sample_root",
    "trial_at",
]

Wording = Literal["put", "move"]
"""``put X in/on Y`` and arrivals at a location (2.1.1), or ``move X to Y`` and arrivals at a receptacle (2.1.3)."""

WORDINGS: tuple[Wording, ...] = get_args(Wording)

TrialProblem = Literal[
    "no_game", "unsolvable", "unreadable", "bad_json", "bad_pddl", "unsupported_task", "unsupported_domain"
]
"""Why a trial cannot be played."""

_RELEASE_TRIAL = re.compile(r"trial_T\d{8}_\d{6}_\d{6}")
_RELEASE_FOLDER = re.compile(r"json_(\d+)\.(\d+)\.(\d+)")
_OLD_RELEASE = (2, 1, 1)


class TrialError(TaskError):
    """A trial that cannot be played; ``problem`` is one of :data:`TrialProblem`."""

    problem: TrialProblem


@dataclass(frozen=True, slots=True)
class Trial:
    """Where the files of one trial are.

    Attributes:
        key: Task key, ``<task>/<trial>``.
        path: The trial's folder (of the latest release that has it).
        traj_data: Its ``traj_data.json``, if there is one.
        initial_state: Its ``initial_state.pddl``, if there is one.
        game_file: Its ``game.tw-pddl``, if there is one.
        wording: Wording to use where no game file says otherwise.
        withheld: The release gives game files to its playable trials and gave this one none.
    """

    key: str
    path: Path
    traj_data: Path | None
    initial_state: Path | None
    game_file: Path | None
    wording: Wording
    withheld: bool = False

    @property
    def task(self) -> str:
        """Name of the task folder, ``pick_..-Apple-None-DiningTable-26``."""
        return self.key.split("/")[0]

    @property
    def goal(self) -> AlfWorldGoal:
        """Goal by the name of the folder. Raises ``DataError`` where the name is not one of the six task types."""
        return AlfWorldGoal.from_task_key(self.key)


def sample_root() -> Path:
    """Folder of the few trials of our own that come with the package, one of each kind and a sliced one."""
    return Path(__file__).parent / "data" / "samples"


def data_root() -> Path:
    """The folder that ``$ALFWORLD_DATA`` names.

    Raises:
        DataError: The variable is not set.
    """
    named = os.environ.get("ALFWORLD_DATA")
    if not named:
        raise DataError("no ALFWorld data named", hint="give a path, or set ALFWORLD_DATA as alfworld-download does")
    return Path(named)


def iter_trials(path: Path | str | None = None) -> Iterator[Trial]:
    """Trials under a path, sorted by key.

    Args:
        path: Release root, split, task, trial, or a tar archive of one of these. ``None`` means ``$ALFWORLD_DATA``.

    Yields:
        Each trial once. Whether it can be played shows when it is loaded.

    Raises:
        DataError: The path does not exist, the archive is damaged, or there is no trial at all.
    """
    given = Path(path) if path is not None else data_root()
    if not given.exists():
        raise DataError(f"{given}: no such file or folder", hint="expected an ALFWorld release, split or trial")
    if given.is_file() and not is_archive(given):
        raise DataError(
            f"{given}: neither a folder nor a tar archive", hint="expected an ALFWorld release, split or trial"
        )
    root = unpacked(given) if given.is_file() else given
    folders: dict[str, list[Path]] = {}
    for folder in _trial_folders(root):
        folders.setdefault(_key(folder), []).append(folder)
    if not folders:
        raise DataError(f"{given}: no ALFWorld trial found", hint="a trial holds traj_data.json or game.tw-pddl")
    release_has_games = any(
        (folder / "game.tw-pddl").is_file() for group in folders.values() for folder in group if _is_release(folder)
    )
    for key in sorted(folders):
        yield _trial(key, sorted(folders[key], key=_release), release_has_games=release_has_games)


def trial_at(path: Path | str) -> Trial:
    """The one trial at a path.

    Raises:
        DataError: There is none, or more than one.
    """
    trials = list(iter_trials(path))
    if len(trials) != 1:
        raise DataError(f"{path}: holds {len(trials)} trials, expected one", hint="name the trial's own folder")
    return trials[0]


def read_traj_data(trial: Trial) -> dict[str, Any]:
    """The parsed ``traj_data.json`` of a trial.

    Raises:
        TrialError: There is none, or it cannot be read.
    """
    if trial.traj_data is None:
        raise TrialError(trial.key, "unreadable", "no traj_data.json", hint="plans and annotations live in it")
    return read_json(trial.key, trial.traj_data)


def read_text(key: str, path: Path) -> str:
    """Text of a trial's file. Raises ``TrialError`` where it cannot be read."""
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise TrialError(key, "unreadable", f"{path.name} is not UTF-8 at byte {error.start}") from error
    except OSError as error:
        raise TrialError(key, "unreadable", f"{path.name} cannot be read ({error.strerror})") from error


def read_json(key: str, path: Path, text: str | None = None) -> dict[str, Any]:
    """A trial's JSON object. Raises ``TrialError`` where it is malformed."""
    try:
        document = json.loads(text if text is not None else read_text(key, path))
    except (ValueError, RecursionError) as error:
        raise TrialError(key, "bad_json", f"{path.name} is not JSON ({error})") from error
    if not isinstance(document, dict):
        raise TrialError(key, "bad_json", f"{path.name} is not a JSON object")
    return document


def _trial_folders(root: Path) -> Iterator[Path]:
    for folder, children, files in os.walk(root):
        children.sort()
        if TRIAL_FILES.intersection(files):
            children.clear()  # a trial's own subfolders hold images
            yield Path(folder)


def _key(folder: Path) -> str:
    resolved = folder.resolve()
    return f"{resolved.parent.name}/{resolved.name}"


def _is_release(folder: Path) -> bool:
    return _RELEASE_TRIAL.fullmatch(folder.resolve().name) is not None


def _release(folder: Path) -> tuple[int, ...]:
    """Version of the release that a folder lies in; the lowest where its path does not say."""
    for part in reversed(folder.resolve().parts):
        if found := _RELEASE_FOLDER.fullmatch(part):
            return tuple(int(number) for number in found.groups())
    return (0, 0, 0)


def _trial(key: str, folders: list[Path], *, release_has_games: bool) -> Trial:
    def latest(name: str) -> Path | None:
        present = [folder / name for folder in folders if (folder / name).is_file()]
        return present[-1] if present else None

    newest = folders[-1]
    game_file = latest("game.tw-pddl")
    return Trial(
        key=key,
        path=newest,
        traj_data=latest("traj_data.json"),
        initial_state=latest("initial_state.pddl"),
        game_file=game_file,
        wording="put" if _release(newest) == _OLD_RELEASE else "move",
        withheld=game_file is None and release_has_games and _is_release(newest),
    )
