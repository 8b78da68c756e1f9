"""``proas train --backend verl``: a preset becomes a command of verl's, which is printed and run."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast, get_args

import typer
from rich.text import Text

from proas.cli.console import Output
from proas.cli.options import DatabaseOptions
from proas.cli.train.ending import answering

if TYPE_CHECKING:
    from proas.integrations.verl.command import VerlCommand

__all__ = ["BackendName", "VerlOptions", "run_to_its_end", "train_with_verl"]

_PANEL = "With --backend verl"


class BackendName(StrEnum):
    """What trains."""

    REFERENCE = "reference"
    VERL = "verl"


class LoopName(StrEnum):
    """What a row of verl's batch is."""

    STEPS = "steps"
    TRAJECTORY = "trajectory"


@dataclass(frozen=True, slots=True)
class VerlOptions:
    """What only runs with verl take.

    Attributes:
        backend: What trains.
        dry_run: Print the command only.
        val_data: Data of the tasks for evaluation.
        run_name: Name of the run and of its layer.
        loop: What a row of the batch is.
        model: Another model than the preset's.
        overrides: Settings of verl's own.
    """

    backend: Annotated[
        BackendName,
        typer.Option(
            "--backend", help="Train small policies here, or language models with verl.", metavar="reference|verl"
        ),
    ] = BackendName.REFERENCE
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Print the command, and do not run it.", metavar="", rich_help_panel=_PANEL),
    ] = False
    val_data: Annotated[
        Path | None,
        typer.Option(
            "--val-data",
            help="Data of the tasks for evaluation; the environment's default if not given.",
            metavar="PATH",
            rich_help_panel=_PANEL,
        ),
    ] = None
    run_name: Annotated[
        str | None,
        typer.Option(
            "--run",
            help="Name of the run and of its own layer of the graph; made of preset, loop and seed if not given.",
            metavar="NAME",
            rich_help_panel=_PANEL,
        ),
    ] = None
    loop: Annotated[
        LoopName,
        typer.Option(
            "--loop",
            help="One row a step, or one sequence a trajectory.",
            metavar="steps|trajectory",
            rich_help_panel=_PANEL,
        ),
    ] = LoopName.STEPS
    model: Annotated[
        str | None,
        typer.Option(
            "--model",
            help="Another model than the preset's: a name or a folder.",
            metavar="NAME",
            rich_help_panel=_PANEL,
        ),
    ] = None
    overrides: Annotated[
        list[str] | None,
        typer.Argument(
            help="Settings of verl's, such as trainer.total_training_steps=20; they win over the preset's.",
            metavar="[OVERRIDES]...",
            rich_help_panel=_PANEL,
        ),
    ] = None

    def refuse_ours(self, given: Mapping[str, object]) -> None:
        """Options of the reference trainer that were given to verl are a slip, not to be passed over.

        Raises:
            UsageError: One of them was given.
        """
        from proas.errors import UsageError

        for name, value in given.items():
            if value:
                raise UsageError(
                    f"{name} is for the reference trainer",
                    hint="verl takes its settings as words at the end, KEY=VALUE",
                )

    def folder_of_ours(self, out: Path | None) -> Path:
        """The folder of a run of the reference trainer.

        Raises:
            UsageError: No folder was given, or an option that means something to verl only.
        """
        from proas.errors import UsageError

        given = {
            "--dry-run": self.dry_run,
            "--val-data": self.val_data is not None,
            "--run": self.run_name is not None,
            "--loop": self.loop is not LoopName.STEPS,
            "--model": self.model is not None,
            repr(next(iter(self.overrides or ()), "")): bool(self.overrides),
        }
        for name, was in given.items():
            if was:
                raise UsageError(f"{name} means something to verl only", hint="add --backend verl, or leave it out")
        if out is None:
            raise UsageError("where does the run go?", hint="--out RUN names its folder")
        return out


def train_with_verl(
    options: VerlOptions,
    database: DatabaseOptions,
    output: Output,
    *,
    preset: str | None,
    data: Path | None,
    graph: str | None,
    seed: int | None,
    shaping: str | None,
    out: Path | None,
) -> None:
    """Print the command, and run it unless only printing is wanted.

    Args:
        options: Options of verl's.
        database: The graph's database.
        output: Where to print.
        preset: Name of a preset (``proas.integrations.verl.presets``).
        data: Data of the tasks to train on.
        graph: The reference graph; the environment's name if not given.
        seed: Seed; 0 if not given.
        shaping: ``paper``, ``membership`` or ``recommended``.
        out: Folder for checkpoints and logs; ``runs`` if not given.

    Raises:
        UsageError: There is no such preset, or no preset is named.
        GraphNotFound: The graph is not there.
    """
    from proas.errors import UsageError
    from proas.integrations.verl.command import VerlCommand
    from proas.integrations.verl.presets import PRESETS, RunPlan
    from proas.integrations.verl.presets import preset as preset_named
    from proas.shaping.config import PresetName

    if preset is None:
        raise UsageError("which preset?", hint=f"--preset one of {', '.join(PRESETS)}")
    if shaping not in (None, *get_args(PresetName)):
        raise UsageError(
            f"--shaping {shaping} is not for verl", hint=f"{', '.join(get_args(PresetName))}, or a preset ...-baseline"
        )
    chosen = preset_named(preset)
    plan = RunPlan(
        train_data="" if data is None else str(data.absolute()),
        val_data="" if options.val_data is None else str(options.val_data.absolute()),
        graph=graph or "",
        run=options.run_name or "",
        seed=seed or 0,
        loop=options.loop.value,
        shaping=cast("PresetName", shaping or "paper"),
        model=options.model or "",
        out=(out or Path("runs")).absolute(),
    )
    command = VerlCommand(chosen, plan, tuple(options.overrides or ()))
    document = {
        "preset": preset,
        "command": command.words("python"),
        "graph": (graph or chosen.env) if command.uses_graph else None,
        "gpus": chosen.gpus,
        "ran": not options.dry_run,
    }
    output.result(document, Text(command.text(), no_wrap=True))
    if not options.dry_run:
        _run(command, database, output, graph or chosen.env)


def _run(command: VerlCommand, database: DatabaseOptions, output: Output, graph: str) -> None:
    from importlib.util import find_spec

    from proas.cli.database import existing_graph, prepare
    from proas.errors import UsageError

    if find_spec("verl") is None:
        raise UsageError("training with verl needs verl, which is not installed", hint="pip install 'proas[verl]'")
    connection = None
    if command.uses_graph:
        connection = prepare(database, output)
        existing_graph(connection, graph)
    if code := run_to_its_end(command.words(), command.environment(connection)):
        raise typer.Exit(code if 0 < code < 128 else 1)


def run_to_its_end(words: Sequence[str], environ: Mapping[str, str]) -> int:
    """Run a program; a request to end (SIGTERM) is its own to answer, and Ctrl-C reaches it anyway. Its exit code."""
    with subprocess.Popen(list(words), env=dict(environ)) as program, answering(program.terminate):  # noqa: S603
        return program.wait()
