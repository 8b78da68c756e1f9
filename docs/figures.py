"""Draws the figures of the documentation from what training runs left in their folders.

    python docs/figures.py ladder ROLLOUTS.jsonl   a rollout of a run over the ladder of its task's subgoals
    python docs/figures.py growth [NAME=]RUN...    what the graphs of runs learnt over their iterations
    python docs/figures.py masked [NAME=]RUN...    share of masked steps over training

Without a NAME, a run is called by its arm. Labels, growth and masks are those that the runs recorded; nothing is
computed anew and no database is asked. The same runs make the same bytes. Needs matplotlib (extra ``viz``).
"""

from __future__ import annotations

import argparse
import sys
from itertools import accumulate
from pathlib import Path

import matplotlib as mpl
from matplotlib import pyplot as plt
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from proas.rollout_files import load_rollouts
from proas.rollouts import Label, Rollout
from proas.states import ladder_of_rollout
from proas.training.run_directory import RunDirectory

IMAGES = Path(__file__).resolve().parent / "images"
PROGRESS, SEEN, OFF = "#1b7f5c", "#8a5a00", "#b3261e"
MARKS = {"progress": ("o", PROGRESS), "seen before": ("s", SEEN), "not in graph": ("X", OFF)}
COLOURS = ("#0b6e99", "#c2571a", "#1b7f5c", "#7b3f98")
LINES = ("-", "--", "-.", ":")


def verdict(label: Label) -> str:
    """A label in words."""
    if label.progress:
        return "progress"
    return "seen before" if label.reasonable else "not in graph"


def draw_ladder(files: list[str], out: Path) -> None:
    """A success with detours over its task's ladder: that with most kinds of verdict, then with most progress."""
    labelled = [
        rollout
        for file in files
        for rollout in load_rollouts(Path(file))
        if rollout.success and 10 <= len(rollout.steps) <= 30 and any(step.label for step in rollout.steps)
    ]
    if not labelled:
        sys.exit(f"{files[0]} holds no labelled success of 10 to 30 steps")
    chosen = max(labelled, key=_telling)
    ladder = ladder_of_rollout(chosen)
    levels = [ladder.index(chosen.start.facts)] if chosen.start else []
    levels += [ladder.index(step.state.facts) for step in chosen.steps if step.state]
    figure, axes = plt.subplots(figsize=(9.5, 4.2))
    axes.step(range(len(levels)), levels, where="post", color="#9aa5ad", linewidth=1.2, zorder=1)
    for name, (mark, colour) in MARKS.items():
        places = [t for t, step in enumerate(chosen.steps, start=1) if step.label and verdict(step.label) == name]
        heights = [levels[t] for t in places]
        axes.scatter(places, heights, marker=mark, color=colour, s=48, label=f"{name} ({len(places)})", zorder=2)
    axes.set_yticks(range(len(ladder.subgoals)))
    axes.set_yticklabels([f"{_short(subgoal.description)}   $g_{subgoal.index}$" for subgoal in ladder.subgoals])
    axes.set_xlabel("step")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_title(f"“{chosen.goal}”: how far the rollout has climbed after each step", fontsize=11, loc="left")
    axes.legend(loc="upper left", frameon=False)
    _save(figure, out / "ladder.svg")


def draw_growth(runs: list[str], out: Path) -> None:
    """States and transitions that the graphs of runs gained by successes, summed over the iterations."""
    figure, both = plt.subplots(1, 2, figsize=(9.5, 3.4))
    for (name, run), colour, line in zip(map(_named, runs), COLOURS, LINES, strict=False):
        rows = [row for row in RunDirectory(run).metrics() if "proas/graph/added_states" in row]
        if not rows:
            sys.exit(f"the graph of {run} learnt nothing")
        for axes, what in zip(both, ("states", "transitions"), strict=True):
            values = list(accumulate((row[f"proas/graph/added_{what}"] for row in rows), initial=0.0))
            numbers = [0.0, *(row["iteration"] for row in rows)]
            axes.plot(numbers, values, line, color=colour, label=name)
            axes.set(xlabel="iteration", title=f"{what} learnt", ylim=(0, None))
            axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    handles, arms = both[0].get_legend_handles_labels()
    figure.legend(handles, arms, frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.04), ncols=2)
    _save(figure, out / "growth.svg")


def draw_masked(runs: list[str], out: Path) -> None:
    """Share of the steps with positive advantage that shaping masked, by iteration."""
    figure, axes = plt.subplots(figsize=(9.5, 3.4))
    for (name, run), colour, line in zip(map(_named, runs), COLOURS, LINES, strict=False):
        rows = [row for row in RunDirectory(run).metrics() if "proas/mask_rate" in row]
        if not rows:
            sys.exit(f"{run} has no iteration in which anything was shaped")
        values = [100 * row["proas/mask_rate"] for row in rows]
        axes.plot([row["iteration"] for row in rows], values, line, color=colour, marker=".", label=name)
    axes.set(xlabel="iteration", ylabel="% of positive steps masked", ylim=(0, 100))
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.legend(frameon=False)
    _save(figure, out / "masked.svg")


def _named(typed: str) -> tuple[str, Path]:
    """A run and what it is called: the name before ``=``, else its arm."""
    name, equals, path = typed.rpartition("=")
    if equals and Path(path).is_dir():
        return name, Path(path)
    run = Path(typed)
    return str(RunDirectory(run).document().get("arm", run.name)), run


def _telling(rollout: Rollout) -> tuple[int, int, str]:
    found = [verdict(step.label) for step in rollout.steps if step.label]
    return len(set(found)), found.count("progress"), rollout.id


def _short(text: str, most: int = 44) -> str:
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


def _save(figure: Figure, file: Path) -> None:
    for axes in figure.axes:
        axes.spines[["top", "right"]].set_visible(False)
    figure.patch.set_facecolor("white")  # a page may be dark
    file.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(file, bbox_inches="tight", metadata={"Date": None})
    plt.close(figure)


def main() -> None:
    """Draw what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("figure", choices=("ladder", "growth", "masked"))
    parser.add_argument("sources", nargs="+", metavar="RUN", help="folders of runs; for ladder, files")
    parser.add_argument("--out", type=Path, default=IMAGES, metavar="FOLDER")
    asked = parser.parse_args()
    mpl.use("svg")
    mpl.rcParams.update({"svg.hashsalt": "proas", "svg.fonttype": "path", "font.size": 9.5})
    {"ladder": draw_ladder, "growth": draw_growth, "masked": draw_masked}[asked.figure](asked.sources, asked.out)


if __name__ == "__main__":
    main()
