"""Shaping an iteration of 128 rollouts x 50 steps: arrays against a plain loop over steps, in one run.

    python benchmarks/shaping.py [--out benchmarks/results/shaping.json]

The loop is Eq. 7 read out step by step, with the drift counted anew at each step as the formula has it, and again with
the drift carried backwards, which is the best that a loop can do. Both give the arrays' numbers; that is checked before
anything is timed. Records are timed too: there, reading and copying 6,400 records outweighs the arithmetic.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from machine import machine

from proas.rollouts import Label, Rollout, RolloutBatch, State, Step
from proas.shaping import eq7, gigpo, grpo, offsets_of, preset, shape

ROLLOUTS, STEPS, GROUP, PLACES = 128, 50, 8, 40
EPS = 1e-6


class Iteration:
    """One iteration's arrays and records, drawn from a seed."""

    def __init__(self, seed: int = 0) -> None:
        rng = np.random.default_rng(seed)
        self.offsets = offsets_of([STEPS] * ROLLOUTS)
        self.groups = np.arange(ROLLOUTS) // GROUP
        self.success = rng.random(ROLLOUTS) < 0.4
        self.returns = self.success.astype(np.float64)
        self.walks = rng.integers(0, PLACES, (ROLLOUTS, STEPS + 1))
        self.anchors = self.walks[:, :-1].reshape(-1)
        self.rewards = np.zeros(ROLLOUTS * STEPS)
        self.rewards[self.offsets[1:] - 1] = self.returns
        self.reasonable = rng.random(ROLLOUTS * STEPS) < 0.6
        self.progress = self.reasonable & (rng.random(ROLLOUTS * STEPS) < 0.5)

    def records(self) -> RolloutBatch:
        """The same iteration as labelled rollouts."""
        return RolloutBatch(tuple(self._record(i) for i in range(ROLLOUTS)))

    def _record(self, i: int) -> Rollout:
        task = f"task {self.groups[i]}"
        states = [State.of("line", task, [f"at {place}"]) for place in self.walks[i].tolist()]
        first = i * STEPS
        steps = []
        for t in range(STEPS):
            left = int((~self.progress[first + t : first + STEPS]).sum())
            label = Label(
                reasonable=bool(self.reasonable[first + t]), progress=bool(self.progress[first + t]), drift=left
            )
            steps.append(Step(action="walk", canonical="walk", state=states[t + 1], valid=True, label=label))
        won = bool(self.success[i])
        return Rollout(
            id=f"r{i}",
            env="line",
            task=task,
            start=states[0],
            steps=tuple(steps),
            success=won,
            reward=float(won),
            covered=True,
        )


def loop_eq7(base: list[float], reasonable: list[bool], progress: list[bool], *, carry: bool) -> list[float]:
    """Eq. 7 on one trajectory, step by step, clusters of equal advantage included."""
    count = len(base)
    if carry:
        drift, ahead = [0] * count, 0
        for t in range(count - 1, -1, -1):
            ahead += not progress[t]
            drift[t] = ahead
    else:
        drift = [sum(not progress[u] for u in range(t, count)) for t in range(count)]
    clusters: dict[float, list[int]] = {}
    for t in range(count):
        if base[t] < 0 and not progress[t]:
            clusters.setdefault(round(base[t], 9), []).append(drift[t])
    shaped = []
    for t in range(count):
        if base[t] > 0:
            shaped.append(base[t] if reasonable[t] else 0.0)
        elif base[t] < 0 and not progress[t]:
            members = clusters[round(base[t], 9)]
            shaped.append(drift[t] / (sum(members) / len(members) + EPS) * base[t])
        else:
            shaped.append(base[t])
    return shaped


def loop_batch(data: Iteration, base: np.ndarray, *, carry: bool) -> list[float]:
    """The loop over every trajectory of the iteration."""
    values, reasonable, progress = base.tolist(), data.reasonable.tolist(), data.progress.tolist()
    shaped: list[float] = []
    for i in range(ROLLOUTS):
        own = slice(i * STEPS, (i + 1) * STEPS)
        shaped += loop_eq7(values[own], reasonable[own], progress[own], carry=carry)
    return shaped


def best_ms(work: Callable[[], object], repeats: int) -> float:
    """Fewest milliseconds of a call, after a warm-up: all else is the machine's other work."""
    work()
    spent = []
    for _ in range(repeats):
        begin = time.perf_counter()
        work()
        spent.append((time.perf_counter() - begin) * 1e3)
    return min(spent)


def measure(repeats: int) -> dict[str, object]:
    """All figures of one run."""
    data, result = Iteration(), {}
    trajectory = grpo(data.returns, data.groups)[np.repeat(np.arange(ROLLOUTS), STEPS)]
    stepwise = gigpo(data.rewards, data.offsets, data.groups, data.anchors).advantages
    for name, base in (("grpo", trajectory), ("gigpo", stepwise)):
        arrays = eq7(base, data.reasonable, data.progress, data.offsets)
        for carry in (False, True):
            np.testing.assert_allclose(loop_batch(data, base, carry=carry), arrays, rtol=1e-6)
        fast = best_ms(lambda base=base: eq7(base, data.reasonable, data.progress, data.offsets), repeats * 5)
        slow = best_ms(lambda base=base: loop_batch(data, base, carry=False), repeats)
        best = best_ms(lambda base=base: loop_batch(data, base, carry=True), repeats)
        result[f"eq7_on_{name}"] = {
            "arrays_ms": round(fast, 3),
            "loop_ms": round(slow, 3),
            "loop_with_carried_drift_ms": round(best, 3),
            "loop_over_arrays": round(slow / fast, 1),
            "loop_with_carried_drift_over_arrays": round(best / fast, 1),
        }
    estimators = {
        "grpo_ms": best_ms(lambda: grpo(data.returns, data.groups), repeats * 5),
        "gigpo_ms": best_ms(lambda: gigpo(data.rewards, data.offsets, data.groups, data.anchors), repeats * 5),
    }
    result["estimators"] = {name: round(value, 3) for name, value in estimators.items()}
    batch = data.records()
    copying = best_ms(
        lambda: [step.model_copy(update={"advantage": 1.0}) for rollout in batch for step in rollout.steps], repeats
    )
    records = {"copying_the_steps_ms": round(copying, 1)}
    for name in ("paper", "membership"):
        for algorithm in ("grpo", "dapo", "gigpo"):
            config = preset(name).updated({"algorithm": algorithm})
            records[f"{name}_{algorithm}_ms"] = round(best_ms(lambda config=config: shape(batch, config), repeats), 1)
    result["shape_on_records"] = records
    return result


def main() -> None:
    """Measure, print and store."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "shaping.json")
    parser.add_argument("--repeats", type=int, default=20)
    options = parser.parse_args()
    report = {
        "benchmark": "shaping",
        "rollouts": ROLLOUTS,
        "steps": STEPS,
        "machine": machine(),
        "numpy": np.__version__,
        **measure(options.repeats),
    }
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
