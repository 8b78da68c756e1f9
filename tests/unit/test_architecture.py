"""The arrows of ARCHITECTURE.md: who may import whom."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CORE = {"errors", "keys", "plugins", "purify", "rollouts", "subgoals", "rollout_files"}
PEERS = {"graph", "shaping", "states", "envs"}

# What each room may import of proas, beside itself.
ALLOWED: dict[str, set[str]] = {
    "core": CORE,
    "graph": CORE | {"localdb", "cypher"},
    "shaping": CORE,
    "states": CORE | {"envs"},  # the goal's grammar, nothing else: see test_states_take_only_the_goal
    "envs": CORE,
    "localdb": {"errors"},
    "graph_builders": CORE | PEERS | {"agents"},
    "conformance": CORE | {"states", "envs"},
    "agents": CORE | PEERS,
    "training": CORE | PEERS | {"agents", "graph_builders"},
    "experiments": CORE | PEERS | {"graph_builders", "training"},
    "integrations": CORE | PEERS | {"agents", "cypher"},
    "browser": {"errors", "graph"},
    "views": CORE | {"graph", "localdb", "shaping", "training"},
    "cli": CORE
    | PEERS
    | {
        "agents",
        "browser",
        "conformance",
        "experiments",
        "graph_builders",
        "training",
        "integrations",
        "localdb",
        "cypher",
        "views",
    },
    "cypher": {"errors"},
}
HEAVY = {
    "shaping": {"neo4j", "py2neo", "torch"},
    "graph": {"torch", "verl", "vllm", "py2neo"},
    "states": {"neo4j", "torch"},
    "envs": {"neo4j", "torch"},
    "core": {"neo4j", "torch", "numpy", "pyarrow"},
}


def _modules() -> Iterator[tuple[str, Path]]:
    for path in sorted((ROOT / "proas").glob("*.py")):
        if path.name != "__init__.py":
            yield "core", path
    within = ("graph", "shaping", "states", "envs", "localdb", "conformance", "agents", "training", "experiments")
    for room in (*within, "browser", "integrations", "views"):
        for path in sorted((ROOT / "proas" / room).rglob("*.py")):
            yield room, path
    for room in ("cli", "graph_builders", "cypher"):
        for path in sorted((ROOT / room).rglob("*.py")):
            yield room, path


def _imports(path: Path) -> Iterator[str]:
    """Full names of what a file imports, local imports included."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: write imports in full"
            module = node.module or ""
            yield from (f"{module}.{alias.name}" for alias in node.names)


CASES = [pytest.param(room, path, id=str(path.relative_to(ROOT))) for room, path in _modules()]


def test_there_are_modules_to_check() -> None:
    assert {case.values[0] for case in CASES} >= set(ALLOWED) - {"training"}


@pytest.mark.parametrize(("room", "path"), CASES)
def test_imports_follow_the_arrows(room: str, path: Path) -> None:
    for name in _imports(path):
        top, _, rest = name.partition(".")
        assert top not in HEAVY.get(room, set()), f"{path}: {room} must not import {top}"
        if top == "proas" and rest:
            target = rest.partition(".")[0]
            if target == room or target == "__version__" or (room == "core" and target in CORE):
                continue
            assert target in ALLOWED[room], f"{path}: {room} must not import proas.{target}"


def test_states_take_only_the_goal() -> None:
    for room, path in _modules():
        if room == "states":
            from_envs = [name for name in _imports(path) if name.startswith("proas.envs")]
            goals = ("proas.envs.alfworld.goal.", "proas.envs.scienceworld.goal.", "proas.envs.webshop.goal.")
            assert all(name.startswith(goals) for name in from_envs), (path, from_envs)


@pytest.mark.parametrize(("room", "path"), CASES)
def test_modules_stay_small(room: str, path: Path) -> None:
    lines = len(path.read_text(encoding="utf-8").splitlines())
    assert lines <= 420, f"{path} of {room} has {lines} lines: split it"
