"""Parity with the reference engine on walks that it recorded (``record_walks.py``), without its install."""

from __future__ import annotations

import json
import lzma
from pathlib import Path
from typing import Any

import pytest

from proas.envs.alfworld import AlfWorldEngine, AlfWorldGoal, GeneratedTrial

RECORDED = Path(__file__).parents[2] / "data" / "alfworld" / "reference_walks.json.xz"


def recorded() -> list[dict[str, Any]]:
    games: list[dict[str, Any]] = json.loads(lzma.decompress(RECORDED.read_bytes()))["games"]
    return games


@pytest.mark.parametrize("game", recorded(), ids=lambda g: f"{g['key'].split('-')[0]}-{g['wording']}")
def test_text_commands_and_success_are_the_reference_s(game: dict[str, Any]) -> None:
    goal = AlfWorldGoal.from_task_key(game["key"])
    made = GeneratedTrial(game["key"], goal, game["initial_state"], game["traj_data"])
    engine = AlfWorldEngine(made.game(game["wording"]))
    for walk in game["walks"]:
        first, *steps = walk["steps"]
        answers = [(engine.reset(), engine.won), (first[1], first[2])]
        assert answers[0] == answers[1]
        assert engine.admissible() == [game["commands"][c] for c in first[3]]
        for number, (command, text, won, admissible) in enumerate(steps):
            where = (walk["style"], number, command)
            assert engine.step(command) == (text, won), where
            assert engine.admissible() == [game["commands"][c] for c in admissible], where


def test_the_walks_cover_what_there_is() -> None:
    games = recorded()
    kinds = {(AlfWorldGoal.from_task_key(g["key"]).kind, g["wording"]) for g in games}
    assert len(kinds) == 12
    assert any("Sliced" in g["key"] for g in games)
    steps = [step for g in games for walk in g["walks"] for step in walk["steps"]]
    verbs = {command.split(" ")[0] for command, text, _won, _a in steps if text != "Nothing happens." and command}
    assert verbs >= {"go", "open", "close", "take", "move", "put", "use", "heat", "cool", "clean", "slice"}
    assert verbs >= {"examine", "look", "inventory", "help"}
    assert sum(text == "Nothing happens." for _c, text, _w, _a in steps) > 50
    assert sum(won for _c, _t, won, _a in steps) >= len(games)
    assert any("Next to it, you see a " in text for _c, text, _w, _a in steps)
    assert RECORDED.stat().st_size < 300_000
