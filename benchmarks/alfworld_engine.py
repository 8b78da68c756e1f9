"""Speed of the ALFWorld engine on one core, and its ratio to the reference engine on the same walks, in one run.

    python benchmarks/alfworld_engine.py [--data PATH] [--games N] [--steps N] [--out FILE]

A step means: carry out a command, answer with the text, and list the commands that apply next, which the reference
always does. The walks are noisy-expert walks; both engines' answers are compared before anything is reported. With
``--data`` the games are real ones, else generated. Without the reference engine (extra ``envs``) only our own speed is
measured. Times are of this process (CPU), so that other work on the machine matters less.
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from machine import machine

from proas.envs.alfworld import KINDS, AlfWorldEngine, Game, TrialError, find_plan, generate, iter_trials, load_game
from proas.envs.alfworld.reference import ReferenceEngine, game_document, reference_missing

Walk = list[str]
Answer = tuple[str, bool, list[str]]


def real_games(path: str) -> Iterator[tuple[Game, dict[str, Any]]]:
    """Solvable games of a release, the six kinds in turn."""
    by_kind: dict[str, list[Any]] = {kind: [] for kind in KINDS}
    for trial in iter_trials(path):
        if trial.game_file is not None:
            by_kind[trial.goal.kind].append(trial)
    for trials in by_kind.values():
        random.Random(0).shuffle(trials)
    for trial in itertools.chain.from_iterable(zip(*by_kind.values(), strict=False)):
        try:
            yield load_game(trial), json.loads(trial.game_file.read_text())
        except TrialError:
            continue


def generated_games(reference: bool) -> Iterator[tuple[Game, dict[str, Any]]]:
    """Games of our own; with the reference's document where it is installed."""
    with tempfile.TemporaryDirectory() as folder:
        for made in generate(10_000, seed=3):
            yield made.game(), game_document(made.write(Path(folder))) if reference else {}


def noisy_walk(game: Game, steps: int, rng: random.Random) -> Walk:
    """Half of the commands from a shortest plan, the others any that apply; the walk goes on after a win."""
    engine, walk = AlfWorldEngine(game), []
    for _ in range(steps):
        plan = find_plan(game, start=engine.snapshot()) if rng.random() < 0.5 else None
        walk.append(plan[0] if plan else rng.choice(engine.admissible()))
        engine.step(walk[-1])
    return walk


def timed(engine: AlfWorldEngine | ReferenceEngine, walk: Walk) -> tuple[float, list[Answer]]:
    """Seconds of CPU for a walk from the start, and the answers."""
    engine.reset()
    answers: list[Answer] = []
    began = time.process_time()
    for command in walk:
        text, won = engine.step(command)
        answers.append((text, won, engine.admissible()))
    return time.process_time() - began, answers


def ours(game: Game, walk: Walk, repeats: int) -> tuple[float, list[Answer]]:
    """Seconds a walk, from many walks by fresh engines that start with nothing parsed."""
    total, answers = 0.0, []
    for _ in range(repeats):
        seconds, answers = timed(AlfWorldEngine(game), walk)
        total += seconds
    return total / repeats, answers


def parse_seconds(path: str) -> tuple[float, float]:
    """Seconds to load a game without and with the parsed form on disk."""
    trials = [trial for trial in iter_trials(path or None) if trial.game_file is not None][:60] if path else []
    if not trials:
        return 0.0, 0.0
    load_game(trials[0], cached=False)
    began = time.process_time()
    games = [load_game(trial, cached=False) for trial in trials[1:]]
    return (time.process_time() - began) / len(games), _cached_seconds(trials[1:])


def _cached_seconds(trials: list[Any]) -> float:
    from proas.envs.alfworld import load

    for trial in trials:
        load.forget_recent()
        load_game(trial)
    began = time.process_time()
    for trial in trials:
        load.forget_recent()
        load_game(trial)
    return (time.process_time() - began) / len(trials)


def main() -> int:
    """Measure and report; 1 where the engines disagree."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default="", help="ALFWorld release, split or archive; default: generated games")
    parser.add_argument("--games", type=int, default=18)
    parser.add_argument("--steps", type=int, default=25)
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    missing = reference_missing()
    reference = None if missing else ReferenceEngine()
    source = real_games(options.data) if options.data else generated_games(reference is not None)
    rng, rows, loads = random.Random(0), [], []
    for game, document in itertools.islice(source, options.games):
        walk = noisy_walk(game, options.steps, rng)
        fast, answers = ours(game, walk, options.repeats)
        row: dict[str, float] = {"ours_us": 1e6 * fast / len(walk)}
        if reference is not None:
            began = time.process_time()
            reference.load(document)
            loads.append(time.process_time() - began)
            slow, expected = timed(reference, walk)
            if answers != expected:
                print(f"{game.key}: the engines disagree", file=sys.stderr)
                return 1
            row |= {"reference_us": 1e6 * slow / len(walk), "ratio": slow / fast}
        rows.append(row)
        print(game.key, {k: round(v, 1) for k, v in row.items()}, flush=True)
    report = summary(rows, loads, options, missing)
    print(json.dumps(report, indent=2))
    if options.out:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    return 0


def summary(
    rows: list[dict[str, float]], loads: list[float], options: argparse.Namespace, missing: str
) -> dict[str, Any]:
    """The report."""
    mean = statistics.fmean(row["ours_us"] for row in rows)
    parsed, cached = parse_seconds(options.data)
    report: dict[str, Any] = {
        "what": "ALFWorld engine: a step with its text and the list of commands that apply next, on one core",
        "machine": {**machine(), "cores_used": 1},
        "games": {
            "source": "release" if options.data else "generated",
            "count": len(rows),
            "steps_each": options.steps,
        },
        "ours": {"us_per_step": round(mean, 2), "steps_per_second": round(1e6 / mean)},
    }
    if parsed:
        report["ours"] |= {"parse_ms": round(1e3 * parsed, 2), "cached_load_ms": round(1e3 * cached, 2)}
    if missing:
        report["reference"] = missing
        return report
    slow = statistics.fmean(row["reference_us"] for row in rows)
    ratios = sorted(row["ratio"] for row in rows)
    report["reference"] = {
        "us_per_step": round(slow),
        "steps_per_second": round(1e6 / slow, 1),
        "load_s": round(statistics.fmean(loads), 2),
    }
    report["ratio"] = {
        "of_means": round(slow / mean),
        "median": round(statistics.median(ratios)),
        "least": round(ratios[0]),
        "most": round(ratios[-1]),
        "at_least_1000": ratios[0] >= 1000,
    }
    report["walks_agree"] = True
    return report


if __name__ == "__main__":
    sys.exit(main())
