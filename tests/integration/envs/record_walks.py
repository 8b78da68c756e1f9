"""Records walks with the reference engine, so that parity can be checked without it.

    python tests/integration/envs/record_walks.py

Needs textworld and alfworld (extra ``envs``). Games are our own, from the generator; of the reference only what it
said is kept. Writes ``tests/data/alfworld/reference_walks.json.xz``.
"""

from __future__ import annotations

import json
import lzma
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from walks import STYLES, Comparison, compare

from proas.envs.alfworld import KINDS, GeneratedTrial, generate_trial
from proas.envs.alfworld.data import Wording
from proas.envs.alfworld.load import game_from_document
from proas.envs.alfworld.reference import ReferenceEngine, game_document

TARGET = Path(__file__).resolve().parents[2] / "data" / "alfworld" / "reference_walks.json.xz"
STEPS = 30
SEED = 2026


def chosen() -> list[tuple[GeneratedTrial, Wording]]:
    """Every kind in both wordings, and every kind that can be sliced in one of them."""
    games: list[tuple[GeneratedTrial, Wording]] = []
    for number, kind in enumerate(KINDS):
        games.append((generate_trial(kind, seed=SEED, index=2 * number), "move"))
        games.append((generate_trial(kind, seed=SEED, index=2 * number + 1), "put"))
        if kind != "look":
            sliced = generate_trial(kind, seed=SEED, index=100 + number, sliced=True)
            games.append((sliced, "put" if number % 2 else "move"))
    return games


def record(
    reference: ReferenceEngine, made: GeneratedTrial, wording: Wording, comparison: Comparison
) -> dict[str, Any]:
    """All styles of walk through one game."""
    with tempfile.TemporaryDirectory() as folder:
        document = game_document(made.write(Path(folder)), wording)
    game = game_from_document(made.key, document)
    introduction = reference.load(document)
    commands: dict[str, int] = {}
    walks = []
    for style in STYLES:
        said = compare(reference, introduction, game, style, f"{made.key} {style}", STEPS, comparison)
        steps = [
            [s["command"], s["text"], s["won"], [commands.setdefault(c, len(commands)) for c in s["admissible"]]]
            for s in said
        ]
        walks.append({"style": style, "steps": steps})
        introduction = reference.reset()
    return {
        "key": made.key,
        "wording": wording,
        "initial_state": made.initial_state,
        "traj_data": made.traj_data,
        "commands": list(commands),
        "walks": walks,
    }


def main() -> int:
    reference, comparison = ReferenceEngine(), Comparison()
    games = []
    for made, wording in chosen():
        games.append(record(reference, made, wording, comparison))
        print(made.key, wording, dict(comparison.counts), len(comparison.differences), flush=True)
    recorded = {"with": {name: version(name) for name in ("textworld", "alfworld")}, "games": games}
    TARGET.parent.mkdir(parents=True, exist_ok=True)
    TARGET.write_bytes(lzma.compress(json.dumps(recorded, separators=(",", ":")).encode(), preset=9))
    print(f"{TARGET}: {TARGET.stat().st_size:,} bytes, differences: {len(comparison.differences)}")
    return 1 if comparison.differences else 0


if __name__ == "__main__":
    sys.exit(main())
