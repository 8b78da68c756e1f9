"""Whether everything is there that a training run needs, found out before it starts: what ``proas doctor`` shows.

Each check gives a finding: what was found, whether it will do, and what to do about it if not. No check raises, none
starts or changes anything.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from itertools import islice
from typing import Literal

from proas.envs import EnvSpec, env_kind, open_world
from proas.errors import GraphError, ProASError, TaskError
from proas.graph import Connection, ReferenceGraph, list_graphs
from proas.graph.client import Client
from proas.graph.migrations import validate
from proas.integrations.verl.probe import LOOPS, TRAINERS, look

__all__ = ["PARTS", "Finding", "Part", "Wanted", "examine"]

Part = Literal["verl", "graph", "data", "devices"]
PARTS: tuple[Part, ...] = ("verl", "graph", "data", "devices")
"""What is looked at, in this order."""

VERL = "0.9.1"
"""The release of verl whose trainers the plug-in extends."""

_COMPANIONS = {
    "TransferQueue": "0.1.11",
    "torch": "",
    "transformers": "",
    "ray": "",
    "tensordict": "",
    "cachetools": "",
    "uvicorn": "",
    "fastapi": "",
    "pyzmq": "",
    "msgspec": "",
}
"""What a step of verl imports, and the version of it that is needed, where only one will do."""

_LOOKED_AT = 200
"""Tasks of the data that are looked up in the graph."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at.

    Attributes:
        name: What.
        ok: Whether it will do; ``None`` for what is only told.
        found: What was found.
        advice: What to do about it; empty where nothing is wrong.
    """

    name: str
    ok: bool | None
    found: str
    advice: str = ""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a run will use.

    Attributes:
        parts: What to look at.
        connect: Finds the database; raises what is wrong with it.
        graph: Name of the reference graph; ``None`` looks for any.
        env: The environment and its data.
    """

    parts: tuple[Part, ...]
    connect: Callable[[], Connection]
    graph: str | None
    env: EnvSpec


def examine(wanted: Wanted) -> Iterator[Finding]:
    """Look at one thing after the other."""
    for part in wanted.parts:
        if part == "verl":
            yield from _verl()
        elif part == "graph":
            yield from _graph(wanted)
        elif part == "data":
            yield from _data(wanted)
        else:
            yield from _devices()


def _verl() -> Iterator[Finding]:
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    fits = sys.version_info < (3, 13)
    yield Finding("python", fits, python, "" if fits else f"verl {VERL} needs Python 3.11 or 3.12")
    found = _installed("verl")
    if found is None:
        yield Finding("verl", False, "not installed", "pip install 'proas[verl]', or leave it out: --without verl")
        return
    yield Finding(
        "verl",
        found == VERL,
        found,
        "" if found == VERL else f"the plug-in is for verl {VERL}: pip install verl=={VERL}",
    )
    lacking = {name: wanted for name, wanted in _COMPANIONS.items() if _installed(name) is None}
    if lacking:
        yield Finding(
            "verl's companions", False, f"not installed: {', '.join(lacking)}", "pip install 'proas[verl]' brings them"
        )
    else:
        wrong = [f"{n} {_installed(n)}, not {v}" for n, v in _COMPANIONS.items() if v and _installed(n) != v]
        said = "; ".join(wrong) or ", ".join(f"{name} {_installed(name)}" for name in _COMPANIONS)
        yield Finding("verl's companions", not wrong, said, "pip install 'proas[verl]'" if wrong else "")
    yield _plugin()


def _plugin() -> Finding:
    seen = look()
    policy = os.environ.get("VERL_USE_EXTERNAL_PLUGINS", "auto").strip()
    if seen.whole:
        return Finding("plug-in", True, f"trainers {', '.join(seen.trainers)}; loops {', '.join(seen.loops)}")
    if seen.error:
        return Finding("plug-in", False, seen.error, "mend what it names; verl itself says nothing about it")
    if not seen.entries:
        advice = "install ProAS again in this environment: pip install 'proas[verl]'"
        return Finding("plug-in", False, "no entry point 'proas' in the group verl.plugins", advice)
    if policy != "auto":
        found = f"VERL_USE_EXTERNAL_PLUGINS={policy} keeps it out"
        return Finding("plug-in", False, found, "unset it, or add proas to it")
    missing = [name for name in (*TRAINERS, *LOOPS) if name not in (*seen.trainers, *seen.loops)]
    return Finding("plug-in", False, f"verl does not know {', '.join(missing)}", "install the same release everywhere")


def _graph(wanted: Wanted) -> Iterator[Finding]:
    try:
        connection = wanted.connect()
    except ProASError as error:
        yield Finding("database", False, error.message, error.hint or "set NEO4J_URI, or start one: proas db up")
        return
    try:
        release = Client(connection).server_version()
    except GraphError as error:
        yield Finding("database", False, error.message, error.hint or "is it running, and is this its address?")
        return
    yield Finding("database", True, f"Neo4j {release} at {connection.uri}")
    try:
        validate(connection)
    except GraphError as error:
        yield Finding("schema", False, error.message, error.hint or "see `proas db info`")
        return
    yield Finding("schema", True, "migrated")
    try:
        yield _named_graph(connection, wanted)
    except GraphError as error:
        yield Finding("graph", False, error.message, error.hint or "see `proas graph list`")


def _named_graph(connection: Connection, wanted: Wanted) -> Finding:
    infos = {info.name: info for info in list_graphs(connection)}
    if wanted.graph is None:
        if not infos:
            return Finding("graph", False, "there is none", "make one: proas graph build")
        return Finding("graph", None, f"not named; there are {', '.join(list(infos)[:5])}", "name it: --graph NAME")
    if wanted.graph not in infos:
        known = f"there are {', '.join(list(infos)[:5])}" if infos else "make it: proas graph build"
        return Finding("graph", False, f"no graph is called {wanted.graph!r}", known)
    info = infos[wanted.graph]
    if info.dropping:
        return Finding("graph", False, f"{info.name!r} is being dropped", f"finish with `proas graph drop {info.name}`")
    stats = ReferenceGraph(connection, info.name).stats()
    found = f"{info.name!r} version {info.version}: {stats.tasks} tasks, {stats.transitions} transitions"
    advice = "" if stats.transitions else "fill it: proas graph build"
    return Finding("graph", stats.transitions > 0, found, advice)


def _data(wanted: Wanted) -> Iterator[Finding]:
    spec = wanted.env
    name = f"{spec.name} data"
    try:
        missing = env_kind(spec.name).missing()
        if missing:
            yield Finding(name, False, missing, "install it in this environment")
            return
        with closing(open_world(spec)) as world:
            tasks = tuple(world.tasks)
            if not tasks:
                yield Finding(name, False, "no tasks", "give the folder: --data PATH")
                return
            playable, reason = _first_playable(world.environment().reset, tasks)
    except ProASError as error:
        yield Finding(name, False, error.message, error.hint or "give the folder: --data PATH")
        return
    if not playable:
        yield Finding(
            name, False, f"{len(tasks)} tasks; none of the first 20 can be played: {reason}", "see docs/envs.md"
        )
        return
    yield Finding(name, True, f"{len(tasks)} tasks, for example {playable}")
    if "graph" in wanted.parts and wanted.graph is not None:
        yield from _coverage(wanted, tasks)


def _first_playable(reset: Callable[[str], object], tasks: tuple[str, ...]) -> tuple[str, str]:
    reason = ""
    for task in islice(tasks, 20):
        try:
            reset(task)
        except TaskError as error:
            reason = error.reason
        else:
            return task, ""
    return "", reason


def _coverage(wanted: Wanted, tasks: tuple[str, ...]) -> Iterator[Finding]:
    assert wanted.graph is not None
    try:
        known = {task.key for task in ReferenceGraph(wanted.connect(), wanted.graph).tasks()}
    except ProASError:
        return  # said already
    asked = tasks[:: max(1, len(tasks) // _LOOKED_AT)]
    covered = sum(task in known for task in asked)
    found = f"the graph knows {covered} of {len(asked)} tasks looked up"
    advice = "" if covered else "build the graph from these tasks, or name the data that it was built from"
    yield Finding("coverage", covered > 0, found, advice)


def _devices() -> Iterator[Finding]:
    nvidia = shutil.which("nvidia-smi")
    gpus: list[str] = []
    if nvidia is not None:
        asked = [nvidia, "--query-gpu=name,memory.total", "--format=csv,noheader"]
        told = subprocess.run(asked, capture_output=True, text=True, timeout=30, check=False)  # noqa: S603
        gpus = [line.strip() for line in told.stdout.splitlines() if line.strip()] if told.returncode == 0 else []
    yield Finding("GPUs", None, f"{len(gpus)}: {'; '.join(gpus)}" if gpus else "none seen")
    engines = {name: _installed(name) for name in ("vllm", "sglang")}
    there = [f"{name} {found}" for name, found in engines.items() if found]
    if there or not gpus:
        yield Finding("rollout engine", None, ", ".join(there) or "none; needed on the machine that trains")
    else:
        yield Finding("rollout engine", False, "none", "pip install 'proas[vllm]', or use an image of verl's")


def _installed(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
