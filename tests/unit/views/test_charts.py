"""Charts: every point inside the frame, round ticks, values told in words."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proas.views.charts import Chart, Series, chart

values = st.floats(-1e9, 1e9, allow_nan=False)


@given(st.lists(values, min_size=1, max_size=30))
def test_every_point_is_inside_the_frame(ys: list[float]) -> None:
    drawn = chart(Chart("any", (Series("a", tuple((float(i), y) for i, y in enumerate(ys))),)))
    places = re.findall(r'cx="([-\d.]+)" cy="([-\d.]+)"', drawn)
    places += [tuple(p.split(",")) for line in re.findall(r'points="([^"]+)"', drawn) for p in line.split()]
    assert places
    for x, y in places:
        assert 0 <= float(x) <= 420
        assert 0 <= float(y) <= 210


@pytest.mark.parametrize("ys", [(0.1, 0.9), (0.5,), (0.0, 0.0)])
def test_shares_run_from_nothing_to_all(ys: tuple[float, ...]) -> None:
    drawn = chart(Chart("share", (Series("a", tuple((float(i), y) for i, y in enumerate(ys))),), share=True))
    ticks = re.findall(r'text-anchor="end"[^>]*>([^<]+)<', drawn)
    assert ticks == ["0 %", "20 %", "40 %", "60 %", "80 %", "100 %"]


def test_what_it_shows_is_told_in_words_and_names_are_escaped() -> None:
    drawn = chart(Chart("<b>", (Series("x & y", ((1.0, 2.0), (5.0, 40.0))), Series("z", ((3.0, 1.0),)))))
    assert (
        'aria-label="&lt;b&gt;: x &amp; y from 2 at iteration 1 to 40 at 5; z from 1 at iteration 3 to 1 at 3"' in drawn
    )
    assert drawn.count("<polyline") == 1
