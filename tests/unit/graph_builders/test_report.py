"""What a build reports."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from proas.graph_builders import BuildReport, Rejected

REPORT = BuildReport(
    source="alfworld",
    graph="g",
    expand="plan",
    considered=10,
    built={"plan": 6, "search": 2},
    skipped=3,
    rejected={"no_game": 2},
    rejects=(Rejected("a/b", "no_game", "the release has no game", "/data/a/b"), Rejected("a/c", "no_game", "none")),
    states=50,
    transitions={"plan": 40, "search": 9},
    added_tasks=5,
    added_states=30,
    added_transitions=29,
    tallies={"annotations": 30, "annotations_aligned": 27},
    seconds=4.0,
)


def test_shares_and_rate() -> None:
    assert REPORT.tasks == 8
    assert REPORT.carry_over_share == pytest.approx(0.75)
    assert REPORT.alignment_share == pytest.approx(0.9)
    assert REPORT.rate == pytest.approx(2.5)


def test_shares_of_nothing_are_none() -> None:
    empty = replace(REPORT, considered=0, built={}, tallies={}, seconds=0.0)
    assert (empty.tasks, empty.carry_over_share, empty.alignment_share, empty.rate) == (0, None, None, 0.0)


def test_the_report_is_json() -> None:
    plain = json.loads(json.dumps(REPORT.as_json()))
    assert plain["built"] == {"plan": 6, "search": 2}
    assert plain["rejects"][0] == {
        "task": "a/b",
        "problem": "no_game",
        "reason": "the release has no game",
        "source": "/data/a/b",
    }
    assert (plain["tasks"], plain["carry_over_share"], plain["alignment_share"]) == (8, 0.75, 0.9)


def test_a_reject_goes_into_a_file_of_rejects() -> None:
    reject = REPORT.rejects[0].as_reject()
    assert (reject.id, reject.source) == ("a/b", "/data/a/b")
    assert reject.reason == "no_game: the release has no game"
