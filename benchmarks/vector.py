"""Speed of many ALFWorld episodes side by side: in process, isolated on one and two workers, one process an episode.

    python benchmarks/vector.py [--data PATH] [--episodes N] [--steps N] [--repeats N]
                                [--alone N] [--out FILE]

Every episode takes the same number of steps, with actions chosen at random (by seed) among those that apply; one that
is won before begins again, so that all do the same work. ``start`` is the time until the first request can be made:
processes, imports, opening the data. ``reset`` starts all episodes, with their games read from the cache after the
first time. ``steps`` are all steps of all episodes, a batch a step. The naive way starts a process for each episode and
sends it a message a step; it is measured once and on fewer episodes (``--alone``), as each such process takes a
second and 70 MB. Times are medians of the repeats, in seconds of the clock; what matters are the ratios within a run.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from machine import machine

from proas.envs import EnvSpec, open_world
from proas.envs.alfworld.generator import generate
from proas.envs.vector import InProcessVector, IsolatedVector, Turn

Vector = InProcessVector | IsolatedVector


def measured(make: Callable[[], Vector], tasks: list[str], steps: int) -> dict[str, float]:
    """Seconds of one run."""
    begun = time.perf_counter()
    with make() as vector:
        ready = time.perf_counter()
        turns: dict[int, Turn] = dict(vector.reset(tasks))
        reset = time.perf_counter()
        rng = random.Random(0)
        afresh = 0
        for _ in range(steps):
            over = {slot: tasks[slot] for slot, turn in turns.items() if turn.done}
            if over:
                turns |= vector.reset(over)
                afresh += len(over)
            actions = {slot: rng.choice(turns[slot].info.admissible) for slot in range(len(tasks))}
            turns |= vector.step(actions)
        stepped = time.perf_counter()
        assert not vector.faults, vector.faults
    ended = time.perf_counter()
    return {
        "start": ready - begun,
        "reset": reset - ready,
        "steps": stepped - reset,
        "close": ended - stepped,
        "all": ended - begun,
        "begun_afresh": afresh,
    }


def playable(data: Path, count: int) -> list[str]:
    """Keys of as many trials that can be played; they recur where there are fewer. Fills the cache of games."""
    world = open_world(EnvSpec("alfworld", data))
    vector = InProcessVector(world, 1)
    found: list[str] = []
    for task in world.tasks:
        if len(found) == count:
            break
        if vector.reset([task])[0].fault is None:
            found.append(task)
    return [found[number % len(found)] for number in range(count)]


def main() -> None:
    """Measure and print; write a file where asked."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, default=None, help="ALFWorld trials; new ones are made if not given")
    parser.add_argument("--episodes", type=int, default=128)
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--alone", type=int, default=16, help="episodes that get a process each")
    parser.add_argument("--out", type=Path, default=None)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        data = given.data
        if data is None:
            data = Path(folder) / "games"
            for trial in generate(given.episodes, seed=0):
                trial.write(data)
        tasks = playable(data, given.episodes)
        result = report(data, tasks, given.steps, given.repeats, given.alone)
    result["data"] = "made for the run" if given.data is None else "of the release"
    print(json.dumps(result, indent=2))
    if given.out is not None:
        given.out.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


def report(data: Path, tasks: list[str], steps: int, repeats: int, alone: int) -> dict[str, Any]:
    """All ways in turn, so that other work on the machine falls on all alike."""
    spec, size = EnvSpec("alfworld", data), len(tasks)
    ways: dict[str, Callable[[], Vector]] = {
        "in_process": lambda: InProcessVector(open_world(spec), size, step_limit=steps + 1),
        "isolated_1": lambda: IsolatedVector(spec, size, workers=1, step_limit=steps + 1),
        "isolated_2": lambda: IsolatedVector(spec, size, workers=2, step_limit=steps + 1),
    }
    runs: dict[str, list[dict[str, float]]] = {way: [] for way in ways}
    described = machine()
    for _ in range(repeats):
        for way, make in ways.items():
            runs[way].append(measured(make, tasks, steps))
    seconds = {
        way: {part: round(statistics.median(run[part] for run in made), 3) for part in made[0]}
        for way, made in runs.items()
    }
    naive = measured(lambda: IsolatedVector(spec, alone, workers=alone, step_limit=steps + 1), tasks[:alone], steps)
    base = seconds["in_process"]
    per_episode = seconds["isolated_2"]["all"] / size
    return {
        "benchmark": "vector",
        "machine": described,
        "episodes": size,
        "steps_each": steps,
        "repeats": repeats,
        "seconds": seconds,
        "steps_per_s": {way: round(size * steps / part["steps"]) for way, part in seconds.items()},
        "steps_beside_in_process": {way: round(part["steps"] / base["steps"], 2) for way, part in seconds.items()},
        "one_process_an_episode": {
            "episodes": alone,
            "seconds": {part: round(value, 3) for part, value in naive.items()},
            "steps_per_s": round(alone * steps / naive["steps"]),
            "episode_beside_isolated_2": round(naive["all"] / alone / per_episode, 1),
        },
    }


if __name__ == "__main__":
    main()
