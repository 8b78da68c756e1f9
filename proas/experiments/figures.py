"""The figures of an experiment: curves with bands over seeds, and what happens over training. Needs matplotlib.

Arms that belong together share a column, with what they are set against; all others are pale behind them. A line has
its name at its end. The same records make the same bytes: ids are salted with a constant and no date is written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from proas.errors import UsageError
from proas.experiments.statistics import ArmResult, Findings

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["draw_figures", "require_matplotlib"]

Floats = npt.NDArray[np.float64]
Curve = tuple[Sequence[int], Sequence[Sequence[float | None]]]
"""Iterations, and for each seed a value at each of them."""

_OVER_TRAINING = {
    "unreasonable share\nof positive steps": "proas/unreasonable_in_positive",
    "share of positive\nsteps masked": "proas/mask_rate",
    "negative over\npositive mass": "proas/negative_to_positive",
    "entropy": "rollout/entropy",
    "share of\ninvalid actions": "rollout/invalid",
    "transitions gained": "proas/growth_transitions",
}
_RATIOS = {"proas/negative_to_positive"}
_REFERENCES = (("#000000", "--"), ("#7f7f7f", "-"))
"""Of what the arms of a column are set against: the baseline, then the control."""
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00")
"""Of the arms of a column; those of Okabe and Ito, which most eyes tell apart."""
_SMOOTH = 5
"""Iterations that a point of a curve over training is the mean of."""
_LEAST_SEEDS = 3
"""Fewer have no spread worth a band."""
_NAME_HEIGHT = 0.075
"""Room of a name, as a share of a panel's height."""


def require_matplotlib() -> None:
    """Refuse to go on without matplotlib.

    Raises:
        UsageError: It is not installed.
    """
    if find_spec("matplotlib") is None:
        raise UsageError("figures need matplotlib, which is not installed", hint="pip install 'proas[viz]'")


def draw_figures(found: Findings, folder: Path) -> list[Path]:
    """Write ``<experiment>-success.svg`` and, where there is something to see, ``<experiment>-training.svg``.

    Args:
        found: What the records say.
        folder: Where to; made if it is new.

    Returns:
        The files written; none without results.

    Raises:
        UsageError: matplotlib is not installed.
    """
    require_matplotlib()
    if not found.arms:
        return []
    folder.mkdir(parents=True, exist_ok=True)
    files = [_save(_success(found), folder / f"{found.plan.name}-success.svg")]
    training = _training(found)
    if training is not None:
        files.append(_save(training, folder / f"{found.plan.name}-training.svg"))
    return files


@dataclass(frozen=True, slots=True)
class _Column:
    """Arms that belong together, and what they are set against."""

    references: tuple[ArmResult, ...]
    arms: tuple[ArmResult, ...]

    def lines(self) -> Iterator[tuple[ArmResult, str, str]]:
        """Each with its colour and dashes."""
        yield from ((arm, *style) for arm, style in zip(self.references, _REFERENCES, strict=False))
        yield from ((arm, colour, "-") for arm, colour in zip(self.arms, _COLOURS, strict=False))


@dataclass(frozen=True, slots=True)
class _Row:
    """One thing that is shown of every arm."""

    title: str
    of: Callable[[ArmResult], Curve]
    smooth: int = 1
    targets: tuple[float, ...] = ()
    ratio: bool = False

    def values(self, arm: ArmResult) -> tuple[Floats, Floats]:
        """Where an arm was measured, ``(K,)``, and its values there, ``(seeds, K)``; where some seed has none, none."""
        at, rows = self.of(arm)
        values = np.array([[np.nan if value is None else value for value in row] for row in rows], dtype=float)
        if not values.size:
            return np.empty(0), np.empty((0, 0))
        there = ~np.isnan(values).any(axis=0)
        where, values = np.asarray(at, dtype=float)[there], values[:, there]
        if self.smooth > 1 and len(where) >= self.smooth:
            kernel = np.full(self.smooth, 1 / self.smooth)
            values = np.array([np.convolve(row, kernel, mode="valid") for row in values])
            where = where[self.smooth - 1 :]
        return where, values


def _success(found: Findings) -> Figure:
    targets = tuple(target / 100 for target in found.plan.targets)

    def at(temperature: str) -> Callable[[ArmResult], Curve]:
        return lambda arm: arm.curve(temperature)

    rows = [_Row(f"success, T = {t}", at(t), targets=targets) for t in found.temperatures]
    return _grid(found, [*rows, _Row("training rollouts", lambda arm: arm.series("rollout/success"), _SMOOTH)])


def _training(found: Findings) -> Figure | None:
    shown = {title: name for title, name in _OVER_TRAINING.items() if any(arm.series(name)[1] for arm in found.arms)}
    masked, unreasonable = "proas/mask_rate", "proas/unreasonable_in_positive"
    if all(arm.series(masked) == arm.series(unreasonable) for arm in found.arms):
        shown = {title: name for title, name in shown.items() if name != masked}

    def named(name: str) -> Callable[[ArmResult], Curve]:
        return lambda arm: arm.series(name)

    rows = [_Row(title, named(name), _SMOOTH, ratio=name in _RATIOS) for title, name in shown.items()]
    return _grid(found, rows) if rows else None


def _columns(found: Findings) -> list[_Column]:
    """Arms of one algorithm that are set against the same; those that are alone in that share columns.

    Arms that a plan borrows have columns in the figures of the plan that they are of.
    """
    there = {arm.name: arm for arm in found.arms}
    borrowed = {name for names in found.plan.borrowed.values() for name in names}
    families: dict[tuple[str, str], list[ArmResult]] = {}
    for arm in found.arms:
        against = found.plan.against(arm.name)
        if arm.name not in (*against[: len(_REFERENCES)], *borrowed):
            families.setdefault((against[0], found.plan.arms[arm.name].algorithm), []).append(arm)
    alone = [arms[0] for arms in families.values() if len(arms) == 1]
    together = [arms for arms in families.values() if len(arms) > 1]
    columns: list[_Column] = []
    for arms in [*together, alone]:
        size = -(-len(arms) // max(1, -(-len(arms) // len(_COLOURS))))  # as equal parts as can be
        for first in range(0, len(arms), max(1, size)):
            named = (
                (found.plan.baseline, *found.plan.references) if arms is alone else found.plan.against(arms[first].name)
            )
            references = tuple(there[name] for name in named[: len(_REFERENCES)] if name in there)
            columns.append(_Column(references, tuple(arms[first : first + size])))
    return columns or [_Column((), tuple(found.arms))]


def _grid(found: Findings, rows: Sequence[_Row]) -> Figure:
    from matplotlib.figure import Figure

    columns = _columns(found)
    figure = Figure(figsize=(3.6 * len(columns) + 0.6, 2.5 * len(rows) + 0.4), layout="constrained")
    grid = figure.subplots(len(rows), len(columns), sharex=True, sharey="row", squeeze=False)
    last = max((float(row.values(arm)[0].max(initial=1)) for row in rows for arm in found.arms), default=1.0)
    for row, line in zip(rows, grid, strict=True):
        ends = [_panel(axes, row, column, found.arms, last) for axes, column in zip(line, columns, strict=True)]
        line[0].set_ylabel(row.title)
        for axes, named in zip(line, ends, strict=True):  # limits are settled only now
            _name(axes, named, last)
    for axes in grid[-1]:
        axes.set_xlabel("iteration")
    return figure


def _panel(
    axes: Axes, row: _Row, column: _Column, arms: Sequence[ArmResult], last: float
) -> list[tuple[float, str, str]]:
    """Draw a panel; where its lines end, their names and colours. Arms whose values are the same are one line."""
    from matplotlib.ticker import MaxNLocator, NullLocator, StrMethodFormatter

    if row.ratio:
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(MaxNLocator(4))
        axes.yaxis.set_minor_locator(NullLocator())
        axes.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    for arm in arms:
        if arm not in (*column.references, *column.arms):
            at, values = row.values(arm)
            if len(at):
                axes.plot(at, values.mean(axis=0), color="#dddddd", linewidth=0.7)
    ends: dict[bytes, tuple[float, list[str], str]] = {}
    for arm, colour, dashes in column.lines():
        at, values = row.values(arm)
        if not len(at):
            continue
        name = f"{arm.name} ({len(values)})"
        if values.tobytes() in ends:
            ends[values.tobytes()][1].insert(-1, arm.name)
            continue
        ends[values.tobytes()] = (float(values.mean(axis=0)[-1]), [name], colour)
        _line(axes, at, values, colour, dashes, band=arm in column.arms)
    axes.hlines(row.targets, 0, last, linestyles=":", linewidth=0.6, color="grey")
    axes.set_xlim(0, 1.7 * last)
    axes.set_xticks(np.arange(0, last + 1, 10 if last > 10 else 1))
    axes.spines[["top", "right"]].set_visible(False)
    return [(end, " = ".join(names), colour) for end, names, colour in ends.values()]


def _line(axes: Axes, at: Floats, values: Floats, colour: str, dashes: str, *, band: bool) -> None:
    """Mean over seeds, and plus and minus one sample standard deviation around it."""
    mean = values.mean(axis=0)
    axes.plot(at, mean, dashes, color=colour, linewidth=1.4)
    if band and len(values) >= _LEAST_SEEDS:
        spread = values.std(axis=0, ddof=1)
        axes.fill_between(at, mean - spread, mean + spread, color=colour, alpha=0.13, linewidth=0)


def _name(axes: Axes, ends: Sequence[tuple[float, str, str]], last: float) -> None:
    """Names at the ends of their lines, moved apart where they would touch."""
    transform = axes.transScale + axes.transLimits  # from data to shares of the panel
    heights = [(float(transform.transform((last, end))[1]), end, name, colour) for end, name, colour in ends]
    places: list[float] = []
    for height, *_ in sorted(heights):
        places.append(max(height, places[-1] + _NAME_HEIGHT) if places else height)
    over = max(0.0, places[-1] - 1.0) if places else 0.0
    for place, (_, end, name, colour) in zip(places, sorted(heights), strict=True):
        to = (1.06 / 1.7, place - over)
        thread = {"arrowstyle": "-", "color": colour, "linewidth": 0.4, "shrinkA": 0, "shrinkB": 0}
        axes.annotate(
            name,
            (last, end),
            xytext=to,
            textcoords="axes fraction",
            fontsize=7,
            color=colour,
            va="center",
            arrowprops=thread,
        )


def _save(figure: Figure, file: Path) -> Path:
    import matplotlib as mpl

    with mpl.rc_context({"svg.hashsalt": "proas", "svg.fonttype": "none"}):
        figure.savefig(file, format="svg", metadata={"Date": None})
    return file
