"""``proas demo``: the whole method once, on real parts, with something to look at after every step."""

from __future__ import annotations

import os
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import RenderableType
from rich.rule import Rule
from rich.text import Text

from proas.cli.console import Output, facts_table
from proas.cli.options import LARGEST, DatabaseOptions, Json, with_options
from proas.errors import DataError, GraphConflict

if TYPE_CHECKING:
    from proas.graph.connect import Connection
    from proas.graph.reports import EvolveReport
    from proas.graph.store import ReferenceGraph
    from proas.graph_builders import BuildReport
    from proas.rollouts import RolloutBatch
    from proas.shaping import Shaped

__all__ = ["demo"]

GRAPH = "demo"
LAYER = "demo-run"


@with_options
def demo(
    database: DatabaseOptions,
    data: Annotated[
        Path | None,
        typer.Option(
            "--data", help="Folder or archive with games; ALFWORLD_DATA if not given, else new ones.", metavar="PATH"
        ),
    ] = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the files.", metavar="DIR")] = Path("demo-out"),
    games: Annotated[int, typer.Option("--games", min=1, max=LARGEST, help="How many games.", metavar="N")] = 24,
    group_size: Annotated[
        int, typer.Option("--group-size", min=2, max=LARGEST, help="Rollouts of each game.", metavar="G")
    ] = 8,
    seed: Annotated[int, typer.Option("--seed", help="The same seed gives the same demo.", metavar="N")] = 0,
    json: Json = False,
) -> None:
    """Show the method end to end: a real Neo4j, reference graphs, rollouts, labels, shaping, evolution.

    Works in the graph `demo`, and in the layer `demo-run` over it, which is made afresh each time. Nothing is
    trained: what is shown is what a trainer would get. The server stays up at the end.
    """
    from proas.cli.database import prepare
    from proas.cli.demo_view import around, closing, graph_facts, growth, measures, shaped_steps

    output = Output(json_wanted=json)
    show = _Stage(output)
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"cannot make the folder {out}: {error.strerror}", hint="choose another with --out") from error

    show.title("A real Neo4j", "The reference graph lives in a database, not in the trainer.")
    connection = prepare(database, output)
    show.add(around(connection))

    origin = _games(data, out, games, seed)
    show.title("Reference graphs", "Each annotated plan is carried out in the game; every shortest solution is added.")
    base, built = _build(connection, origin, games, output)
    show.add(graph_facts(built, origin))

    show.title("Rollouts", "An agent that errs as language models do: it wanders, repeats, writes invalid commands.")
    rollouts, unplayable = _play(origin, games, group_size, seed, output)
    won = sum(rollout.success for rollout in rollouts)
    show.add(facts_table({"rollouts": len(rollouts), "solved": f"{won:,}  {won / len(rollouts):.0%}"}))

    show.title("Labels, evolution, shaping", "GRPO's advantages, shaped with two presets side by side.")
    run = _run(base, rollouts, out, output)
    show.add(measures(run.shaped), *shaped_steps(run.shaped))

    show.title("Growth", f"The successes join the layer {LAYER}; the graph {GRAPH} below it stays as it is.")
    show.add(*growth(run.evolved, run.layer.diff(0, run.evolved.version), rollouts))

    show.title("Where to look")
    show.add(*closing(out, rollouts.rollouts[0].task.split("/")[0]))
    document = {
        "graph": GRAPH,
        "layer": LAYER,
        "games": len(rollouts.by_task()),
        "unplayable": unplayable,
        "from": str(origin),
        "built": built.as_json(),
        "rollouts": len(rollouts),
        "successes": won,
        "evolved": asdict(run.evolved),
        "metrics": {name: shaped.metrics for name, shaped in run.shaped.items()},
        "out": str(out),
        "uri": connection.uri,
    }
    output.result(document)


class _Stage:
    """Shows one step after another; says nothing where a program reads."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self._number = 0

    def title(self, title: str, meaning: str = "") -> None:
        """Begin a step."""
        self._number += 1
        heading = Text.assemble((f"{self._number} {title}", "bold cyan"))
        self.add("", Rule(heading, align="left", style="cyan"))
        if meaning:
            self.add(Text(meaning, "dim"))

    def add(self, *renderables: RenderableType) -> None:
        """Show something."""
        self._output.show(*renderables)


@dataclass(frozen=True)
class _Run:
    """What the labelling and shaping part came to."""

    layer: ReferenceGraph
    evolved: EvolveReport
    shaped: dict[str, Shaped]


def _games(data: Path | None, out: Path, count: int, seed: int) -> Path:
    """Where the games are; new ones are made when the user names none."""
    from proas.envs.alfworld.generator import generate

    named = data or (Path(os.environ["ALFWORLD_DATA"]) if os.environ.get("ALFWORLD_DATA") else None)
    if named is not None:
        return named
    folder = out / "games"
    shutil.rmtree(folder, ignore_errors=True)  # of an earlier demo, perhaps with another seed
    for trial in generate(count, seed=seed):
        trial.write(folder)
    return folder


def _build(connection: Connection, data: Path, games: int, output: Output) -> tuple[ReferenceGraph, BuildReport]:
    from proas.cli.graph.build import BuildBar
    from proas.graph.store import ReferenceGraph
    from proas.graph_builders import BuildOptions, build_graph, builder

    graph = ReferenceGraph.create(connection, GRAPH)
    with BuildBar(output, "Building") as bar:
        options = BuildOptions(expand="optimal", limit=games)
        report = build_graph("alfworld", builder("alfworld"), graph, data=data, options=options, progress=bar)
    return graph, report


def _play(data: Path, games: int, group_size: int, seed: int, output: Output) -> tuple[RolloutBatch, list[str]]:
    """Rollouts of a noisy expert, and the games that cannot be played, with the reason."""
    from proas.cli.rollout import Played
    from proas.envs import EnvSpec, open_world
    from proas.envs.collect import CollectSettings
    from proas.rollouts import RolloutBatch

    world = open_world(EnvSpec("alfworld", data))
    tasks = world.tasks[:games]
    settings = CollectSettings(policy="noisy", group_size=group_size, seed=seed)
    played = Played()
    with output.progress("Playing", len(tasks)) as advance:
        rollouts = tuple(played.rollouts(world, tasks, settings, advance, states=True))
    if not rollouts:
        raise DataError(f"no game under {data} can be played", hint="leave --data out to have new ones made")
    return RolloutBatch(rollouts), [f"{reject.id}: {reject.reason}" for reject in played.rejects]


def _run(base: ReferenceGraph, rollouts: RolloutBatch, out: Path, output: Output) -> _Run:
    """One iteration in a layer of its own: label, shape, evolve, and label and shape again with what was learnt."""
    from proas.graph.store import ReferenceGraph
    from proas.rollout_files import write_rollouts
    from proas.shaping import preset, shape
    from proas.states import ladder_of_rollout

    layer = ReferenceGraph(base.connection, LAYER)
    if layer.exists():
        if layer.info().base != GRAPH:
            raise GraphConflict(f"graph {LAYER!r} is not a layer over {GRAPH!r}", hint="rename or drop it")
        layer.drop()
    layer = ReferenceGraph.create(base.connection, LAYER, base=GRAPH)
    with output.waiting("Labelling, shaping, evolving"):
        before = layer.label(rollouts)
        evolved = layer.evolve(
            rollouts,
            purification=preset("membership").purification,
            ladder_of=ladder_of_rollout,
            run="demo",
        )
        after = layer.label(rollouts)
        shaped = {"paper": shape(before, preset("paper")), "membership": shape(after, preset("membership"))}
    write_rollouts(out / "rollouts.jsonl", rollouts)
    write_rollouts(out / "labelled.jsonl", before)
    for name, result in shaped.items():
        write_rollouts(out / f"shaped-{name}.jsonl", result.batch)
    return _Run(layer, evolved, shaped)
