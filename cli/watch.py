"""``proas watch``: a graph while a run evolves it."""

from __future__ import annotations

import json as json_module
import time
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Group, RenderableType
from rich.live import Live
from rich.text import Text

from proas.cli.console import Output, columns, facts_table, moment, plain
from proas.cli.options import DatabaseOptions, GraphMeant, Json, with_options

if TYPE_CHECKING:
    from proas.graph.reports import GraphStats
    from proas.graph.store import ReferenceGraph

__all__ = ["watch"]

_ROWS = 12
_SEARCHED = 2000
_METRICS = {
    "coverage": "proas/graph/coverage",
    "mask_rate": "proas/mask_rate",
    "success": "rollout/success",
}


@dataclass(frozen=True)
class Glance:
    """A graph and its run at one moment.

    Attributes:
        stats: Counts and versions of the graph.
        run: Folder of the run; ``None`` where none was found.
        metrics: Of each iteration, by its number.
    """

    stats: GraphStats
    run: Path | None
    metrics: dict[int, dict[str, float]]

    def document(self) -> dict[str, Any]:
        """The moment as values that JSON can hold."""
        found = self.stats
        return {
            "graph": found.graph,
            "version": found.version,
            "tasks": found.tasks,
            "states": found.states,
            "transitions": found.transitions,
            "successes": found.successes,
            "run": str(self.run) if self.run else None,
            "versions": [
                {
                    "version": made.k,
                    "added_states": made.added_states,
                    "added_transitions": made.added_transitions,
                    "run": made.run,
                    "at": made.at,
                    **{name: self.metrics.get(made.k, {}).get(key) for name, key in _METRICS.items()},
                }
                for made in found.versions
            ],
        }


@with_options
def watch(
    database: DatabaseOptions,
    graph: GraphMeant = None,
    run: Annotated[
        Path | None,
        typer.Option(
            "--run",
            help="Folder of the training run, for coverage, mask rate and success; if not given, one below the "
            "working folder that trains with this graph.",
            metavar="RUN",
        ),
    ] = None,
    interval: Annotated[
        float, typer.Option("--interval", min=0.2, max=3600.0, help="Seconds between two looks.", metavar="SECONDS")
    ] = 2.0,
    once: Annotated[bool, typer.Option("--once", help="Look once and end.", metavar="")] = False,
    json: Json = False,
) -> None:
    """Watch a graph grow while a run evolves it: versions, growth, coverage, mask rate. Ctrl-C ends it.

    In a pipe each new version is one line. With --json it looks once.
    """
    from proas.cli.database import connect, graph_meant
    from proas.training.run_directory import RunDirectory

    output = Output(json_wanted=json)
    store = graph_meant(connect(database, output), graph)
    if run is not None:
        RunDirectory(run).document()  # says what is wrong with a folder that holds no run
    folder = run if run is not None else _run_of(store.name, Path())
    if json or once:
        seen = _look(store, folder)
        output.result(seen.document(), *_view(seen))
        return
    with suppress(KeyboardInterrupt):  # the way to end it
        if output.out.is_terminal:
            _live(output, store, folder, interval)
        else:
            _lines(output, store, folder, interval)


def _live(output: Output, store: ReferenceGraph, folder: Path | None, interval: float) -> None:
    seen: Glance | None = None
    with Live(console=output.out, auto_refresh=False) as live:
        while True:
            seen = _look(store, folder, seen)
            live.update(Group(*_view(seen), Text("Ctrl-C ends", "dim")), refresh=True)
            time.sleep(interval)


def _lines(output: Output, store: ReferenceGraph, folder: Path | None, interval: float) -> None:
    """One line a version, each when it is there and, with a run, its metrics are too."""
    told = -1
    seen: Glance | None = None
    while True:
        seen = _look(store, folder, seen)
        for made in seen.document()["versions"]:
            if made["version"] <= told:
                continue
            told = made["version"]
            known = [f"{name.replace('_', ' ')} {made[name]:.0%}" for name in _METRICS if made[name] is not None]
            grown = f"+{made['added_states']:,} states, +{made['added_transitions']:,} transitions"
            output.out.print(plain(", ".join([f"version {told}: {grown}", *known])), soft_wrap=True)
        output.out.file.flush()
        time.sleep(interval)


def _look(store: ReferenceGraph, folder: Path | None, before: Glance | None = None) -> Glance:
    """The graph now; it is counted anew only for a version that was not seen before, as counting takes long."""
    from proas.training.run_directory import RunDirectory

    rows = RunDirectory(folder).metrics() if folder is not None else ()
    same = before is not None and before.stats.version == store.info().version
    stats = before.stats if before is not None and same else store.stats()
    return Glance(stats, folder, {int(row["iteration"]): row for row in rows if "iteration" in row})


def _run_of(graph: str, below: Path) -> Path | None:
    """The run below a folder that trains with this graph; the one whose metrics are newest, where there are several."""
    patterns = ("config.json", "*/config.json", "*/*/config.json")
    found: list[tuple[float, Path]] = []
    for file in islice((file for pattern in patterns for file in below.glob(pattern)), _SEARCHED):
        with suppress(OSError, ValueError):
            document = json_module.loads(file.read_text(encoding="utf-8"))
            if isinstance(document, dict) and document.get("graph") == graph:
                metrics = file.parent / "metrics.jsonl"
                found.append((metrics.stat().st_mtime if metrics.exists() else 0.0, file.parent))
    return max(found)[1] if found else None


def _view(seen: Glance) -> tuple[RenderableType, ...]:
    """What a person sees: 80 columns are enough."""
    found = seen.stats
    facts: dict[str, object] = {
        "version": found.version,
        "tasks": found.tasks,
        "states": found.states,
        "transitions": found.transitions,
        "successes": found.successes,
        "run": str(seen.run) if seen.run else "none found; --run names it",
    }
    if found.base:
        facts = {"base": found.base, **facts}
    numbers = ("version", "+ states", "+ trans.", "coverage", "masked", "success")
    table = columns(*numbers, "at", right=numbers)
    for made in seen.document()["versions"][-_ROWS:]:
        shares = ["-" if made[name] is None else f"{made[name]:.0%}" for name in _METRICS]
        grown = (f"{made['added_states']:,}", f"{made['added_transitions']:,}")
        table.add_row(str(made["version"]), *grown, *shares, moment(made["at"][5:19]))
    growth = _spark([made.added_transitions for made in found.versions[-60:]])
    shown: list[RenderableType] = [facts_table(facts, title=found.graph)]
    if len(found.versions) > 1:
        shown.append(Text(f"new transitions by version  {growth}"))
    return (*shown, table)


def _spark(values: list[int]) -> str:
    """Numbers as a row of bars."""
    bars = "▁▂▃▄▅▆▇█"
    most = max(values, default=0)
    return "".join(bars[round((len(bars) - 1) * value / most)] if most else bars[0] for value in values)
