"""Line charts as SVG: drawn here, coloured by the page's style, readable without colour."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from proas.views.page import words

__all__ = ["Chart", "Series", "chart"]

_WIDTH, _HEIGHT = 420.0, 210.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 52.0, 12.0, 8.0, 30.0
_DASHES = ("", "7 3", "2 3", "9 3 2 3")


@dataclass(frozen=True, slots=True)
class Series:
    """One line: its name and its points (iteration, value) in order."""

    name: str
    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart.

    Attributes:
        title: What it shows.
        series: One to four lines with at least one point each.
        share: The values are shares: the axis runs from 0 to 100 %.
    """

    title: str
    series: tuple[Series, ...]
    share: bool = False


def chart(what: Chart) -> str:
    """The chart as a figure: the drawing, a legend of its lines, and their first and last values in words."""
    xs = [x for series in what.series for x, _ in series.points]
    ys = [y for series in what.series for _, y in series.points]
    x_ticks = _ticks(min(xs), max(xs), whole=True)
    y_ticks = _ticks(0.0, 1.0) if what.share else _ticks(min(0.0, *ys), max(ys))
    low_x, high_x = min(xs), max(*xs, min(xs) + 1)
    low_y, high_y = min(y_ticks[0], *ys), max(y_ticks[-1], *ys)

    def across(x: float) -> float:
        return _LEFT + (x - low_x) / (high_x - low_x) * (_WIDTH - _LEFT - _RIGHT)

    def down(y: float) -> float:
        return _TOP + (high_y - y) / ((high_y - low_y) or 1.0) * (_HEIGHT - _TOP - _BOTTOM)

    parts = [
        f'<line class="axis" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{down(y):.1f}" y2="{down(y):.1f}"/>'
        f'<text class="tick" text-anchor="end" x="{_LEFT - 6}" y="{down(y) + 4:.1f}">'
        f"{_number(y, share=what.share)}</text>"
        for y in y_ticks
    ]
    parts += [
        f'<text class="tick" text-anchor="middle" x="{across(x):.1f}" y="{_HEIGHT - 14}">{x:g}</text>' for x in x_ticks
    ]
    middle = (_LEFT + _WIDTH - _RIGHT) / 2
    parts.append(f'<text class="tick" text-anchor="middle" x="{middle}" y="{_HEIGHT - 1}">iteration</text>')
    for number, series in enumerate(what.series, 1):
        places = [(across(x), down(y)) for x, y in series.points]
        if len(places) > 1:
            line = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
            parts.append(f'<polyline class="line s{number}" points="{line}"/>')
        if len(places) <= 12:
            parts += [f'<circle class="dot s{number}" cx="{x:.1f}" cy="{y:.1f}" r="3"/>' for x, y in places]
    told = "; ".join(_told(series, share=what.share) for series in what.series)
    keys = "".join(_key(number, series, share=what.share) for number, series in enumerate(what.series, 1))
    return (
        f'<figure><figcaption>{words(what.title)}</figcaption><svg viewBox="0 0 {_WIDTH:g} {_HEIGHT:g}" role="img" '
        f'aria-label="{words(f"{what.title}: {told}")}">{"".join(parts)}</svg><div class="keys">{keys}</div></figure>'
    )


def _key(number: int, series: Series, *, share: bool) -> str:
    dash = f' stroke-dasharray="{_DASHES[number - 1]}"' if _DASHES[number - 1] else ""
    return (
        '<span><svg width="26" height="8" viewBox="0 0 26 8" aria-hidden="true" focusable="false">'
        f'<line class="s{number}" x1="0" x2="26" y1="4" y2="4" stroke-width="2.5"{dash}/></svg> '
        f"{words(series.name)} <b>{_number(series.points[-1][1], share=share)}</b></span>"
    )


def _told(series: Series, *, share: bool) -> str:
    first, last = series.points[0], series.points[-1]
    return (
        f"{series.name} from {_number(first[1], share=share)} at iteration {first[0]:g} "
        f"to {_number(last[1], share=share)} at {last[0]:g}"
    )


def _number(value: float, *, share: bool) -> str:
    if share:
        return f"{100 * value:.0f} %"
    if value and (abs(value) >= 100_000 or abs(value) < 0.001):
        return f"{value:.1e}"
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:.3g}"


def _ticks(low: float, high: float, *, whole: bool = False) -> Sequence[float]:
    """Four to six round numbers that span the range."""
    if high - low <= 1e-9 * max(1.0, abs(low), abs(high)):  # one value, or values that no axis could tell apart
        high = low + 1.0
    rough = (high - low) / 5
    scale = 10.0 ** math.floor(math.log10(rough))
    step = next(scale * nice for nice in (1, 2, 2.5, 5, 10) if scale * nice >= rough * 0.999)
    if whole:
        step = max(1.0, math.ceil(step))
    first = math.ceil(low / step - 1e-9) if whole else math.floor(low / step + 1e-9)
    ticks = [first * step]
    while ticks[-1] < high - step * (1e-9 if not whole else 1 - 1e-9):
        ticks.append(ticks[-1] + step)
    return [round(tick, 10) for tick in ticks]
