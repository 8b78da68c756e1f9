"""The figures of an experiment: curves with bands over seeds, and what happens over training. Needs matplotlib.

The same records make the same bytes: ids are salted with a constant and no date is written.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from proas.errors import UsageError
from proas.experiments.statistics import ArmResult, Findings

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["draw_figures", "require_matplotlib"]

_OVER_TRAINING = {
    "unreasonable share of positive steps": "proas/unreasonable_in_positive",
    "share of positive steps masked": "proas/mask_rate",
    "negative over positive mass": "proas/negative_to_positive",
    "entropy": "rollout/entropy",
    "share of invalid actions": "rollout/invalid",
    "transitions gained": "proas/growth_transitions",
}
_COLUMNS = 3
_COLOURS = (
    "#1b6ca8",
    "#d1495b",
    "#2e933c",
    "#8d5a97",
    "#e08e1b",
    "#3a3a3a",
    "#17a2a2",
    "#9c6b30",
    "#c23fa3",
    "#7a8b1f",
)
_DASHES = ("-", "--", ":", "-.")


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


def _success(found: Findings) -> Figure:
    from matplotlib.figure import Figure

    panels = [*found.temperatures, "rollouts"]
    figure = Figure(figsize=(4.2 * len(panels), 3.8), layout="constrained")
    for place, panel in enumerate(panels):
        axes = figure.add_subplot(1, len(panels), place + 1)
        for number, arm in enumerate(found.arms):
            at, rows = arm.series("rollout/success") if panel == "rollouts" else arm.curve(panel)
            _band(axes, at, rows, number, arm)
        axes.set_title("training rollouts" if panel == "rollouts" else f"validation, T = {panel}", fontsize=10)
        axes.set_xlabel("iteration")
        axes.set_ylim(-0.02, 1.02)
        if place == 0:
            axes.set_ylabel("success")
            for target in found.plan.targets:
                axes.axhline(target / 100, linestyle=":", linewidth=0.6, color="grey")
    _legend(figure)
    return figure


def _training(found: Findings) -> Figure | None:
    from matplotlib.figure import Figure

    panels = {title: name for title, name in _OVER_TRAINING.items() if any(arm.series(name)[1] for arm in found.arms)}
    if not panels:
        return None
    lines = -(-len(panels) // _COLUMNS)
    figure = Figure(figsize=(4.2 * min(len(panels), _COLUMNS), 2.9 * lines + 0.4), layout="constrained")
    for place, (title, name) in enumerate(panels.items()):
        axes = figure.add_subplot(lines, min(len(panels), _COLUMNS), place + 1)
        for number, arm in enumerate(found.arms):
            at, rows = arm.series(name)
            _band(axes, at, rows, number, arm)
        axes.set_title(title, fontsize=10)
        axes.margins(y=0.08)
        axes.set_ylim(bottom=min(0.0, axes.get_ylim()[0]))
        if place >= len(panels) - _COLUMNS:
            axes.set_xlabel("iteration")
    _legend(figure)
    return figure


def _band(axes: Axes, at: Sequence[int], rows: Sequence[Sequence[float | None]], number: int, arm: ArmResult) -> None:
    """Mean over seeds, and plus and minus one sample standard deviation around it."""
    if not rows:
        return
    values = np.array([[np.nan if value is None else value for value in row] for row in rows], dtype=float)
    there = ~np.isnan(values).any(axis=0)
    x, values = np.array(at)[there], values[:, there]
    if not len(x):
        return
    mean = values.mean(axis=0)
    colour, dashes = _COLOURS[number % len(_COLOURS)], _DASHES[number // len(_COLOURS) % len(_DASHES)]
    axes.plot(x, mean, dashes, color=colour, linewidth=1.3, label=arm.name)
    if len(values) > 1:
        spread = values.std(axis=0, ddof=1)
        axes.fill_between(x, mean - spread, mean + spread, color=colour, alpha=0.12, linewidth=0)


def _legend(figure: Figure) -> None:
    """One legend for all panels, each arm once, under them."""
    entries: dict[str, Artist] = {}
    for axes in figure.axes:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            entries.setdefault(str(label), handle)
    figure.legend(list(entries.values()), list(entries), loc="outside lower center", ncols=6, fontsize=8, frameon=False)


def _save(figure: Figure, file: Path) -> Path:
    import matplotlib as mpl

    with mpl.rc_context({"svg.hashsalt": "proas", "svg.fonttype": "none"}):
        figure.savefig(file, format="svg", metadata={"Date": None})
    return file
