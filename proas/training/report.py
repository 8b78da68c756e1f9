"""A comparison as a page, a document and a figure."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from proas.errors import UsageError
from proas.training.comparison import Arm, Comparison
from proas.training.run_directory import write_json

__all__ = ["COLUMNS", "measurements", "write_report"]

COLUMNS = ("measured", "success", "difference", "{target} after", "speed-up")
"""Of :func:`measurements`; ``{target}`` stands for the success to be reached."""


def write_report(found: Comparison, folder: Path) -> list[Path]:
    """Write ``report.json``, ``report.md`` and, where matplotlib is installed, ``curves.svg``.

    Returns:
        The files written.

    Raises:
        UsageError: The folder cannot be made.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{folder} cannot be made: {error.strerror}", hint="name another folder") from error
    files = [folder / "report.json", folder / "report.md"]
    write_json(files[0], found.to_dict())
    drawn = find_spec("matplotlib") is not None
    if drawn:
        _draw(found, folder / "curves.svg")
        files.append(folder / "curves.svg")
    files[1].write_text("\n".join(_lines(found, drawn=drawn)) + "\n", encoding="utf-8")
    return files


def measurements(arm: Arm, found: Comparison) -> list[tuple[str, ...]]:
    """What an arm came to as rows of text: one for each temperature, and the training rollouts.

    What was not measured, or is not known, is ``-``.
    """
    rows = []
    for t in found.temperatures:
        final, difference = arm.final.get(t), arm.difference.get(t)
        reached, ratio = arm.reached.get(t), arm.speed_up.get(t)
        cells = [one.shown() if one is not None else "-" for one in (final, difference, reached, ratio)]
        rows.append((f"T={t:g}", *cells))
    rollouts = arm.rollouts.shown() if arm.rollouts is not None else "-"
    return [*rows, ("rollouts", rollouts, "-", "-", "-")]


def _lines(found: Comparison, *, drawn: bool) -> Iterator[str]:
    yield "# Comparison"
    yield ""
    yield "Success in percent, mean ± sample standard deviation over seeds: at each temperature T of the evaluations"
    yield "the mean of the last three on the validation tasks; of the training rollouts the last quarter of the"
    yield f"iterations. The difference from {found.baseline} is paired by seed, in points, with its 95 % interval where"
    yield "three seeds or more are paired. Where some seed never reaches the target, its last evaluation stands for it,"
    yield "and the mean is a lower bound (>). The speed-up is the baseline's iterations over the arm's: a lower bound"
    yield "(≥) where the baseline has such seeds; none is given where the arm has. What was not measured is shown as -."
    yield ""
    head = ["arm", "seeds", *(name.format(target=f"{found.target:.0%}") for name in COLUMNS)]
    yield f"| {' | '.join(head)} |"
    yield f"| {' | '.join(['---'] * len(head))} |"
    for arm in found.arms:
        for row in measurements(arm, found):
            yield f"| {' | '.join([arm.name, ', '.join(map(str, arm.seeds)), *row])} |"
    yield ""
    if drawn:
        yield "![Success over iterations](curves.svg)"
        yield ""
    yield "## Where the time goes"
    yield ""
    parts = list(found.arms[0].shares)
    yield f"| arm | seconds an iteration | {' | '.join(parts)} |"
    yield f"| {' | '.join(['---'] * (len(parts) + 2))} |"
    for arm in found.arms:
        seconds = "-" if arm.seconds is None else f"{arm.seconds:.2f}"
        shares = ["-" if share is None else f"{share:.1%}" for share in arm.shares.values()]
        yield f"| {arm.name} | {seconds} | {' | '.join(shares)} |"
    yield ""
    yield "## Runs"
    yield ""
    for path, name, seed in found.runs:
        yield f"- `{path}`: {name}, seed {seed}"
    if found.warnings:
        yield ""
        yield "## To be read with care"
        yield ""
        for warning in found.warnings:
            yield f"- {warning}"


def _draw(found: Comparison, file: Path) -> None:
    import matplotlib as mpl

    mpl.use("svg", force=False)
    from matplotlib.figure import Figure

    names = list(found.arms[0].curves)
    figure = Figure(figsize=(5 * len(names), 3.6), layout="constrained")
    for place, name in enumerate(names):
        axes = figure.add_subplot(1, len(names), place + 1)
        for arm in found.arms:
            _plot(axes, arm, name)
        axes.set_title("training rollouts" if name == "rollouts" else f"validation, {name}")
        axes.set_xlabel("iteration")
        axes.set_ylim(0, 1)
        if place == 0:
            axes.set_ylabel("success")
            axes.axhline(found.target, linestyle=":", linewidth=0.8, color="grey")
            axes.legend(fontsize=7)
    with mpl.rc_context({"svg.hashsalt": "proas"}):
        figure.savefig(file, format="svg", metadata={"Date": None})


def _plot(axes: object, arm: Arm, name: str) -> None:
    curve = arm.curves[name]
    plot, band = axes.plot, axes.fill_between  # type: ignore[attr-defined]
    (line,) = plot(curve.iterations, curve.mean, label=arm.name, linewidth=1.2)
    if curve.deviation is not None:
        low = [m - d for m, d in zip(curve.mean, curve.deviation, strict=True)]
        high = [m + d for m, d in zip(curve.mean, curve.deviation, strict=True)]
        band(curve.iterations, low, high, color=line.get_color(), alpha=0.15, linewidth=0)
