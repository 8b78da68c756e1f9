"""What ProAS adds to an iteration of verl at the paper's batch: 128 trajectories x 50 steps, 4,096 tokens each.

    python benchmarks/token_advantages.py [--out benchmarks/results/token_advantages.json]

Two things are measured, in turns and in one run:

- ``rewrite``: step weights onto 524,288 token advantages, as arrays; against the same as a loop over rows and steps,
  whose result is checked to be the same before anything is timed.
- ``iteration``: all that the trainer waits for between its estimator and its update: rows to rollouts, labels from a
  real graph of 100,000 transitions, shaping, and the rewriting; with evolution in the background, as in a run, and the
  whole as a share of a step of 60 seconds, which is a quick one for this batch.

The database is the one that ``NEO4J_URI`` names, else the local server; the graph is made and dropped.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import synthetic
from machine import machine

from proas.graph.connect import Connection
from proas.graph.migrations import migrate
from proas.graph.store import ReferenceGraph
from proas.integrations.credit import CreditRun, CreditSettings
from proas.integrations.token_advantages import TokenSpans, scale_steps, step_means
from proas.integrations.verl.rows import carried
from proas.integrations.verl.shaping_step import TokenRows, shape_tokens
from proas.rollouts import RolloutBatch

TASKS, GROUP, STEPS, TOKENS = 16, 8, 50, 4096
TRANSITIONS = 100_000
SPAN = 80
"""Tokens of a step's slot: most are sampled, the rest is what the environment said."""
ROUNDS = 15
STEP_SECONDS = 60.0


def main() -> None:
    """Run the benchmark and write its result."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results" / "token_advantages.json")
    options = parser.parse_args()
    result: dict[str, Any] = {
        "benchmark": "token_advantages",
        "rollouts": TASKS * GROUP,
        "steps": STEPS,
        "tokens": TASKS * GROUP * TOKENS,
        "machine": machine(),
        "rewrite": _rewrite(),
        "iteration": _iteration(),
    }
    print(json.dumps(result, indent=2))
    options.out.parent.mkdir(exist_ok=True)
    options.out.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


def _spans(steps: int) -> list[tuple[int, int]]:
    return [(t * SPAN, t * SPAN + SPAN - 16) for t in range(steps)]


def _rewrite() -> dict[str, float]:
    rng = np.random.default_rng(0)
    rows = TASKS * GROUP
    offsets = [row * TOKENS for row in range(rows + 1)]
    owner = np.repeat(np.arange(rows), STEPS)
    spans = _spans(STEPS) * rows
    mask = np.ones(rows * TOKENS)
    advantages = np.repeat(rng.normal(size=rows), TOKENS).astype(np.float32)
    weights = rng.random(rows * STEPS)

    def arrays() -> np.ndarray[Any, Any]:
        made = TokenSpans.of(offsets, owner, spans)
        step_means(advantages, mask, made)
        return scale_steps(advantages, made, weights)

    def loop() -> np.ndarray[Any, Any]:
        changed = advantages.copy()
        means = np.empty(rows * STEPS)
        for step, (row, (a, b)) in enumerate(zip(owner.tolist(), spans, strict=True)):
            own = slice(offsets[row] + a, offsets[row] + b)
            means[step] = changed[own][mask[own] > 0].mean()
            changed[own] *= np.float32(weights[step])
        return changed

    np.testing.assert_allclose(arrays(), loop(), rtol=1e-6)
    times = _in_turns(arrays, loop)
    return {
        "arrays_ms": round(times[0], 2),
        "loop_ms": round(times[1], 2),
        "loop_over_arrays": round(times[1] / times[0], 1),
    }


def _iteration() -> dict[str, float]:
    connection = Connection.resolve()
    migrate(connection)
    name = f"benchmark-tokens-{uuid.uuid4().hex[:8]}"
    graph = ReferenceGraph.create(connection, name)
    os.environ["NEO4J_PASSWORD"] = connection.password.get_secret_value()
    where = {"uri": connection.uri, "username": connection.username, "database": connection.database}
    try:
        graph.add(synthetic.task_graphs(TRANSITIONS), batch_rows=5000)
        run = CreditRun(CreditSettings.of({"graph": name, "run": f"{name}.run", **where}))
        run.open(iterations_done=0)
        metrics = []
        for iteration in range(1, ROUNDS + 1):
            rows = _rows(iteration)
            metrics.append(shape_tokens(rows, run, iteration).metrics)
            time.sleep(0.5)  # the update, beside which the graph learns
        run.close()
    finally:
        graph.drop(force=True)
    timed = metrics[3:]  # the first ones warm the server up
    parts = {part: statistics.median(m[f"proas/time/{part}"] for m in timed) for part in ("gather", "label", "shape")}
    total = statistics.median(m["proas/time/total"] for m in timed)
    graph_seconds = parts["label"] + statistics.median(m["proas/time/wait"] for m in timed)
    return {
        **{f"{part}_ms": round(1000 * seconds, 1) for part, seconds in parts.items()},
        "evolve_beside_ms": round(1000 * statistics.median(m["proas/time/evolve"] for m in timed), 1),
        "total_ms": round(1000 * total, 1),
        "graph_share_of_60_s": round(graph_seconds / STEP_SECONDS, 5),
        "total_share_of_60_s": round(total / STEP_SECONDS, 5),
    }


def _rows(seed: int) -> TokenRows:
    """An iteration's rows: half the groups' rollouts win."""
    of = TRANSITIONS // synthetic.EDGES
    lost = synthetic.rollouts(TASKS, group_size=GROUP // 2, steps=STEPS, seed=seed, of=of, prefix=f"l{seed}-")
    won = synthetic.rollouts(TASKS, group_size=GROUP // 2, steps=STEPS, seed=seed, of=of, win=True, prefix=f"w{seed}-")
    batch = RolloutBatch((*lost, *won))
    fields, advantages = [], []
    for rollout in batch:
        count = len(rollout.steps)
        fields.append(carried(rollout, first=0, count=count, spans=_spans(count)))
        advantages.append(np.full(TOKENS, 1.0 if rollout.success else -1.0, dtype=np.float32))
    return TokenRows(
        advantages=np.concatenate(advantages),
        mask=np.ones(len(batch) * TOKENS),
        offsets=[row * TOKENS for row in range(len(batch) + 1)],
        fields=fields,
        padding=[False] * len(batch),
    )


def _in_turns(*ways: Callable[[], object]) -> list[float]:
    """Median milliseconds of each way; one after the other, so that whatever else happens falls on all alike."""
    times: list[list[float]] = [[] for _ in ways]
    for _ in range(ROUNDS):
        for way, own in zip(ways, times, strict=True):
            began = time.perf_counter()
            way()
            own.append(1000 * (time.perf_counter() - began))
    return [statistics.median(own) for own in times]


if __name__ == "__main__":
    main()
