"""``proas env check``: whether an environment and its states keep what they promise."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Group
from rich.text import Text

from proas.cli.console import Output, columns, facts_table, plain
from proas.cli.options import LARGEST, EnvOptions, Json, env_spec

if TYPE_CHECKING:
    from proas.conformance import Report
    from proas.envs import EnvSpec

__all__ = ["check"]

_STYLES = {"passed": "green", "failed": "bold red", "warned": "yellow", "not exercised": "dim"}


def check(
    env: Annotated[str, typer.Argument(help="The environment; `proas env list` names them.", metavar="ENV")],
    data: Annotated[
        Path | None, typer.Option("--data", help="Its data; its default if not given.", metavar="PATH")
    ] = None,
    option: EnvOptions = None,
    tasks: Annotated[
        int, typer.Option("--tasks", min=1, max=LARGEST, help="Tasks to play, spread over all.", metavar="N")
    ] = 4,
    policies: Annotated[
        list[str] | None,
        typer.Option("--policies", help="Who plays; may be repeated. All policies if not given.", metavar="NAME"),
    ] = None,
    group_size: Annotated[
        int,
        typer.Option("--group-size", min=1, max=LARGEST, help="Episodes of each task by each policy.", metavar="G"),
    ] = 3,
    samples: Annotated[
        int,
        typer.Option(
            "--samples",
            min=1,
            max=LARGEST,
            help="Episodes of each task that are played again with other actions.",
            metavar="N",
        ),
    ] = 30,
    seed: Annotated[int, typer.Option("--seed", help="Source of all randomness.", metavar="N")] = 0,
    json: Json = False,
) -> None:
    """Check an environment and its states: the same situation has the same key, and the other promises hold.

    Policies play some tasks; the checks compare what was played with itself, with text alone, with other orders of the
    same actions and with another process. Ends with code 1 when a check fails, and shows how to see it fail.
    """
    from proas.conformance import check as conformance

    output = Output(json_wanted=json)
    spec = _opened(env_spec(env, data, option), output)
    names = [name.strip() for given in policies or () for name in given.split(",") if name.strip()]
    with output.progress(f"Checking {env}") as advance:
        report = conformance(
            spec,
            tasks=tasks,
            policies=names,
            group_size=group_size,
            samples=samples,
            seed=seed,
            progress=advance,
        )
    output.result(report.as_json(), _summary(report), _table(report), *_findings(report))
    if not report.ok:
        raise typer.Exit(1)


def _opened(spec: EnvSpec, output: Output) -> EnvSpec:
    """The environment with the data that is to be used; the suite opens it anew, more than once.

    Raises:
        EnvironmentFailure: It cannot be opened, whatever the fault: whose it is, is what the user wants to know.
    """
    from proas.cli.env.choice import opened
    from proas.conformance.episodes import told
    from proas.errors import EnvironmentFailure, ProASError

    try:
        settled, world = opened(spec, output)
        world.close()
    except ProASError:
        raise
    except Exception as error:
        raise EnvironmentFailure(f"{spec.name} cannot be opened: {told(error)}") from error
    return settled


def _summary(report: Report) -> Group:
    facts = {"tasks": len(report.tasks), "episodes": report.episodes, "steps": report.steps}
    return facts_table(facts, title=f"Conformance of {report.env}")


def _table(report: Report) -> Group:
    table = columns(
        "check", "outcome", "compared", "wrong", "what it holds the environment to", right=("compared", "wrong")
    )
    for made in report.checks:
        outcome = Text(made.outcome, _STYLES[made.outcome])
        table.add_row(made.name, outcome, f"{made.compared:,}", f"{made.wrong:,}", plain(made.promise))
    return Group(table)


def _findings(report: Report) -> list[Text]:
    lines: list[Text] = []
    for made in report.checks:
        style, more = _STYLES[made.outcome], made.wrong - len(made.counterexamples)
        lines += [Text.assemble((f"{made.name}  ", "dim"), plain(made.note))] if made.note else []
        lines += [Text.assemble((f"{made.name}  ", style), plain(example)) for example in made.counterexamples]
        lines += [Text(f"{made.name}  and {more:,} more", "dim")] if more else []
    return lines
