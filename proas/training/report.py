"""A comparison as a page, a document and a figure."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from proas.errors import UsageError
from proas.training.comparison import Arm, Comparison
from proas.training.run_directory import write_json

__all__ = ["write_report"]


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


def _lines(found: Comparison, *, drawn: bool) -> Iterator[str]:
    temperatures = [f"T = {t:g}" for t in found.temperatures]
    yield "# Comparison"
    yield ""
    yield "Success in percent on the validation tasks, mean of the last three evaluations, mean ± sample standard"
    yield f"deviation over seeds. The difference is paired by seed, at {temperatures[0]}, with its 95 % interval."
    yield ""
    head = [
        "arm",
        "seeds",
        *temperatures,
        "training rollouts",
        "difference",
        f"iterations to {found.target:.0%}",
        "speed-up",
    ]
    yield f"| {' | '.join(head)} |"
    yield f"| {' | '.join(['---'] * len(head))} |"
    for arm in found.arms:
        cells = [
            arm.name,
            ", ".join(map(str, arm.seeds)),
            *(arm.final[t].shown() for t in found.temperatures),
            arm.rollouts.shown(),
            "baseline" if arm.name == found.baseline else arm.difference.shown() if arm.difference else "no pair",
            "not reached" if arm.iterations_to_target is None else f"{arm.iterations_to_target:g}",
            "" if arm.speed_up is None else f"{arm.speed_up:.2f}",
        ]
        yield f"| {' | '.join(cells)} |"
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
        yield f"| {arm.name} | {arm.seconds:.2f} | {' | '.join(f'{arm.shares[part]:.1%}' for part in parts)} |"
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
    low = [m - d for m, d in zip(curve.mean, curve.deviation, strict=True)]
    high = [m + d for m, d in zip(curve.mean, curve.deviation, strict=True)]
    plot, band = axes.plot, axes.fill_between  # type: ignore[attr-defined]
    (line,) = plot(curve.iterations, curve.mean, label=arm.name, linewidth=1.2)
    if len(arm.seeds) > 1:
        band(curve.iterations, low, high, color=line.get_color(), alpha=0.15, linewidth=0)
