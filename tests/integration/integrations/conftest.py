"""The corridor world of the store's tests, and rollouts in it as a trainer brings them."""

from __future__ import annotations

import importlib.util
import random
from pathlib import Path

import pytest

_SPEC = importlib.util.spec_from_file_location("store_corridor", Path(__file__).parents[1] / "graph" / "conftest.py")
assert _SPEC is not None
assert _SPEC.loader is not None
_STORE = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(_STORE)


@pytest.fixture(scope="session")
def corridor():
    """Places in a row."""
    return _STORE.Corridor()


@pytest.fixture
def seeded(graph, corridor):
    """A graph that knows two tasks: the way in strides of one, and of two."""
    graph.add([corridor.graph("one"), corridor.graph("two", 2)])
    return graph


def walks(corridor, rng, *, tasks=("one", "two", "unknown"), group=4, prefix=""):
    """Groups of rollouts with detours and refused steps; about half of them reach the end."""
    made = []
    for task in tasks:
        for i in range(group):
            places, invalid = [0], []
            end = rng.random() < 0.5
            while places[-1] < corridor.length - 1 and (end or len(places) < 12):
                step = rng.choice((1, 1, 2, 2, -1, 0))
                if step == 0:
                    invalid.append(len(places) - 1)
                places.append(min(corridor.length - 1, max(0, places[-1] + step)))
            won = places[-1] == corridor.length - 1
            walk = corridor.rollout(f"{prefix}{task}-{i}", task, places, success=won, invalid=invalid)
            steps = tuple(
                s.model_copy(update={"reward": -0.1 * (s.valid is False) + 10.0 * (won and t == len(walk.steps) - 1)})
                for t, s in enumerate(walk.steps)
            )
            total = sum(s.reward for s in steps)
            made.append(walk.model_copy(update={"group": f"group-{task}", "steps": steps, "reward": total}))
    return made


@pytest.fixture
def rollouts(corridor):
    """Some rollouts, reproducibly."""
    return walks(corridor, random.Random(5))


@pytest.fixture
def more_rollouts(corridor):
    """Makes further iterations' rollouts."""
    return lambda number: walks(corridor, random.Random(100 + number), prefix=f"it{number}-")
