"""The report: curves for what was recorded, statistics as they are, and words where there is nothing."""

from __future__ import annotations

from proas.views.detours import Detour
from proas.views.report_page import RunReport, charts_of, label_rows, report_page

ROWS = [
    {"iteration": 0.0, "evaluation/t0.4/success": 0.25, "evaluation/t0.4/success/kind": 1.0},
    {"iteration": 1.0, "rollout/success": 0.5, "proas/mask_rate": 0.5},
    {"iteration": 2.0, "rollout/success": 0.75, "proas/mask_rate": 0.25, "evaluation/t0.4/success": 0.5},
]


def test_curves_take_what_is_there_at_its_iteration() -> None:
    found = {chart.title: chart for chart in charts_of(ROWS)}
    assert found["Success on validation tasks"].series[0].points == ((0.0, 0.25), (2.0, 0.5))
    assert found["Success on validation tasks"].series[0].name == "T = 0.4"
    assert found["Success of training rollouts"].series[0].points == ((1.0, 0.5), (2.0, 0.75))
    assert "Entropy of the policy" not in found


def test_statistics_of_a_measurement() -> None:
    (row,) = label_rows(ROWS)
    assert row[:5] == ("mask_rate", 0.5, 0.25, 0.25, 0.5)
    assert row[5] == "share of positive steps whose advantage was lessened"


def test_a_run_of_which_nothing_is_known_yet_still_has_a_page() -> None:
    page = report_page(RunReport("r<>", {"arm": "<i>"}, [], None, {}, (), 0, ("The graph <g> could not be read.",)))
    for said in ("No iteration yet", "recorded none", "No graph to look at", "No labelled rollouts", "&lt;g&gt;"):
        assert said in page
    assert "<i>" not in page
    assert "script-src 'none'" in page


def test_what_stays_at_nothing_is_named_below_the_table() -> None:
    rows = [{"iteration": 1.0, "proas/mask_rate": 0.5, "proas/label_faults": 0.0}] * 2
    page = report_page(RunReport("r", {}, rows, None, {}, (), 0))
    assert "0 from the first iteration to the last: label faults." in page
    assert "<td>mask rate</td>" in page
    assert "<td>label faults</td>" not in page


def test_a_detour_names_its_task() -> None:
    detour = Detour("task/1", "heat <it>", "at fridge 1", "open fridge 1", 3, 2, 9, 1, 0)
    page = report_page(RunReport("r", {}, [], None, {}, (detour,), 4))
    assert 'heat &lt;it&gt;<br><span class="soft">task/1</span>' in page
