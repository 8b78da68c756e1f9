"""``proas shape``: from labelled rollouts to step-level advantages."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from proas.cli.console import Output, columns, facts_table, plain
from proas.cli.options import Json, Strict
from proas.errors import UsageError

if TYPE_CHECKING:
    from proas.shaping import Diagnostics

__all__ = ["Algorithm", "diagnostics_table", "shape"]


class Algorithm(StrEnum):
    """Estimators that the command offers."""

    GRPO = "grpo"
    DAPO = "dapo"
    GIGPO = "gigpo"
    GIVEN = "given"


class Preset(StrEnum):
    """Named settings."""

    PAPER = "paper"
    MEMBERSHIP = "membership"
    RECOMMENDED = "recommended"


def shape(
    labelled: Annotated[
        Path, typer.Argument(help="Labelled rollouts, as `proas label` writes them.", metavar="LABELLED.jsonl")
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="Where the shaped rollouts go.", metavar="PATH")],
    algo: Annotated[
        Algorithm,
        typer.Option(
            "--algo",
            help="Estimator of the base advantage; `given` keeps what the records carry.",
            metavar="grpo|dapo|gigpo|given",
        ),
    ] = Algorithm.GRPO,
    preset: Annotated[
        Preset,
        typer.Option(
            "--preset",
            help="The paper's equation to the letter, membership in the graph as measurements support it, or what they "
            "found best.",
            metavar="paper|membership|recommended",
        ),
    ] = Preset.PAPER,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", help="Change one setting of the preset; may be repeated.", metavar="KEY=VALUE"),
    ] = None,
    strict: Strict = False,
    json: Json = False,
) -> None:
    """Shape the advantages of labelled rollouts (Eq. 7 and its variants).

    Each step gets its base advantage and its shaped one. Records that cannot be read go to OUT.rejects.jsonl, groups
    that DAPO's dynamic sampling keeps aside to OUT.filtered.jsonl.
    """
    from proas.cli.rejects import end, load, settle
    from proas.rollout_files import write_rollouts
    from proas.shaping import preset as named
    from proas.shaping import shape as shape_batch

    output = Output(json_wanted=json)
    config = named(preset.value).updated({**_settings(settings or ()), "algorithm": algo.value})
    if algo is Algorithm.GIVEN:
        config = config.over_given_advantages()
    batch = load(labelled, out, output)
    aside = settle(batch.rejects, usable=len(batch), origin=labelled, out=out, output=output)
    shaped = shape_batch(batch, config)
    write_rollouts(out, shaped.batch)
    filtered = out.with_name(out.name + ".filtered.jsonl")
    filtered.unlink(missing_ok=True)  # of an earlier run
    if shaped.filtered:
        write_rollouts(filtered, shaped.filtered)
        output.warn(f"dynamic sampling kept {len(shaped.filtered):,} rollouts without a signal aside, in {filtered}")
    document = {
        "config": config.to_dict(),
        "rollouts": len(shaped.batch),
        "steps": shaped.batch.steps,
        "filtered": len(shaped.filtered),
        "filtered_out": str(filtered) if shaped.filtered else None,
        "rejected": len(batch.rejects),
        "rejects": aside,
        "metrics": shaped.metrics,
        "out": str(out),
    }
    facts = {"settings": config.describe(), "rollouts": len(shaped.batch), "written to": out}
    output.result(document, facts_table(facts, title="Shaped"), diagnostics_table({"value": shaped.diagnostics}))
    end(batch.rejects, strict=strict)


def diagnostics_table(batches: dict[str, Diagnostics]) -> Table:
    """Measurements of one or more batches side by side; lines that no batch has a value for are left out."""
    table = columns("measure", *batches, "meaning", right=tuple(batches))
    for lines in zip(*(diagnostics.rows() for diagnostics in batches.values()), strict=True):
        if any(line.value != "-" for line in lines):
            table.add_row(lines[0].metric, *(line.value for line in lines), plain(lines[0].meaning))
    return table


def _settings(words: Sequence[str]) -> dict[str, object]:
    found: dict[str, object] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or not name:
            raise UsageError(f"--set {word!r} is no setting", hint="write --set key=value, for example --set apr=none")
        if name in {"algorithm", "preset"}:
            option = "--algo" if name == "algorithm" else "--preset"
            raise UsageError(f"--set {name} is not for this", hint=f"use {option} {value}")
        found[name] = value
    return found
