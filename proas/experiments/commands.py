"""Settings as digests and as command lines: the command of a run says all that decides it."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from proas.errors import UsageError
from proas.keys import digest
from proas.training.arms import UNDECIDING
from proas.training.config import AlgorithmName, TrainConfig, preset
from proas.training.setting_paths import flat
from proas.training.shapings import ShapingName, shaped_by

__all__ = [
    "REVISIONS",
    "as_text",
    "differing",
    "plain_words",
    "settings_digest",
    "settings_of",
    "shown",
    "train_words",
    "unlike",
]

FORM = 1
"""Version of the digest."""

REVISIONS: Mapping[AlgorithmName, int] = MappingProxyType({"migpo": 2, "ppo": 2})
"""How often what an algorithm computes under the same settings was mended, counted from 1 for those not named.

Results of an earlier revision count as of other settings. migpo 2: no division by deviations, penalties where they
fall. ppo 2: penalties stay whatever the other rollouts of the task do.
"""

_ELSEWHERE = UNDECIDING | {"data", "graph_base"}
"""Settings that say nothing about the method, or that a digest takes in by other means."""

_OPTIONS = {"data", "graph_base", "seed", "workers", "algorithm", "env", "preset", "shaping.preset"}
"""Settings that have options of their own, or only name what the others started from."""

_SETTING_OF = {"--env": "env", "--algo": "algorithm", "--seed": "seed", "--workers": "workers", "--data": "data"}
"""Options of a command that are settings."""

_CONCERNS: Mapping[str, tuple[AlgorithmName, ...]] = MappingProxyType(
    {
        "update.value": ("ppo",),
        "estimator.refills": ("dapo",),
        "estimator.gamma": ("ppo", "hgpo"),
        "estimator.gae_lambda": ("ppo",),
        "estimator.step_weight": ("migpo", "graphgpo", "tigpo"),
        "estimator.milestone_gamma": ("migpo",),
        "estimator.context": ("hgpo",),
        "estimator.context_power": ("hgpo",),
        "estimator.distance_gamma": ("graphgpo", "tigpo"),
    }
)
"""Settings that some algorithms alone ask for."""


def settings_digest(config: TrainConfig, *more: object) -> str:
    """Digest of what a run's settings say about the method, and of more.

    Settings at their defaults are left out, so that a setting that is added later changes no digest. Seed, place of
    the data and what does not decide the result are left out too. An algorithm's revision is taken in where it has one.
    """
    defaults = flat(TrainConfig().to_dict())
    told = {
        name: value for name, value in flat(config.to_dict()).items() if _decides(name) and defaults.get(name) != value
    }
    if config.algorithm in REVISIONS:
        told["revision"] = REVISIONS[config.algorithm]
    return digest("experiment", FORM, told, *more)


def differing(config: TrainConfig, base: TrainConfig) -> dict[str, Any]:
    """Settings by path that differ from others, in the order of the records."""
    usual = flat(base.to_dict())
    return {name: value for name, value in flat(config.to_dict()).items() if usual.get(name) != value}


def unlike(config: TrainConfig, stored: Mapping[str, Any]) -> dict[str, Any]:
    """Stored settings, by path, that decide a result and have another value in ``config``.

    Settings that did not yet exist, that no longer do, or that the algorithm does not ask for are passed over.

    Args:
        config: Settings.
        stored: Settings as :meth:`TrainConfig.to_dict` gave them, perhaps in an earlier release.
    """
    now = {name: value for name, value in flat(config.to_dict()).items() if _decides(name)}
    idle = {name for name, algorithms in _CONCERNS.items() if config.algorithm not in algorithms}
    return {name: value for name, value in flat(stored).items() if now.get(name, value) != value and name not in idle}


def _decides(name: str) -> bool:
    return name not in _ELSEWHERE and name != "shaping.preset"


def train_words(config: TrainConfig, shaping: ShapingName, out: Path, *, init: Path | None) -> list[str]:
    """The words after ``proas`` that make this run.

    Args:
        config: Its settings.
        shaping: The named shaping that they started from.
        out: Folder of the run.
        init: Folder of the run whose policy it starts from.
    """
    return _words(config, config.preset, shaping, out, init)


def plain_words(config: TrainConfig, out: Path, *, init: Path | None) -> list[str]:
    """The same without named presets and shapings: they mean as much when one of those is given another meaning."""
    return _words(config, TrainConfig().preset, "none", out, init)


def _words(config: TrainConfig, size: str, shaping: ShapingName, out: Path, init: Path | None) -> list[str]:
    words = ["train", "--preset", size, "--env", config.env, "--algo", config.algorithm]
    if shaping != "none":
        words += ["--shaping", shaping]
    words += ["--seed", str(config.seed), "--workers", str(config.workers)]
    if config.data:
        words += ["--data", config.data]
    if config.graph_base:
        words += ["--graph", config.graph_base]
    if init is not None:
        words += ["--init", str(init)]
    for name, value in differing(config, shaped_by(preset(size), shaping)).items():
        if name.startswith("options."):
            words += ["--option", f"{name.removeprefix('options.')}={value}"]
        elif name not in _OPTIONS:
            words += ["--set", f"{name}={as_text(value)}"]
    return [*words, "--out", str(out)]


def settings_of(command: str) -> TrainConfig:
    """The settings that a run's command means now, the name of its base graph aside.

    Args:
        command: As :func:`shown` gives it.

    Raises:
        UsageError: It is no such command, or one that is refused by now.
    """
    try:
        words = shlex.split(command)
        pairs = list(zip(words[2::2], words[3::2], strict=True))
    except ValueError:
        words = []
    if words[:2] != ["proas", "train"]:
        raise UsageError(f"{command!r} is no command of a run", hint="it has to be a `proas train`")
    told = {word: value for word, value in pairs if word not in ("--set", "--option")}
    settings: dict[str, object] = {name: told[word] for word, name in _SETTING_OF.items() if word in told}
    for word, value in pairs:
        name, _, text = value.partition("=")
        if word in ("--set", "--option"):
            settings[name if word == "--set" else f"options.{name}"] = text
    size = told.get("--preset", TrainConfig().preset)
    return shaped_by(preset(size), told.get("--shaping", "none")).updated(settings)


def shown(words: list[str], folder: Path) -> str:
    """A command as a reader types it, with paths seen from the folder of all runs."""
    root = f"{folder.absolute()}/"
    return shlex.join(["proas", *(word.removeprefix(root) for word in words)])


def as_text(value: object) -> str:
    """A setting's value as it is written on a command line."""
    if value is None:
        return "none"
    return value if isinstance(value, str) else json.dumps(value)
