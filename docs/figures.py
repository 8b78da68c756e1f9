"""Draws the figures of the documentation from real runs, on the Neo4j server that the environment names.

    python docs/figures.py ladder            a rollout over the ladder of its task's subgoals
    python docs/figures.py growth            states and transitions of a graph over its versions
    python docs/figures.py masked RUN...     share of masked steps over training, from the runs' metrics

The games of the first two are generated, the rollouts are those of the noisy policy, labels and growth come from the
database; the graphs made for it are dropped again. The same seeds make the same bytes. Needs matplotlib (extra
``viz``).
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import matplotlib as mpl
from matplotlib import pyplot as plt
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from proas.envs import EnvSpec, World, open_world
from proas.envs.alfworld.generator import generate as make
from proas.envs.collect import CollectSettings, collect
from proas.graph import Connection, ReferenceGraph, migrate
from proas.graph_builders import BuildOptions, build_graph, builder
from proas.purify import Purification
from proas.rollouts import Label, Rollout, RolloutBatch
from proas.states import follower_for
from proas.training.run_directory import RunDirectory

IMAGES = Path(__file__).resolve().parent / "images"
PROGRESS, SEEN, OFF = "#1b7f5c", "#8a5a00", "#b3261e"
MARKS = {"progress": ("o", PROGRESS), "seen before": ("s", SEEN), "not in graph": ("X", OFF)}
RULES: tuple[Purification, ...] = ("paper", "loop_erased")


@contextmanager
def fresh_graph(connection: Connection, name: str) -> Iterator[ReferenceGraph]:
    """An empty graph of this name, dropped at the end; one that is left of an earlier run goes first."""
    graph = ReferenceGraph(connection, name)
    if graph.exists():
        graph.drop(force=True)
    try:
        yield ReferenceGraph.create(connection, name)
    finally:
        graph.drop(force=True)


def games(folder: Path, count: int, seed: int) -> World:
    """Generated household games, opened as an environment."""
    for trial in make(count, seed=seed):
        trial.write(folder)
    return open_world(EnvSpec("alfworld", folder))


def played(world: World, *, group_size: int, seed: int, tasks: int | None = None) -> RolloutBatch:
    """A group of the noisy policy's rollouts of each task, with states."""
    settings = CollectSettings(policy="noisy", group_size=group_size, seed=seed)
    chosen = list(world.tasks)[:tasks]
    made = collect(world, chosen, settings, follower_for)
    return RolloutBatch(tuple(rollout for rollout in made if isinstance(rollout, Rollout)))


def verdict(label: Label) -> str:
    """A label in words."""
    if label.progress:
        return "progress"
    return "seen before" if label.reasonable else "not in graph"


def draw_ladder(connection: Connection, out: Path) -> None:
    """A success with detours over its task's ladder: that with most kinds of verdict, then with most progress."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        world = stack.enter_context(_closing(games(folder, 6, seed=3)))
        graph = stack.enter_context(fresh_graph(connection, "figure-ladder"))
        options = BuildOptions(expand="optimal")
        build_graph("alfworld", builder("alfworld"), graph, data=folder, options=options)
        labelled = [
            rollout
            for rollout in graph.label(played(world, group_size=4, seed=1)).rollouts
            if rollout.success and 12 <= len(rollout.steps) <= 30
        ]
        chosen = max(labelled, key=_telling)
        known = graph.read(chosen.task)
        ladder = known.ladder
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
    axes.set_title(f"“{known.task.goal}”: how far the rollout has climbed after each step", fontsize=11, loc="left")
    axes.legend(loc="upper left", frameon=False)
    _save(figure, out / "ladder.svg")


def draw_growth(connection: Connection, out: Path, *, iterations: int = 12) -> None:
    """What the graphs of twelve tasks gain from their plans by successes, by both rules of purification."""
    sizes: dict[str, list[tuple[int, int]]] = {}
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        world = stack.enter_context(_closing(games(folder, 12, seed=5)))
        for rule in RULES:
            graph = stack.enter_context(fresh_graph(connection, f"figure-growth-{rule}"))
            build_graph("alfworld", builder("alfworld"), graph, data=folder)
            for k in range(1, iterations + 1):
                graph.evolve(played(world, group_size=4, seed=k), purification=rule, version=k)
            stats = [graph.stats(version=k) for k in range(iterations + 1)]
            sizes[rule] = [(found.states, found.transitions) for found in stats]
    figure, both = plt.subplots(1, 2, figsize=(9.5, 3.4))
    styles = dict(zip(RULES, (("-", "#8a5a00"), ("--", "#0b6e99")), strict=True))
    for axes, what in zip(both, ("states", "transitions"), strict=True):
        for rule, (line, colour) in styles.items():
            values = [size[what == "transitions"] for size in sizes[rule]]
            axes.plot(range(iterations + 1), values, line, color=colour, marker=".", label=rule)
        axes.set(xlabel="version", title=what, ylim=(0, None))
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    both[0].legend(frameon=False, title="purification")
    _save(figure, out / "growth.svg")


def draw_masked(runs: list[Path], out: Path) -> None:
    """Share of the steps with positive advantage that shaping masked, by iteration."""
    figure, axes = plt.subplots(figsize=(9.5, 3.4))
    colours = ("#0b6e99", "#c2571a", "#1b7f5c", "#7b3f98")
    for run, colour, line in zip(runs, colours, ("-", "--", "-.", ":"), strict=False):
        directory = RunDirectory(run)
        rows = [row for row in directory.metrics() if "proas/mask_rate" in row]
        if not rows:
            sys.exit(f"{run} has no iteration in which anything was shaped")
        arm = str(directory.document().get("arm", run.name))
        values = [100 * row["proas/mask_rate"] for row in rows]
        axes.plot([row["iteration"] for row in rows], values, line, color=colour, marker=".", label=arm)
    axes.set(xlabel="iteration", ylabel="% of positive steps masked", ylim=(0, 100))
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.legend(frameon=False)
    _save(figure, out / "masked.svg")


def _telling(rollout: Rollout) -> tuple[int, int, str]:
    found = [verdict(step.label) for step in rollout.steps if step.label]
    return len(set(found)), found.count("progress"), rollout.id


def _short(text: str, most: int = 44) -> str:
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


@contextmanager
def _closing(world: World) -> Iterator[World]:
    try:
        yield world
    finally:
        world.close()


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
    parser.add_argument("runs", nargs="*", type=Path, metavar="RUN", help="folders of runs, for masked")
    parser.add_argument("--out", type=Path, default=IMAGES, metavar="FOLDER")
    asked = parser.parse_args()
    mpl.use("svg")
    mpl.rcParams.update({"svg.hashsalt": "proas", "svg.fonttype": "path", "font.size": 9.5})
    if asked.figure == "masked":
        if not asked.runs:
            parser.error("masked needs the folder of a run")
        draw_masked(asked.runs, asked.out)
        return
    connection = Connection.resolve()
    migrate(connection)
    {"ladder": draw_ladder, "growth": draw_growth}[asked.figure](connection, asked.out)


if __name__ == "__main__":
    main()
