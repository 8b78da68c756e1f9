"""What an experiment plays: the released games where they are at hand, else games of our own, made anew each time."""

from __future__ import annotations

import os
import shutil
import tarfile
from collections.abc import Iterable
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from proas.envs import EnvSpec, env_kind, open_world
from proas.envs.alfworld.generator import generate
from proas.envs.alfworld.goal import KINDS, GoalKind
from proas.errors import DataError, UsageError
from proas.experiments.plan import DataPlan
from proas.keys import digest
from proas.training.config import TrainConfig
from proas.training.tasks import Splits

__all__ = ["Games", "find_games"]

_ARCHIVES = {"alfworld": "train-1540.tar.xz"}
_DEFAULTS = {"alfworld": "ALFWORLD_DATA", "webshop": "WEBSHOP_DATA"}


@dataclass(frozen=True, slots=True)
class Games:
    """What is played.

    Attributes:
        env: Name of the environment.
        kind: Where it comes from.
        label: The same in words, for the record; holds no path.
        path: Where it lies; empty for what comes with the package as the environment's default.
        identity: Digest of the keys of all tasks, so that runs on other games are never pooled.
        training: Number of tasks in the training data.
        validation: Number of tasks in the validation data; 0 where those are held out of the training data.
    """

    env: str
    kind: Literal["real", "generated", "samples", "given"]
    label: str
    path: str
    identity: str
    training: int
    validation: int

    def to_record(self) -> dict[str, Any]:
        """As plain values, where it lies left out."""
        return {name: value for name, value in asdict(self).items() if name != "path"}


def find_games(plan: DataPlan, config: TrainConfig, folder: Path, *, given: Path | None = None) -> Games:
    """The games of a plan; made or unpacked if need be.

    Order: ``given``; for ``real`` the folder that ``PROAS_TEST_DATA`` names, then the environment's own variable
    (``ALFWORLD_DATA``); else generated games, for ALFWorld, or what comes with the package.

    Args:
        plan: What the plan says.
        config: Names the splits and the environment's options.
        folder: Where generated and unpacked games go; those that are there are taken as they are.
        given: Data that the user names.

    Raises:
        UsageError: The plan asks for games of our own of an environment that has no generator.
        DataError: The data cannot be read or written.
    """
    if given is not None:
        if not given.exists():
            raise DataError(f"there is no {given}", hint="give the folder of the environment's data")
        return _counted(plan.env, "given", f"given data ({given.name})", given, config)
    if plan.source == "real" and (found := _released(plan.env, folder)) is not None:
        return _counted(plan.env, "real", f"the {plan.env} release", found, config)
    if plan.source == "samples" or (plan.source == "real" and plan.env != "alfworld"):
        samples = env_kind(plan.env).samples
        return _counted(plan.env, "samples", "what comes with the package", samples() if samples else None, config)
    if plan.env != "alfworld":
        raise UsageError(f"there is no generator of {plan.env} tasks", hint="set data.source to real or samples")
    label = f"{plan.games} generated games, series {plan.seed}" + (f" ({', '.join(plan.kinds)})" if plan.kinds else "")
    return _counted(plan.env, "generated", label, _generated(plan, folder), config)


def _counted(
    env: str, kind: Literal["real", "generated", "samples", "given"], label: str, path: Path | None, config: TrainConfig
) -> Games:
    where = "" if path is None else str(path.absolute())
    splits = Splits.of(where, config.train_split, config.valid_split)
    training = _keys(env, config, splits.train)
    validation = [] if splits.held_out else _keys(env, config, splits.valid)
    if not training:
        raise DataError(f"{where or env} holds no tasks", hint="give the environment's data with --data")
    identity = digest(label if kind == "generated" else "", training, validation)[:16]
    return Games(env, kind, label, where, identity, len(training), len(validation))


def _keys(env: str, config: TrainConfig, data: Path | None) -> list[str]:
    with closing(open_world(EnvSpec(env, data, config.options))) as world:
        return sorted(world.tasks)


def _released(env: str, folder: Path) -> Path | None:
    """The release, where it is at hand."""
    shared = os.environ.get("PROAS_TEST_DATA", "")
    if shared and (Path(shared) / env).is_dir():
        root = Path(shared) / env
        archive = root / _ARCHIVES.get(env, "-")
        if not archive.is_file():
            return root
        target = folder / f"{env}-release"
        data = _unpacked(archive, target)
        _copy_splits(root, target)
        return data
    own = os.environ.get(_DEFAULTS.get(env, ""), "")
    return Path(own) if own and Path(own).is_dir() else None


def _copy_splits(root: Path, beside: Path) -> None:
    """Put the archives of other splits beside unpacked data: nothing is trained on them."""
    for archive in sorted(root.glob("valid_*.tar*")):
        copy, part = beside / archive.name, beside / f".{archive.name}.part"
        try:
            if not copy.is_file() or copy.stat().st_size != archive.stat().st_size:
                shutil.copyfile(archive, part)
                part.replace(copy)
        except OSError as error:
            raise DataError(f"{archive} cannot be copied: {error}", hint="give unpacked data with --data") from error


def _unpacked(archive: Path, target: Path) -> Path:
    """An archive's folder, unpacked whole or not at all: a folder with its splits."""
    if not target.is_dir():
        part = target.with_name(f".{target.name}.part")
        shutil.rmtree(part, ignore_errors=True)
        try:
            part.mkdir(parents=True)
            with tarfile.open(archive) as packed:
                packed.extractall(part, filter="data")
            part.replace(target)
        except (OSError, tarfile.TarError) as error:
            raise DataError(f"{archive} cannot be unpacked: {error}", hint="give unpacked data with --data") from error
    inner = sorted(target.glob("json_*"))
    return inner[-1] if inner else target


def _generated(plan: DataPlan, folder: Path) -> Path:
    """Games of our own, all of them or none."""
    kinds = _kinds(plan.kinds)
    target = folder / f"generated-{digest(plan.games, plan.seed, list(kinds))[:12]}"
    if target.is_dir():
        return target
    part = target.with_name(f".{target.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    try:
        part.mkdir(parents=True)
        for trial in generate(plan.games, seed=plan.seed, kinds=kinds):
            trial.write(part)
        part.replace(target)
    except OSError as error:
        raise DataError(f"cannot write to {folder}: {error.strerror}", hint="name another --out") from error
    return target


def _kinds(names: Iterable[str]) -> tuple[GoalKind, ...]:
    wanted = tuple(names)
    if unknown := [name for name in wanted if name not in get_args(GoalKind)]:
        raise UsageError(f"there is no kind of game {unknown[0]!r}", hint=f"known: {', '.join(KINDS)}")
    return tuple(kind for kind in KINDS if not wanted or kind in wanted)
