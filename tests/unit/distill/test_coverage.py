"""The coverage report adds up."""

from __future__ import annotations

import json

import pytest

from proas.graph_builders.distill.coverage import Coverage, Stopped, kind_of
from proas.graph_builders.distill.journal import Attempt


def _attempt(number: int, cause: str, *, tokens: int = 10, fresh: bool = True) -> Attempt:
    return Attempt("t", number, cause == "won", cause, 4, tokens, 2, 1, False, 3, 1, 0, 0, fresh)


@pytest.mark.parametrize(
    ("env", "task", "kind"),
    [
        ("alfworld", "pick_and_place_simple-Mug-None-Desk-308/trial_T1", "pick_and_place_simple"),
        ("webshop", "B09KP78G37:color=red,size=x-large:3b7a1bad6262", "2 options"),
        ("webshop", "B09KP78G37:color=red,size=:3b7a1bad6262", "1 option"),
        ("webshop", "anything", "0 options"),
        ("scienceworld", "boil/12", "boil"),
        ("vault", "seven", "vault"),
    ],
)
def test_kinds_of_tasks(env: str, task: str, kind: str) -> None:
    assert kind_of(env, task) == kind


def test_every_line_was_paid_for_and_every_attempt_counts_once() -> None:
    broken, continued = _attempt(1, "budget", fresh=False), _attempt(1, "step_limit")
    finished = [_attempt(0, "won", fresh=False), continued]
    coverage = Coverage("m", "j")
    coverage.count([finished[0], broken, continued, _attempt(2, "unavailable")], finished)
    assert (coverage.prompt_tokens, coverage.completion_tokens, coverage.wasted_tokens) == (40, 8, 4)
    assert (coverage.tokens, coverage.calls, coverage.invalid_formats) == (52, 12, 4)
    assert (coverage.attempts, coverage.reused, coverage.successes, coverage.broken_off) == (2, 1, 1, 1)
    assert (dict(coverage.causes), coverage.steps) == ({"step_limit": 1}, 8)


def test_the_report_is_json() -> None:
    coverage = Coverage("m", "j", stopped=Stopped("model", "gone", "come back"))
    coverage.kinds["boil"].tasks = 3
    coverage.kinds["boil"].covered = 2
    document = json.loads(json.dumps(coverage.as_json()))
    assert (document["tasks"], document["covered"], document["kinds"]["boil"]["tried"]) == (3, 2, 0)
    assert document["stopped"] == {"why": "model", "message": "gone", "hint": "come back"}
    assert document["dropped"]["detour"] == 0
