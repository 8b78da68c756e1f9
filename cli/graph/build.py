"""``proas graph build``: seed a reference graph from a source."""

from __future__ import annotations

import time
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Self

import typer
from rich.console import Group
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.text import Text

from proas.cli.console import Output, facts_table, plain
from proas.cli.graph.sources import Asked, SourceOptions, chosen_builder, epilogue_of, one_path
from proas.cli.graph.sources.alfworld import AlfWorldOptions
from proas.cli.graph.sources.distill import DistillOptions
from proas.cli.graph.sources.quality import QualityOptions
from proas.cli.graph.sources.scienceworld import ScienceWorldOptions
from proas.cli.graph.sources.trajectories import TrajectoriesOptions
from proas.cli.graph.sources.webshop import WebShopOptions
from proas.cli.options import DatabaseOptions, EnvOptions, Json, Strict, TrialLimit, with_options

if TYPE_CHECKING:
    from proas.graph_builders import BuildReport, Built, Rejected

__all__ = ["BuildBar", "build"]

_SHOWN = 8

MANY_PATHS = frozenset({"trajectories"})
"""Sources that take any number of ``--data``, through their own options."""


@with_options
def build(
    alfworld: AlfWorldOptions,
    webshop: WebShopOptions,
    scienceworld: ScienceWorldOptions,
    distill: DistillOptions,
    trajectories: TrajectoriesOptions,
    quality: QualityOptions,
    database: DatabaseOptions,
    data: Annotated[
        list[Path] | None,
        typer.Option(
            "--data",
            help="Where the source lies: a folder, searched in depth, an archive or a file. Its default if not given; "
            "for alfworld ALFWORLD_DATA. May be repeated for trajectories.",
            metavar="PATH",
        ),
    ] = None,
    source: Annotated[
        str,
        typer.Option(
            "--source",
            help="What is built from: alfworld, webshop, scienceworld, trajectories or distill.",
            metavar="NAME",
        ),
    ] = "alfworld",
    env: Annotated[
        str | None,
        typer.Option("--env", help="Environment of the episodes, for trajectories and distill.", metavar="NAME"),
    ] = None,
    option: EnvOptions = None,
    graph: Annotated[
        str | None,
        typer.Option(
            "--graph",
            "-g",
            help="Graph to build into; made if it is new. Named after the source if not given.",
            metavar="NAME",
        ),
    ] = None,
    limit: TrialLimit = None,
    expand: Annotated[
        str,
        typer.Option(
            "--expand",
            help="Store the annotated solution (plan), every shortest one too (optimal), or also the states within R "
            "steps of these and the moves between them (around, R is 1 if not given; alfworld only).",
            metavar="plan|optimal|around[:R]",
        ),
    ] = "plan",
    workers: Annotated[
        int, typer.Option("--workers", min=0, help="Worker processes; 0 takes one a core.", metavar="N")
    ] = 1,
    strict: Strict = False,
    json: Json = False,
) -> None:
    """Build reference graphs from games and their plans, goals, recorded episodes or a model's attempts.

    Only what succeeds enters. Tasks that cannot be played, unsolvable or malformed, are counted and named, never
    fatal. A rerun goes on where an earlier one ended.
    """
    from proas.cli.database import prepare
    from proas.cli.rejects import end
    from proas.graph.store import ReferenceGraph
    from proas.graph_builders import BuildOptions, build_graph, check_source, expansion_and_radius

    output = Output(json_wanted=json)
    steps, radius = expansion_and_radius(expand)
    options = BuildOptions(expand=steps, radius=radius, limit=limit, workers=workers)
    check_source(source, options)
    name = graph or source
    asked = Asked(tuple(data or ()), env, output, tuple(option or ()), name, quality)
    groups: dict[str, SourceOptions] = {
        "alfworld": alfworld,
        "webshop": webshop,
        "scienceworld": scienceworld,
        "distill": distill,
        "trajectories": trajectories,
    }
    chosen = chosen_builder(source, asked, groups)
    path = one_path(asked.data, source) if source not in MANY_PATHS else None
    begun = time.monotonic()
    chosen.count(path, options)  # a source that cannot be read is told before a server is started or a graph made
    reading = time.monotonic() - begun  # for logs of episodes, nearly all there is to do
    connection = prepare(database, output)
    store = ReferenceGraph.create(connection, name)
    with BuildBar(output, f"Building {name}") as bar:
        report = build_graph(source, chosen, store, data=path, options=options, progress=bar)
    report = replace(report, seconds=report.seconds + reading)
    closing = epilogue_of(source, chosen, groups)
    output.result(report.as_json() | dict(closing.document), _table(report, closing.told), *closing.tables)
    _show_rejects(report, output, closing.told)
    if closing.warning:
        output.warn(closing.warning)
    end([rejected.as_reject() for rejected in report.rejects], strict=strict)
    if not report.tasks and not report.skipped:
        output.warn(f"nothing was built: {name} got no task; `proas graph drop {name}` removes it if it is empty")
        raise typer.Exit(1)
    if closing.failed:
        raise typer.Exit(1)


class BuildBar:
    """Draws a build: the bar follows what is stored, the text what was answered."""

    def __init__(self, output: Output, title: str) -> None:
        self._stack = ExitStack()
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=None),
            MofNCompleteColumn(),
            TextColumn("{task.fields[rate]}"),
            TimeRemainingColumn(),
            console=output.err,
            transient=True,
            disable=not output.err.is_terminal,
        )
        self._task = self._bar.add_task(title, total=None, rate="")

    def __enter__(self) -> Self:
        self._stack.enter_context(self._bar)
        return self

    def __exit__(self, *failure: object) -> None:
        self._stack.close()

    def begin(self, total: int) -> None:
        """The source holds ``total`` tasks."""
        self._bar.update(self._task, total=total)

    def answered(self, answer: Built | Rejected) -> None:
        """One more task is done with."""
        task = self._bar.tasks[0]
        rate = f"{task.speed:.0f}/s" if task.speed else ""
        self._bar.update(self._task, advance=1, rate=rate)

    def stored(self, tasks: int) -> None:
        """So many more tasks are in the database."""


def _table(report: BuildReport, told: frozenset[str]) -> Group:
    """The report; rejects with the problems of ``told`` have a table of their own."""
    apart = sum(count for name, count in report.rejected.items() if name in told)
    left = {name: count for name, count in sorted(report.rejected.items()) if name not in told}
    facts: dict[str, object] = {"tasks considered": report.considered - apart, "tasks with a graph": report.tasks}
    facts |= {f"  from {name}": count for name, count in sorted(report.built.items())}
    facts |= {"  unchanged": report.skipped, "without a graph": sum(left.values())}
    facts |= {f"  {name.replace('_', ' ')}": count for name, count in left.items()}
    facts |= {"states": f"{report.states:,}, {report.added_states:,} of them new"}
    facts |= {"transitions": f"{sum(report.transitions.values()):,}, {report.added_transitions:,} of them new"}
    facts |= {f"  {name}": count for name, count in sorted(report.transitions.items())}
    if cut := report.tallies.get("surroundings_cut_short"):
        left_out = report.tallies["states_left_out"]
        facts["surroundings cut short"] = f"{cut:,} tasks, {left_out:,} states left out (--max-states)"
    if report.carry_over_share is not None:
        facts["plans carried over as they are"] = f"{report.carry_over_share:.1%}"
    rate = f", {report.rate:.0f} tasks/s" if not apart else ""
    facts["time"] = f"{report.seconds:.1f} s{rate}"
    return facts_table(facts, title=f"Built {report.graph} from {report.source}")


def _show_rejects(report: BuildReport, output: Output, told: frozenset[str]) -> None:
    rejects = [rejected for rejected in report.rejects if rejected.problem not in told]
    if not rejects:
        return
    considered = report.considered - (len(report.rejects) - len(rejects))
    output.warn(f"{len(rejects):,} of {considered:,} tasks have no graph:")
    for rejected in rejects[:_SHOWN]:
        problem = Text(f"      {rejected.problem.replace('_', ' ')}  ", "yellow")
        line = Text.assemble(problem, plain(rejected.task), (f"  {plain(rejected.reason)}", "dim"))
        output.err.print(line, soft_wrap=True)
    more = len(rejects) - _SHOWN
    if more > 0:
        output.note(f"      ... and {more:,} more; --json lists them all")
