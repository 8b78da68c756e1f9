"""ScienceWorld: start-up, steps, memory, planned solutions that win, and how far text and hidden state agree.

    python benchmarks/scienceworld_env.py [--variations N] [--split train|dev|test|all] [--out FILE]

For every task and its first N variations the planned solution is played once, and once more by a policy that errs; both
sources of states read along. Times are wall times of this run: compare them with one another, not with other machines.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections import Counter, defaultdict
from contextlib import closing
from pathlib import Path
from typing import Any

import psutil
from machine import machine

from proas.envs.scienceworld import ScienceWorldEnv, ScienceWorldWorld
from proas.errors import EnvironmentFailure
from proas.graph_builders.base import Built
from proas.graph_builders.scienceworld import build_task
from proas.states.scienceworld import SimulatorFollower, TextObserver


def costs(world: ScienceWorldWorld) -> dict[str, float]:
    """Seconds to the first observation, and milliseconds of a step and of what can be asked after it."""
    begun = time.perf_counter()
    env = world.environment(step_limit=400)
    env.reset("inclined-plane-determine-angle/0")
    found: dict[str, float] = {"start_up_s": time.perf_counter() - begun}
    plan = world.plan("inclined-plane-determine-angle/0")
    spent: defaultdict[str, float] = defaultdict(float)
    for round_ in range(3):  # the first rounds warm Java up
        spent.clear()
        mark = time.perf_counter()
        env.reset("inclined-plane-determine-angle/0")
        spent["reset"] = time.perf_counter() - mark
        steps = 0
        for action in plan:
            mark = time.perf_counter()
            result = env.step(action)
            spent["step"] += time.perf_counter() - mark
            mark = time.perf_counter()
            _ = result.info.facts
            spent["facts"] += time.perf_counter() - mark
            if round_ == 2:
                mark = time.perf_counter()
                _ = result.info.admissible
                spent["admissible"] += time.perf_counter() - mark
            steps += 1
            if result.done:
                break
    found["reset_ms"] = 1000 * spent["reset"]
    found |= {f"{name}_ms": 1000 * spent[name] / steps for name in ("step", "facts", "admissible")}
    return {name: round(value, 2) for name, value in found.items()}


def follow(env: ScienceWorldEnv, world: ScienceWorldWorld, key: str, policy: str) -> tuple[int, int, bool]:
    """Steps of one episode, those on which the two sources differ, and whether it was won."""
    player = world.policy(policy, random.Random(key))
    observation, _info = env.reset(key)
    follower, reader = SimulatorFollower(), TextObserver(key, env.goal_text)
    apart = int(follower.begin(env, observation) != reader.begin(observation))
    steps = 0
    while True:
        try:
            action = player.act(env)
        except EnvironmentFailure:
            return steps, apart, env.info.won
        result = env.step(action)
        info = result.info
        ours = follower.observe(env, action, result.observation, valid=info.valid, won=info.won)
        apart += ours != reader.observe(action, result.observation, won=info.won)
        steps += 1
        if result.done:
            return steps, apart, info.won


def agreement(world: ScienceWorldWorld, policy: str) -> dict[str, Any]:
    """How far the two sources agree over the world's tasks."""
    env, total = world.environment(step_limit=400), Counter[str]()
    apart_by_task: dict[str, int] = {}
    for key in world.tasks:
        steps, apart, won = follow(env, world, key, policy)
        total.update(episodes=1, steps=steps, apart=apart, won=int(won), whole=int(not apart))
        if apart:
            apart_by_task[key] = apart
    return {
        "episodes": total["episodes"],
        "won": total["won"],
        "steps": total["steps"],
        "steps_that_agree": round(1 - total["apart"] / total["steps"], 4),
        "episodes_that_agree": round(total["whole"] / total["episodes"], 4),
        "apart": apart_by_task,
    }


def plans(world: ScienceWorldWorld) -> dict[str, Any]:
    """Planned solutions that win, and what a graph keeps of them."""
    begun, built, rejected, tally = time.perf_counter(), 0, Counter[str](), Counter[str]()
    within = 0
    for key in world.tasks:
        made = build_task(world, key)
        if isinstance(made, Built):
            built += 1
            tally.update(made.tallies)
            tally["transitions"] += len(made.graph.transitions)
            within += made.tallies["plan_steps"] <= 100
        else:
            rejected[made.problem] += 1
    return {
        "tasks": len(world.tasks),
        "won": built,
        "rejected": dict(rejected),
        "within_100_steps": within,
        **tally,
        "seconds": round(time.perf_counter() - begun, 1),
    }


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--variations", type=int, default=2)
    parser.add_argument("--split", choices=("train", "dev", "test", "all"), default="train")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "scienceworld_env.json")
    asked = parser.parse_args()
    with closing(ScienceWorldWorld(split=asked.split, variations=asked.variations, listing=True)) as world:
        report: dict[str, Any] = {
            "machine": machine(),
            "command": f"python benchmarks/scienceworld_env.py --variations {asked.variations} --split {asked.split}",
            "costs": costs(world),
        }
        report["plans"] = plans(world)
        report["agreement"] = {policy: agreement(world, policy) for policy in ("expert", "noisy")}
        assert world.pid is not None
        report["memory_mib"] = round(psutil.Process(world.pid).memory_info().rss / 2**20)
    asked.out.parent.mkdir(parents=True, exist_ok=True)
    asked.out.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
