"""Which runs are of one arm: those that agree in all settings that decide the result, the seed aside.

An arm has the short name of its method (:attr:`TrainConfig.arm`). Where runs that share it differ in settings, in the
graph that they start over or in what they start from, each kind is an arm of its own, named by what differs. What a run
starts from is told by the settings of that run, not by its folder: a warm start of each seed's own makes no difference.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from proas.errors import ProASError
from proas.keys import digest
from proas.training.config import PRESETS, TrainConfig
from proas.training.run_directory import RunDirectory
from proas.training.setting_paths import flat

__all__ = ["UNDECIDING", "Identity", "arm_names", "beyond_method", "identity_of"]

UNDECIDING = frozenset({"preset", "seed", "workers", "checkpoint_every", "keep_checkpoints"})
"""Settings that say nothing about the method."""

# Names for the record, what is kept for reading, what bounds memory, and what ``algorithm`` takes the place of.
_UNFELT = frozenset({"shaping.preset", "shaping.algorithm", "rollouts_every", "update.micro_batch_tokens"})
_REPLACED_BY_INIT = ("policy.", "warm_start.")
_METHOD = ("algorithm", "shaping.", "estimator.", "starts.", "graph_base", "graph_emptied", "lifted", "distance_fades")
_SHOWN_AS = {"graph_base": "graph"}
_RUN = "run"
_DEEPEST = 8


@dataclass(frozen=True, slots=True)
class Identity:
    """What decides a run's result.

    Attributes:
        arm: Short name of the method.
        preset: Where its settings started.
        seed: Its seed.
        settings: All that decides the result, the seed aside, by path; ``init.`` goes before those of the run that it
            starts from, and ``init`` is empty where there is none, ``run`` where its settings are known, else its path.
        init: Path of the run that it starts from; empty where it has a warm start of its own.
    """

    arm: str
    preset: str
    seed: int
    settings: Mapping[str, Any]
    init: str


def identity_of(directory: RunDirectory) -> Identity:
    """Read what decides a run's result.

    Raises:
        UsageError: There is no run.
        DataError: Its folder is damaged.
    """
    document, config = directory.document(), directory.config()
    init = str(document.get("init", ""))
    return Identity(str(document.get("arm", config.arm)), config.preset, config.seed, _deciding(directory), init)


def arm_names(runs: Sequence[Identity]) -> list[str]:
    """Name of each run's arm, in their order; runs of one name are of one arm."""
    told = _told_apart_by_start(runs)
    kinds: dict[str, dict[str, Identity]] = {}
    for run in told:
        kinds.setdefault(run.arm, {}).setdefault(_kind(run), run)
    return [_name(kinds[run.arm][_kind(run)], list(kinds[run.arm].values())) for run in told]


def beyond_method(runs: Sequence[Identity]) -> list[str]:
    """Settings with their values that differ between the runs beside algorithm, shaping, graph and length."""
    starts: dict[int, set[str]] = {}
    for run in runs:
        starts.setdefault(run.seed, set()).add(run.init)
    if any(len(found) > 1 for found in starts.values()):  # else a start of each seed's own is no difference
        runs = [_placed(run) for run in runs]
    return [
        f"{name} ({', '.join(dict.fromkeys(_value(run, name, runs) for run in runs if name in run.settings))})"
        for name in _differing(runs)
        if name != "iterations" and not name.startswith(_METHOD)
    ]


def _deciding(directory: RunDirectory, depth: int = 0) -> dict[str, Any]:
    config, init = directory.config(), str(directory.document().get("init", ""))
    told = {n: v for n, v in flat(config.to_dict()).items() if n not in UNDECIDING and n not in _UNFELT}
    # A run that went on may have been given more iterations than it began with: the result knows.
    told["iterations"] = (directory.final() or {}).get("iterations", config.iterations)
    told["init"] = ""
    if not init:
        return told
    told = {n: v for n, v in told.items() if not n.startswith(_REPLACED_BY_INIT)}
    before = RunDirectory(Path(init))
    try:
        if depth < _DEEPEST:
            return told | {"init": _RUN} | {f"init.{n}": v for n, v in _deciding(before, depth + 1).items()}
    except (ProASError, OSError):
        pass  # it was moved or removed: its place is all that is known
    return told | {"init": init}


def _told_apart_by_start(runs: Sequence[Identity]) -> list[Identity]:
    """The same runs; where one seed starts from several runs of equal settings, their places tell them apart."""
    places: dict[tuple[str, str, int], set[str]] = {}
    for run in runs:
        places.setdefault((run.arm, _kind(run), run.seed), set()).add(run.init)
    several = {(arm, kind) for (arm, kind, _), found in places.items() if len(found) > 1}
    return [_placed(run) if (run.arm, _kind(run)) in several else run for run in runs]


def _placed(run: Identity) -> Identity:
    return replace(run, settings={**run.settings, "init": run.init})


def _kind(run: Identity) -> str:
    return digest("arm", dict(run.settings))


def _name(run: Identity, kinds: Sequence[Identity]) -> str:
    """The short name, and what differs among the kinds of runs that share it, where that is not the preset's."""
    usual = flat(PRESETS.get(kinds[0].preset, TrainConfig()).to_dict()) | {"init": ""}
    words = [
        f"{_SHOWN_AS.get(name, name)}={_value(run, name, kinds)}"
        for name in _differing(kinds)
        if name in run.settings and run.settings[name] != usual.get(name.rpartition("init.")[2])
    ]
    return " ".join([run.arm, *words])


def _differing(runs: Sequence[Identity]) -> Iterator[str]:
    """Settings in which runs differ, among those that have them: a run from another's policy has no warm start."""
    for name in dict.fromkeys(name for run in runs for name in run.settings):
        having = [run for run in runs if name in run.settings or "options." in name]
        if len({_text(run.settings.get(name)) for run in having}) > 1:
            yield name


def _value(run: Identity, name: str, among: Sequence[Identity]) -> str:
    if name != "init":
        return _text(run.settings[name])
    places = {Path(other.init) for other in among if other.init}
    alike = len({place.name for place in places}) < len(places)
    return (run.init if alike else Path(run.init).name) or "none"


def _text(value: object) -> str:
    if value is None or value == "":
        return "none"
    return value if isinstance(value, str) else json.dumps(value)
