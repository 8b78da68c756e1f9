"""``proas train``: train a policy."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from proas.cli.console import Output, facts_table
from proas.cli.options import LARGEST, DatabaseOptions, EnvOptions, Json, env_spec, with_options
from proas.cli.train.ending import ending_in_order
from proas.cli.train.verl import BackendName, VerlOptions, train_with_verl

if TYPE_CHECKING:
    from proas.graph.connect import Connection
    from proas.training.config import TrainConfig
    from proas.training.run_directory import RunDirectory

__all__ = ["assignments", "train"]


class AlgoName(StrEnum):
    """Estimators of the base advantage."""

    GRPO = "grpo"
    DAPO = "dapo"
    GIGPO = "gigpo"
    MIGPO = "migpo"
    HGPO = "hgpo"
    GRAPHGPO = "graphgpo"
    TIGPO = "tigpo"
    PPO = "ppo"
    SFT = "sft"


class ShapingName(StrEnum):
    """What is done to the base advantage."""

    NONE = "none"
    RECOMMENDED = "recommended"
    MEMBERSHIP = "membership"
    PAPER = "paper"
    LOOP_MASK = "loop-mask"


@with_options
def train(
    database: DatabaseOptions,
    verl: VerlOptions,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Folder of the run; made if it is new.", metavar="RUN")
    ] = None,
    env: Annotated[
        str | None,
        typer.Option(
            "--env", help="The environment; alfworld if not given. `proas env list` names them.", metavar="NAME"
        ),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option("--data", help="The environment's data; its default if not given.", metavar="PATH"),
    ] = None,
    option: EnvOptions = None,
    algo: Annotated[
        AlgoName | None,
        typer.Option(
            "--algo",
            help="What makes the base advantage; grpo if not given. sft only imitates demonstrations.",
            metavar="grpo|dapo|gigpo|migpo|hgpo|graphgpo|tigpo|ppo|sft",
        ),
    ] = None,
    proas: Annotated[
        bool, typer.Option("--proas", help="Shape it by the reference graph: --shaping recommended.", metavar="")
    ] = False,
    shaping: Annotated[
        ShapingName | None,
        typer.Option(
            "--shaping",
            help="Shape by the graph's distances to the goal (recommended), by membership in the graph (membership) "
            "or as the paper has it (paper), by the loop mask, a control without a graph (loop-mask), or not at all "
            "(none).",
            metavar="none|recommended|membership|paper|loop-mask",
        ),
    ] = None,
    preset: Annotated[
        str | None,
        typer.Option(
            "--preset",
            help="Settings to start from: tiny-alfworld (if not given), full, smoke; with verl one of its own.",
            metavar="NAME",
        ),
    ] = None,
    smoke: Annotated[
        bool, typer.Option("--smoke", help="Check the mechanics in a minute: --preset smoke.", metavar="")
    ] = False,
    seed: Annotated[
        int | None, typer.Option("--seed", min=0, help="The same seed gives the same run; 0 if not given.", metavar="N")
    ] = None,
    iterations: Annotated[
        int | None, typer.Option("--iterations", min=0, max=LARGEST, help="Iterations in all.", metavar="N")
    ] = None,
    tasks: Annotated[
        int | None, typer.Option("--tasks", min=1, max=LARGEST, help="Tasks an iteration.", metavar="N")
    ] = None,
    group_size: Annotated[
        int | None, typer.Option("--group-size", min=2, max=LARGEST, help="Rollouts of each task.", metavar="G")
    ] = None,
    workers: Annotated[
        int | None, typer.Option("--workers", min=1, max=256, help="Processes, one thread each.", metavar="N")
    ] = None,
    graph: Annotated[
        str | None,
        typer.Option(
            "--graph",
            "-g",
            help="Reference graph that the run's own layer lies over; an empty graph if not given.",
            metavar="NAME",
        ),
    ] = None,
    init: Annotated[
        Path | None,
        typer.Option("--init", help="Start from this run's policy, in place of a warm start.", metavar="RUN"),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            help="Change a setting by its path, such as update.learning_rate=1e-4; may be repeated.",
            metavar="NAME=VALUE",
        ),
    ] = None,
    resume: Annotated[
        bool,
        typer.Option("--resume", help="Go on with the run in RUN from its last checkpoint.", metavar=""),
    ] = False,
    json: Json = False,
) -> None:
    """Train a small language model that acts, and measure it on fixed tasks.

    Each iteration plays a group of rollouts of some tasks, labels them by the run's own layer of the reference graph
    where the shaping asks for it, shapes their advantages and updates the policy. The run's folder holds its
    settings, metrics, checkpoints and result. Ctrl-C or SIGTERM ends a run in order; --resume goes on with it.
    """
    from proas.training.inherited import with_policy_of
    from proas.training.run_directory import RunDirectory

    output = Output(json_wanted=json)
    if verl.backend is BackendName.VERL:
        ours: dict[str, object] = {
            "--env": env,
            "--option": option,
            "--algo": algo,
            "--proas": proas,
            "--smoke": smoke,
            "--init": init,
        }
        ours |= {"--iterations": iterations, "--tasks": tasks, "--group-size": group_size, "--workers": workers}
        verl.refuse_ours({**ours, "--set": settings, "--resume": resume})
        by = None if shaping is None else shaping.value
        train_with_verl(verl, database, output, preset=preset, data=data, graph=graph, seed=seed, shaping=by, out=out)
        return
    directory = RunDirectory(verl.folder_of_ours(out))
    given = {
        "env": env,
        "data": None if data is None else str(data.absolute()),
        "algorithm": None if algo is None else algo.value,
        "seed": seed,
        "iterations": iterations,
        "tasks": tasks,
        "group_size": group_size,
        "workers": workers,
        "graph_base": graph,
    }
    chosen = {name: value for name, value in given.items() if value is not None}
    if resume:
        config, graph_name, start = _stored(directory, chosen, settings, shaping, preset, init, other=proas or smoke)
    else:
        size = "smoke" if smoke else (preset or "tiny-alfworld")
        by = _shaping(proas=proas, shaping=shaping)
        if smoke and data is None:
            chosen |= _samples(env or "alfworld")
        config = _settings(size, by, chosen, settings)
        config = config.updated({f"options.{k}": v for k, v in env_spec(config.env, data, option).options.items()})
        _refuse_idle(config, by)
        if init is not None:
            config = with_policy_of(config, RunDirectory(init), assignments(settings))
        graph_name, start = _graph_name(directory.path) if config.uses_graph else "", init
    connection = _connection(config, database, output) if config.uses_graph else None
    if not resume:
        directory.begin(config, graph=graph_name, init="" if start is None else str(start.absolute()))
    document = _run(config, directory, output, connection, graph_name, start, resume=resume)
    output.result(
        {**document, "out": str(out)}, facts_table(_summary(document, graph_name, directory.path), title=config.arm)
    )


def _settings(size: str, shaping: ShapingName, chosen: dict[str, Any], settings: list[str] | None) -> TrainConfig:
    from proas.training.config import preset
    from proas.training.shapings import shaped_by

    return shaped_by(preset(size), shaping.value).updated({**chosen, **assignments(settings)})


def _shaping(*, proas: bool, shaping: ShapingName | None) -> ShapingName:
    from proas.errors import UsageError

    if proas and shaping in (ShapingName.NONE, ShapingName.LOOP_MASK):
        raise UsageError(
            f"--proas shapes by the graph, and --shaping {shaping.value} does not", hint="leave one of them out"
        )
    return shaping or (ShapingName.RECOMMENDED if proas else ShapingName.NONE)


def _refuse_idle(config: TrainConfig, shaping: ShapingName) -> None:
    """What was asked for and would have no part in the run is a slip, not to be passed over."""
    from proas.errors import UsageError

    if config.algorithm == "sft" and shaping is not ShapingName.NONE:
        raise UsageError(
            f"sft only imitates: there is nothing that the shaping {shaping.value} would shape",
            hint="leave --proas and --shaping out, or choose another --algo",
        )
    if config.graph_base and not config.uses_graph:
        raise UsageError(
            f"{config.arm} asks no graph, and --graph names {config.graph_base!r}",
            hint="shape by the graph: --proas, or leave --graph out",
        )


def _samples(env: str) -> dict[str, Any]:
    """The tasks that come with the package, where there are any: enough to check the mechanics."""
    from proas.envs import env_kind

    samples = env_kind(env).samples
    return {} if samples is None else {"data": str(samples())}


def assignments(settings: list[str] | None) -> dict[str, str]:
    """What ``--set`` asks for, values by path.

    Raises:
        UsageError: A word is not of the form NAME=VALUE, or sets the preset, which other settings start from.
    """
    from proas.errors import UsageError

    found: dict[str, str] = {}
    for word in settings or ():
        name, equals, value = word.partition("=")
        if not name or not equals:
            raise UsageError(f"--set {word!r} is not of the form NAME=VALUE", hint="for example update.kl=0.01")
        if name == "preset":
            raise UsageError(f"--set {word} changes no setting", hint=f"choose the preset by --preset {value}")
        found[name] = value
    return found


def _stored(
    directory: RunDirectory,
    chosen: dict[str, Any],
    settings: list[str] | None,
    shaping: ShapingName | None,
    preset: str | None,
    init: Path | None,
    *,
    other: bool,
) -> tuple[TrainConfig, str, Path | None]:
    """Settings, graph and start of a run that goes on; only the number of iterations may change."""
    from proas.errors import UsageError

    document = directory.document()
    config = directory.config()
    changed = {k: v for k, v in chosen.items() if k != "iterations" and config.to_dict()[k] != v}
    if changed or settings or shaping or preset or init or other:
        raise UsageError(
            "--resume goes on with the run's own settings; only --iterations may be given anew",
            hint="leave the other options out, or start another run",
        )
    if "iterations" in chosen:
        config = config.updated({"iterations": chosen["iterations"]})
    start = str(document.get("init", ""))
    return config, str(document.get("graph", "")), Path(start) if start else None


def _graph_name(out: Path) -> str:
    """Name of the run's own graph: the folder's, and a digest that no earlier run in it has had."""
    import re
    import time

    from proas.keys import digest

    stem = re.sub(r"[^A-Za-z0-9]+", "-", out.absolute().name).strip("-")[:40] or "run"
    return f"run-{stem}-{digest(str(out.absolute()), time.time_ns())[:8]}"


def _connection(config: TrainConfig, database: DatabaseOptions, output: Output) -> Connection:
    from proas.cli.database import existing_graph, prepare

    connection = prepare(database, output)
    if config.graph_base:
        existing_graph(connection, config.graph_base)
    return connection


def _run(
    config: TrainConfig,
    directory: RunDirectory,
    output: Output,
    connection: Connection | None,
    graph: str,
    init: Path | None,
    *,
    resume: bool,
) -> dict[str, Any]:
    from proas.cli.train.needs import require_torch
    from proas.cli.train.view import TrainingView

    require_torch()
    from proas.training.tensorboard import tensorboard_writer
    from proas.training.trainer import Trainer

    with ending_in_order(), TrainingView(output, config) as view, tensorboard_writer(directory.path) as writer:
        trainer = Trainer(config, directory, view, connection=connection, graph=graph, init=init, writer=writer)
        return trainer.run(resume=resume)


def _summary(document: dict[str, Any], graph: str, out: Path) -> dict[str, object]:
    last: dict[str, float] = document["last"]
    success = {
        f"success at temperature {name.split('/')[1][1:]}": f"{value:.0%}"
        for name, value in last.items()
        if name.startswith("evaluation/") and name.endswith("/success")
    }
    facts: dict[str, object] = {
        "iterations": document["iterations"],
        "episodes": document["episodes"],
        "tasks": f"{document['training_tasks']:,} for training, {document['validation_tasks']:,} for validation",
        **success,
        "seconds": round(document["seconds"], 1),
    }
    if document["rejected"]:
        facts["tasks that cannot be played"] = len(document["rejected"])
    if graph:
        facts["graph"] = graph
    return facts | {"run": out}
