"""``proas generate``: new games."""

from __future__ import annotations

from collections import Counter
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from proas.cli.console import Output, facts_table
from proas.cli.options import LARGEST, Json
from proas.errors import DataError

__all__ = ["generate"]


class Kind(StrEnum):
    """Kinds of task."""

    PICK = "pick"
    LOOK = "look"
    CLEAN = "clean"
    HEAT = "heat"
    COOL = "cool"
    TWO = "two"


def generate(
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the games; made if it is new.", metavar="DIR")],
    count: Annotated[int, typer.Option("--count", "-n", min=1, max=LARGEST, help="How many.", metavar="N")] = 24,
    seed: Annotated[int, typer.Option("--seed", help="The same seed gives the same games.", metavar="N")] = 0,
    kinds: Annotated[
        list[Kind] | None,
        typer.Option(
            "--type",
            help="Kind of task; may be repeated. All six, in turn, if not given.",
            metavar="pick|look|clean|heat|cool|two",
        ),
    ] = None,
    sliced: Annotated[
        float,
        typer.Option(
            "--sliced", min=0.0, max=1.0, help="Share of the games that want a sliced object.", metavar="SHARE"
        ),
    ] = 0.0,
    json: Json = False,
) -> None:
    """Make new ALFWorld games, solvable and annotated, in the layout of the release.

    `proas graph build --data DIR` and `proas rollout --data DIR` take them.
    """
    from proas.envs.alfworld.generator import generate as make
    from proas.envs.alfworld.goal import KINDS

    output = Output(json_wanted=json)
    wanted = {kind.value for kind in kinds or Kind}
    chosen = [kind for kind in KINDS if kind in wanted]
    keys: list[str] = []
    tally: Counter[str] = Counter()
    try:
        out.mkdir(parents=True, exist_ok=True)
        with output.progress("Generating", count) as advance:
            for trial in make(count, seed=seed, kinds=chosen, sliced_share=sliced):
                trial.write(out)
                keys.append(trial.key)
                tally[trial.goal.kind] += 1
                advance(len(keys), None)
    except OSError as error:
        raise DataError(f"cannot write to {out}: {error.strerror}", hint="give a folder that can be written") from error
    document = {"out": str(out), "games": len(keys), "seed": seed, "by_type": dict(tally), "tasks": keys}
    facts = {"games": len(keys), "types": ", ".join(f"{n} {kind}" for kind, n in tally.items()), "written to": out}
    output.result(document, facts_table(facts, title="New games"))
