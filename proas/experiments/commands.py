"""Settings as digests and as command lines: the command of a run says all that decides it."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from proas.keys import digest
from proas.training.config import TrainConfig, preset
from proas.training.shapings import ShapingName, shaped_by

__all__ = ["differing", "settings_digest", "shown", "train_words"]

FORM = 1
"""Version of the digest."""

_ELSEWHERE = {"preset", "data", "graph_base", "seed", "workers", "checkpoint_every", "keep_checkpoints"}
"""Settings that say nothing about the method, or that a digest takes in by other means."""

_OPTIONS = {"data", "graph_base", "seed", "workers", "algorithm", "env", "preset"}
"""Settings that have options of their own."""


def settings_digest(config: TrainConfig, *more: object) -> str:
    """Digest of what a run's settings say about the method, and of more.

    Settings at their defaults are left out, so that a setting that is added later changes no digest. Seed, place of
    the data and what does not decide the result are left out too.
    """
    defaults = _flat(TrainConfig().to_dict())
    told = {
        name: value
        for name, value in _flat(config.to_dict()).items()
        if name not in _ELSEWHERE and name != "shaping.preset" and defaults.get(name) != value
    }
    return digest("experiment", FORM, told, *more)


def differing(config: TrainConfig, base: TrainConfig) -> dict[str, Any]:
    """Settings by path that differ from others, in the order of the records."""
    usual = _flat(base.to_dict())
    return {name: value for name, value in _flat(config.to_dict()).items() if usual.get(name) != value}


def train_words(config: TrainConfig, shaping: ShapingName, out: Path, *, init: Path | None) -> list[str]:
    """The words after ``proas`` that make this run.

    Args:
        config: Its settings.
        shaping: The named shaping that they started from.
        out: Folder of the run.
        init: Folder of the run whose policy it starts from.
    """
    words = ["train", "--preset", config.preset, "--env", config.env, "--algo", config.algorithm]
    if shaping != "none":
        words += ["--shaping", shaping]
    words += ["--seed", str(config.seed), "--workers", str(config.workers)]
    if config.data:
        words += ["--data", config.data]
    if config.graph_base:
        words += ["--graph", config.graph_base]
    if init is not None:
        words += ["--init", str(init)]
    base = shaped_by(preset(config.preset), shaping)
    for name, value in differing(config, base).items():
        if name.startswith("options."):
            words += ["--option", f"{name.removeprefix('options.')}={value}"]
        elif name not in _OPTIONS:
            words += ["--set", f"{name}={_text(value)}"]
    return [*words, "--out", str(out)]


def shown(words: list[str], folder: Path) -> str:
    """A command as a reader types it, with paths seen from the folder of all runs."""
    root = f"{folder.absolute()}/"
    return shlex.join(["proas", *(word.removeprefix(root) for word in words)])


def _text(value: object) -> str:
    if value is None:
        return "none"
    return value if isinstance(value, str) else json.dumps(value)


def _flat(document: Mapping[str, Any]) -> dict[str, Any]:
    return dict(_paths(document, ""))


def _paths(document: Mapping[str, Any], before: str) -> Iterator[tuple[str, Any]]:
    for name, value in document.items():
        if isinstance(value, dict):
            yield from _paths(value, f"{before}{name}.")
        else:
            yield f"{before}{name}", value
