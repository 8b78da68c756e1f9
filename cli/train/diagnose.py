"""``proas diagnose``: experiments on a run's policy, and what its labels are worth."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from proas.cli.console import Output
from proas.cli.options import LARGEST, DatabaseOptions, Json, with_options
from proas.cli.train.diagnose_credit import credit
from proas.cli.train.diagnose_parts import Out, Run, finish, listed, ready
from proas.cli.train.diagnose_temperatures import temperatures
from proas.cli.train.diagnose_view import labels_tables, noise_tables, suppress_tables
from proas.cli.train.run_options import At, Data, Split
from proas.errors import UsageError

if TYPE_CHECKING:
    from proas.graph import Connection, ReferenceGraph
    from proas.training.interventions.bench import Source
    from proas.training.interventions.verdicts import Labeller
    from proas.training.run_directory import RunDirectory

__all__ = ["app"]

app = typer.Typer(
    name="diagnose",
    help="Experiments on a trained policy: noise in its past, forbidden actions, labels against optimal play, "
    "temperatures, credit by the form of the action.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)

Temperature = Annotated[
    float | None,
    typer.Option(
        "--temperature", min=0.05, max=10.0, help="Of drawing; that of the run's training if not given.", metavar="T"
    ),
]
Seed = Annotated[int, typer.Option("--seed", min=0, help="The same seed gives the same numbers.", metavar="N")]
Workers = Annotated[
    int,
    typer.Option("--workers", min=1, max=256, help="Processes; the numbers do not depend on it.", metavar="N"),
]
TrainingSplit = Annotated[
    str | None,
    typer.Option("--split", help="A split of the run's data; its training tasks if not given.", metavar="NAME"),
]
OwnGraph = Annotated[
    str | None,
    typer.Option(
        "--graph",
        "-g",
        help="Graph that labels; the run's own if not given, and the loop mask for a run without one.",
        metavar="NAME",
    ),
]


class Place(StrEnum):
    """Where steps are put in."""

    STATE = "state"
    START = "start"


class Walker(StrEnum):
    """Whose way the situations lie on."""

    POLICY = "policy"
    EXPERT = "expert"


app.command("credit")(credit)
app.command("temperatures")(temperatures)


@app.command("noise")
def noise(
    run: Run,
    states: Annotated[
        int, typer.Option("--states", min=1, max=LARGEST, help="Situations, one of a rollout each.", metavar="N")
    ] = 64,
    continuations: Annotated[
        int,
        typer.Option("--continuations", min=1, max=LARGEST, help="Of each situation and past.", metavar="N"),
    ] = 50,
    steps: Annotated[
        str, typer.Option("--steps", help="Numbers of steps that are put in.", metavar="K,K,...")
    ] = "0,1,2,4,8",
    place: Annotated[
        Place,
        typer.Option(
            "--place", help="Right before the situation, or at the start of the history.", metavar="state|start"
        ),
    ] = Place.STATE,
    walker: Annotated[
        Walker,
        typer.Option(
            "--walker",
            help="Whose way the situations lie on: the policy's own, or the environment's expert's.",
            metavar="policy|expert",
        ),
    ] = Walker.POLICY,
    horizon: Annotated[
        int | None,
        typer.Option(
            "--horizon",
            min=1,
            max=LARGEST,
            help="Steps left to every continuation; as many as the episode had left if not given.",
            metavar="N",
        ),
    ] = None,
    split: Split = None,
    data: Data = None,
    checkpoint: At = None,
    temperature: Temperature = None,
    seed: Seed = 0,
    workers: Workers = 1,
    out: Out = None,
    json: Json = False,
) -> None:
    """Put unreasonable steps into what the policy sees of the past, and measure what it then achieves.

    They leave the environment exactly as it was, and as many steps are left. As many harmless steps, about as long,
    tell apart what length alone does.
    """
    output = Output(json_wanted=json)
    directory = ready(run)
    from proas.training.interventions.bench import Bench, Source, in_order_of
    from proas.training.interventions.noise import NoiseSettings, measure_noise
    from proas.training.measure import data_of

    settings = NoiseSettings(
        states=states,
        continuations=continuations,
        steps=listed(steps, int, "numbers", "0,1,2,4,8"),
        temperature=temperature,
        place=place.value,
        player=walker.value,
        horizon=horizon,
        seed=seed,
        workers=workers,
    )
    source = Source.of(directory, data_of(directory.config(), split, data), checkpoint)
    bench = Bench.shared(source)
    own = split is None and data is None
    tasks = bench.validation_tasks() if own else in_order_of(seed, "tasks", list(bench.world.tasks))
    with output.progress("Going on", states) as advance:
        report = measure_noise(source, tasks, settings, advance)
    from proas.training.interventions.figures import draw_noise

    finish(output, run, out, "noise", report, lambda file: draw_noise(report, file), noise_tables(report))


@app.command("suppress")
@with_options
def suppress(
    database: DatabaseOptions,
    run: Run,
    rollouts: Annotated[int, typer.Option("--rollouts", min=1, max=LARGEST, help="Failed rollouts.", metavar="N")] = 48,
    positions: Annotated[
        int, typer.Option("--positions", min=1, max=LARGEST, help="Positions in each.", metavar="N")
    ] = 4,
    continuations: Annotated[
        int,
        typer.Option(
            "--continuations",
            min=1,
            max=LARGEST,
            help="Of each position, with and without its action forbidden.",
            metavar="N",
        ),
    ] = 20,
    horizon: Annotated[
        int | None,
        typer.Option(
            "--horizon",
            min=0,
            max=LARGEST,
            help="Steps left to every continuation; half the step limit if not given; 0: as many as the rollout had.",
            metavar="N",
        ),
    ] = None,
    graph: OwnGraph = None,
    split: TrainingSplit = None,
    data: Data = None,
    checkpoint: At = None,
    temperature: Temperature = None,
    seed: Seed = 0,
    workers: Workers = 1,
    out: Out = None,
    json: Json = False,
) -> None:
    """Forbid the exact action at positions of failed rollouts, and measure how often the policy then recovers.

    Says whether the future drift of a step predicts what the step is to blame for, with the length of the prefix and
    the steps left controlled for.
    """
    output = Output(json_wanted=json)
    directory = ready(run)
    from proas.training.interventions.suppress import SuppressSettings, measure_suppression

    settings = SuppressSettings(
        rollouts=rollouts,
        positions=positions,
        continuations=continuations,
        temperature=temperature,
        horizon=horizon,
        seed=seed,
        workers=workers,
    )
    source = _trained_on(directory, split, data, checkpoint)
    labelling = _graph(directory, graph, database, output)
    tasks = _tasks(source, labelling, own=split is None and data is None, seed=seed)
    labeller, labels = _labeller(labelling, source.iteration)
    with output.progress("Going on", rollouts * positions) as advance:
        report = measure_suppression(source, tasks, labeller, labels, settings, advance)
    from proas.training.interventions.figures import draw_suppression

    finish(output, run, out, "suppress", report, lambda file: draw_suppression(report, file), suppress_tables(report))


@app.command("labels")
@with_options
def labels(
    database: DatabaseOptions,
    run: Run,
    tasks: Annotated[int, typer.Option("--tasks", min=1, max=LARGEST, help="Tasks looked at.", metavar="N")] = 16,
    group_size: Annotated[
        int,
        typer.Option(
            "--group-size", min=2, max=LARGEST, help="Rollouts of each, for the sample and in a round.", metavar="G"
        ),
    ] = 8,
    rounds: Annotated[
        int,
        typer.Option(
            "--rounds", min=1, max=LARGEST, help="Rounds that the compared graphs learn of each policy.", metavar="N"
        ),
    ] = 3,
    support: Annotated[
        str,
        typer.Option("--support", help="Demonstrations that a transition must have.", metavar="N,N,..."),
    ] = "1,2,3",
    graph: OwnGraph = None,
    split: TrainingSplit = None,
    data: Data = None,
    temperature: Temperature = None,
    seed: Seed = 0,
    out: Out = None,
    json: Json = False,
) -> None:
    """Report on a run's labels: over training, and against optimal play as the graph grows.

    The same steps are labelled by the run's graph at its versions, and by two graphs that learn from the same successes
    of the stored policies and differ in purification; each with more and more demonstrations asked of a transition.
    """
    output = Output(json_wanted=json)
    directory = ready(run)
    from proas.cli.database import prepare
    from proas.training.interventions.bench import Source
    from proas.training.interventions.label_report import Judges, LabelSettings, report_labels

    supports = listed(support, int, "numbers", "0,1,2,4,8")
    if not supports or min(supports) < 1:
        raise UsageError(f"--support {support}: give numbers of at least 1", hint="for example 1,2,3")
    settings = LabelSettings(tasks, group_size, rounds, supports, temperature, seed)
    newest = _trained_on(directory, split, data, None)
    connection = prepare(database, output)
    labelling = _graph(directory, graph, database, output, connection)
    chosen = _tasks(newest, labelling, own=split is None and data is None, seed=seed)[:tasks]
    judges = Judges(
        connection=connection,
        own=labelling,
        base=directory.config().graph_base,
        labeller=lambda iteration: _labeller(labelling, iteration)[0],
        labels=_labeller(labelling, newest.iteration)[1],
    )
    sources = [Source(newest.run, iteration, newest.data) for iteration in _stored(directory)]
    with output.waiting("Playing"):
        report = report_labels(directory, sources, chosen, judges, settings)
    from proas.training.interventions.figures import draw_labels

    finish(output, run, out, "labels", report, lambda file: draw_labels(report, file), labels_tables(report))


def _trained_on(directory: RunDirectory, split: str | None, data: Path | None, checkpoint: int | None) -> Source:
    """A stored policy on the run's training data, or on other data."""
    from proas.training.interventions.bench import Source
    from proas.training.measure import data_of
    from proas.training.tasks import Splits

    config = directory.config()
    own = split is None and data is None
    where = (
        Splits.of(config.data, config.train_split, config.valid_split).train if own else data_of(config, split, data)
    )
    return Source.of(directory, where, checkpoint)


def _graph(
    directory: RunDirectory,
    name: str | None,
    database: DatabaseOptions,
    output: Output,
    connection: Connection | None = None,
) -> ReferenceGraph | None:
    """The graph that labels; ``None`` where the loop mask does."""
    from proas.cli.database import connect, existing_graph

    chosen = name or str(directory.document().get("graph", ""))
    if not chosen:
        return None
    return existing_graph(connection or connect(database, output), chosen)


def _tasks(source: Source, graph: ReferenceGraph | None, *, own: bool, seed: int) -> list[str]:
    """Tasks in an order of the seed's: those that the graph knows, where one labels."""
    from proas.training.interventions.bench import Bench, in_order_of

    bench = Bench.shared(source)
    tasks = bench.training_tasks() if own else list(bench.world.tasks)
    if graph is not None:
        known = {task.key for task in graph.tasks()}
        tasks = [task for task in tasks if task in known]
        if not tasks:
            raise UsageError(
                f"graph {graph.name!r} knows none of the tasks",
                hint="name another by --graph, or other tasks by --data",
            )
    return in_order_of(seed, "tasks", tasks)


def _labeller(graph: ReferenceGraph | None, iteration: int) -> tuple[Labeller, str]:
    """Who labels rollouts of an iteration, and its name."""
    from proas.training.interventions.verdicts import loop_mask_labels

    if graph is None:
        return loop_mask_labels, "loop mask"
    version = min(iteration, graph.info().version)
    return (lambda batch: graph.label(batch, version=version)), f"graph {graph.name} at version {version}"


def _stored(directory: RunDirectory) -> list[int]:
    """Iterations with a checkpoint."""
    return sorted(int(file.stem.rpartition("-")[2]) for file in directory.checkpoints.glob("iteration-*.pt"))
