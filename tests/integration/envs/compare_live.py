"""Compares many games with the installed reference engine; prints counts and every difference.

    python tests/integration/envs/compare_live.py [--data PATH] [--games N] [--steps N] [--seed N] [--sliced]

Without ``--data`` games are generated, in both wordings. ``--sliced`` plays the release's sliced trials, which it
ships without game files, from their initial states.
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from walks import STYLES, Comparison, compare

from proas.envs.alfworld import KINDS, Game, TrialError, iter_trials, load_game
from proas.envs.alfworld.generator import generate
from proas.envs.alfworld.load import game_from_document
from proas.envs.alfworld.reference import ReferenceEngine, game_document


def real_games(path: str, rng: random.Random) -> Iterator[tuple[Game, dict[str, Any]]]:
    """Games of a release, the kinds in turn."""
    by_kind: dict[str, list[Any]] = {kind: [] for kind in KINDS}
    for trial in iter_trials(path):
        if trial.game_file is not None:
            by_kind[trial.goal.kind].append(trial)
    for trials in by_kind.values():
        rng.shuffle(trials)
    for trial in itertools.chain.from_iterable(zip(*by_kind.values(), strict=False)):
        try:
            game = load_game(trial)
        except TrialError:
            continue
        yield game, json.loads(trial.game_file.read_text())


def sliced_games(path: str, rng: random.Random) -> Iterator[tuple[Game, dict[str, Any]]]:
    """Sliced trials of a release in both wordings."""
    trials = [t for t in iter_trials(path) if "Sliced" in t.task and "movable" not in t.task]
    rng.shuffle(trials)
    for trial, wording in itertools.product(trials, ("move", "put")):
        document = game_document(trial, wording)
        yield game_from_document(trial.key, document), document


def generated_games(seed: int) -> Iterator[tuple[Game, dict[str, Any]]]:
    """Games of our own in both wordings."""
    with tempfile.TemporaryDirectory() as folder:
        for index, made in enumerate(generate(100_000, seed=seed, sliced_share=0.3)):
            trial = made.write(Path(folder))
            document = game_document(trial, "put" if index // 6 % 2 else "move")
            yield game_from_document(trial.key, document), document


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default="")
    parser.add_argument("--games", type=int, default=12)
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--sliced", action="store_true")
    options = parser.parse_args()
    rng = random.Random(options.seed)
    games = generated_games(options.seed)
    if options.data:
        games = (sliced_games if options.sliced else real_games)(options.data, rng)
    reference, comparison = ReferenceEngine(), Comparison()
    for number, (game, document) in enumerate(itertools.islice(games, options.games)):
        introduction = reference.load(document)
        for style in STYLES:
            before = len(comparison.differences)
            compare(reference, introduction, game, style, f"{options.seed} {number} {style}", options.steps, comparison)
            for difference in comparison.differences[before:]:
                print("DIFFERENT", difference, flush=True)
            introduction = reference.reset()
        comparison.counts[f"kind {game.goal.kind}{' sliced' if game.goal.sliced else ''} {game.rules.wording}"] += 1
        print(number, game.key, dict(sorted(comparison.counts.items())), flush=True)
    print("differences:", len(comparison.differences))
    return 1 if comparison.differences else 0


if __name__ == "__main__":
    sys.exit(main())
