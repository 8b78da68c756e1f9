"""The ``proas`` program: the root of all commands, and the one place where errors become messages.

Heavy imports (driver, arrays, Parquet) happen inside the commands, so that ``--help`` and completion stay quick.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from proas.cli import db, evolve, generate, label, rollout, rollouts, shape
from proas.cli.console import Output, use_plain_characters_if_needed
from proas.cli.demo import demo
from proas.cli.doctor import doctor
from proas.cli.env import app as env_app
from proas.cli.faults import INTERRUPTED, fault_of, report
from proas.cli.graph import app as graph_app
from proas.cli.report import report as report_command
from proas.cli.train import ablate, compare, evaluate, evidence_app, train
from proas.cli.train.diagnose import app as diagnose_app
from proas.cli.watch import watch
from proas.errors import UsageError

__all__ = ["app", "main", "run"]

app = typer.Typer(
    name="proas",
    help="Progress-aware advantage shaping for LLM agents, with the reference graph in Neo4j.",
    epilog="The database: NEO4J_URI if it is set (with NEO4J_USERNAME, NEO4J_PASSWORD or NEO4J_PASSWORD_FILE, "
    "NEO4J_DATABASE; a .env file in the working directory is read too), else a local server that runs, else one is "
    "started.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(db.app, name="db")
app.add_typer(graph_app, name="graph")
app.add_typer(env_app, name="env")
app.command("rollout")(rollout.rollout)
app.add_typer(rollouts.app, name="rollouts")
app.command("label")(label.label)
app.command("shape")(shape.shape)
app.command("evolve")(evolve.evolve)
app.command("generate")(generate.generate)
app.command("train")(train)
app.command("eval")(evaluate)
app.command("compare")(compare)
app.command("ablate")(ablate)
app.add_typer(evidence_app, name="evidence")
app.add_typer(diagnose_app, name="diagnose")
app.command("watch")(watch)
app.command("report")(report_command)
app.command("doctor")(doctor)
app.command("demo")(demo)


def _print_version(wanted: bool) -> None:
    if wanted:
        from proas import __version__

        print(f"proas {__version__}")  # noqa: T201
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and end.", metavar=""
        ),
    ] = False,
) -> None:
    """Progress-aware advantage shaping for LLM agents, with the reference graph in Neo4j."""
    _read_dotenv()


def _read_dotenv() -> None:
    """Take settings from ``.env`` in the working directory; what the environment already says wins."""
    file = Path(".env")
    if file.is_file():
        from dotenv import load_dotenv

        try:
            load_dotenv(file, override=False, interpolate=False)  # a password may hold "${"
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or "not UTF-8"
            raise UsageError(f"cannot read {file.absolute()}: {reason}", hint="mend it, or work elsewhere") from error


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program.

    Args:
        arguments: Words after the program's name; the process's own when ``None``.

    Returns:
        The exit code (``proas.cli.faults``).
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    use_plain_characters_if_needed()
    # What the driver logs before it gives up is in the error as well; unhandled, it would be printed as it comes.
    logging.getLogger("neo4j").addHandler(logging.NullHandler())
    try:
        code = app(words, prog_name="proas", standalone_mode=False)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader has gone, as in `proas graph list | head`; nothing is left to say, also not at interpreter exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except typer.Abort:  # Ctrl-C at a question
        code = INTERRUPTED
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - the outermost place
        output = Output(json_wanted="--json" in words)
        fault = fault_of(error)
        report(fault, output)
        return fault.exit_code
    if code == INTERRUPTED:
        report(fault_of(KeyboardInterrupt()), Output(json_wanted="--json" in words))
    return code if isinstance(code, int) else 0


def run() -> NoReturn:
    """Run the program as a process of its own, and end it."""
    code = main()
    if code == INTERRUPTED:
        # An interrupt that met a string being evaluated, as the making of a dataclass does, is remembered by the
        # interpreter although it was dealt with: an ordinary exit would then end by the signal in place of the code.
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):
                stream.flush()
        os._exit(code)
    sys.exit(code)
