"""Parity with the reference engine itself, where it is installed: on games of our own and on real ones."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from walks import STYLES, Comparison, compare

from proas.envs.alfworld import KINDS, GoalKind, generate_trial, iter_trials, load_game
from proas.envs.alfworld.data import Wording
from proas.envs.alfworld.load import game_from_document
from proas.envs.alfworld.reference import ReferenceEngine, game_document, reference_missing, write_game_file

pytestmark = [
    pytest.mark.reference,
    pytest.mark.skipif(bool(reference_missing()), reason=f"reference engine {reference_missing()} (extra envs)"),
    pytest.mark.filterwarnings("default"),  # the reference's own dependencies are not ours to mend
]


@pytest.fixture(scope="module")
def reference() -> ReferenceEngine:
    return ReferenceEngine()


@pytest.mark.parametrize("wording", ["move", "put"])
@pytest.mark.parametrize(("kind", "sliced"), [*((kind, False) for kind in KINDS), ("pick", True), ("heat", True)])
def test_generated_games(
    reference: ReferenceEngine, tmp_path: Path, kind: GoalKind, sliced: bool, wording: Wording
) -> None:
    made = generate_trial(kind, seed=77, sliced=sliced)
    document = game_document(made.write(tmp_path), wording)
    game = game_from_document(made.key, document)
    assert game == made.game(wording)
    comparison = Comparison()
    introduction = reference.load(document)
    for style in STYLES[:2]:
        compare(reference, introduction, game, style, f"{kind} {style}", 12, comparison)
        introduction = reference.reset()
    assert comparison.differences == []
    assert comparison.counts["games won"] == 1


def test_a_written_game_file_is_read_by_both(reference: ReferenceEngine, tmp_path: Path) -> None:
    trial = generate_trial("look", seed=78).write(tmp_path)
    introduction = reference.load(write_game_file(trial))
    assert next(iter(iter_trials(tmp_path))).game_file is not None
    comparison = Comparison()
    compare(reference, introduction, load_game(trial.path), "expert", "written", 8, comparison)
    assert comparison.differences == []


@pytest.mark.slow
@pytest.mark.parametrize("archive", ["train-1540.tar.xz", "valid_seen-140.tar.xz"])
@pytest.mark.parametrize("kind", KINDS)
def test_real_games(reference: ReferenceEngine, data_dir: Path, archive: str, kind: GoalKind) -> None:
    path = data_dir / "alfworld" / archive
    if not path.is_file():
        pytest.skip(f"no {path}")
    trial = [t for t in iter_trials(path) if t.game_file is not None and t.goal.kind == kind][2]
    assert trial.game_file is not None
    game, introduction = load_game(trial), reference.load(json.loads(trial.game_file.read_text()))
    comparison = Comparison()
    for style in STYLES:
        compare(reference, introduction, game, style, f"{kind} {style}", 12, comparison)
        introduction = reference.reset()
    assert comparison.differences == []
