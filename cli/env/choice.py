"""Which data, which task, which rollout: from what a user typed to the thing that was meant."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

from proas.cli.console import listed
from proas.errors import DataError, EnvironmentFailure, UsageError

if TYPE_CHECKING:
    from proas.cli.console import Output
    from proas.envs import EnvSpec, World
    from proas.rollouts import Rollout

__all__ = ["chosen_rollout", "chosen_task", "opened"]


def opened(spec: EnvSpec, output: Output) -> tuple[EnvSpec, World]:
    """The environment's tasks; without data the default, else the samples, and the user is told which.

    Raises:
        EnvironmentFailure: Something that it needs is not installed.
        DataError: The data cannot be read.
    """
    from proas.envs import env_kind, open_world

    kind = env_kind(spec.name)
    if missing := kind.missing():
        raise EnvironmentFailure(f"{kind.name} cannot be opened here", hint=missing)
    with output.waiting(f"Opening {kind.name}"):
        if spec.data is not None or kind.samples is None:
            return spec, open_world(spec)
        try:
            world = open_world(spec)
        except DataError as error:
            spec = replace(spec, data=kind.samples())
            world = open_world(spec)
            output.warn(f"{error.message}: these are the samples that ship with ProAS; --data PATH plays others")
        else:
            output.warn(f"no --data: {kind.data}")
    return spec, world


def chosen_task(tasks: Sequence[str], typed: str) -> str:
    """The task that was meant: by its key, its number in the list, or the only one that begins so.

    Raises:
        UsageError: None is, or several could be.
    """
    if typed in tasks:
        return typed
    if typed.isdecimal() and len(typed) < 10 and 1 <= int(typed) <= len(tasks):
        return tasks[int(typed) - 1]
    beginning = [key for key in tasks if typed and key.startswith(typed)]
    if len(beginning) == 1:
        return beginning[0]
    if beginning:
        raise UsageError(f"{len(beginning):,} tasks begin with {typed!r}", hint=f"say more:{listed(beginning)}")
    lowered = typed.lower()
    near = [key for key in tasks if lowered and lowered in key.lower()] or get_close_matches(typed, tasks, cutoff=0.4)
    hint = f"did you mean:{listed(near)}" if near else "--tasks lists them"
    raise UsageError(f"no task {typed!r} among the {len(tasks):,}", hint=hint)


def chosen_rollout(named: str) -> Rollout:
    """The rollout that ``FILE#ID`` names; ID may be a number, a unique beginning, or left out for the first.

    Raises:
        DataError: The file cannot be read or holds no such rollout.
        UsageError: Several could be meant.
    """
    from proas.rollout_files import load_rollouts

    path, typed = _split(named)
    if path.is_dir():
        raise DataError(f"{path} is a folder", hint="give a JSONL file of rollouts, then # and an id")
    batch = load_rollouts(path)
    if not batch.rollouts:
        reason = f": {batch.rejects[0].reason}" if batch.rejects else ""
        raise DataError(f"{path} holds no rollout{reason}", hint="give a JSONL file of rollouts")
    by_id = {rollout.id: rollout for rollout in batch}
    if not typed:
        return batch.rollouts[0]
    try:
        return by_id[chosen_task(list(by_id), typed)]
    except UsageError as error:
        message = error.message.replace(" task ", " rollout ").replace(" tasks ", " rollouts ")
        raise UsageError(f"{path}: {message}", hint=error.hint.replace("--tasks lists them", "see its ids")) from error


def _split(named: str) -> tuple[Path, str]:
    """File and id; either may hold the sign that parts them."""
    if Path(named).exists():
        return Path(named), ""
    place = -1
    while (place := named.find("#", place + 1)) >= 0:
        if Path(named[:place]).exists():
            return Path(named[:place]), named[place + 1 :]
    return Path(named.partition("#")[0]), named.partition("#")[2]
