"""A rollout step by step: what the graph says of each, and what became of its advantage."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from proas.cli.console import columns, counted, plain

if TYPE_CHECKING:
    from proas.rollouts import Rollout, Step

__all__ = ["STYLES", "rollout_document", "rollout_view"]

STYLES = {"progress": "green", "reasonable": "magenta", "unreasonable": "red", "": ""}
"""Colours that stand out on dark and on light ground; each goes with a word, for those who see none."""

_WORDS = {"progress": "progress", "reasonable": "seen before", "unreasonable": "not in graph", "": "-"}


def rollout_document(rollout: Rollout) -> dict[str, Any]:
    """The rollout as values that JSON can hold."""
    from proas.views.drawing import verdict_of

    return {
        "id": rollout.id,
        "success": rollout.success,
        "graph": rollout.graph,
        "version": rollout.version,
        "steps": [
            {
                "action": step.action,
                "label": verdict_of(step) or None,
                "reasonable": step.label.reasonable if step.label else None,
                "progress": step.label.progress if step.label else None,
                "drift": step.label.drift if step.label else None,
                "valid": step.valid,
                "base_advantage": step.base_advantage,
                "advantage": step.advantage,
                "state": step.state.key if step.state else None,
            }
            for step in rollout.steps
        ],
    }


def rollout_view(rollout: Rollout, version: int) -> tuple[RenderableType, ...]:
    """The rollout for people.

    Args:
        rollout: The rollout.
        version: Version of the graph that is shown beside it.
    """
    from proas.views.drawing import short_name

    by = f", labelled by version {rollout.version}" if rollout.version is not None else ""
    if rollout.version is not None and rollout.version != version:
        by += f" (above is version {version})"
    if rollout.covered is False:
        by = ", of which the graph says nothing"
    steps = counted(len(rollout.steps), "step")
    name = short_name(rollout.id, rollout.task)
    head = plain(f"rollout {name}: {'solved' if rollout.success else 'failed'}, {steps}{by}")
    head.stylize("bold")
    legend = Text.assemble(
        ("progress", "green"), "      reasonable (Re), in a state that is new to the rollout (PA)\n",
        ("seen before", "magenta"), "   reasonable (Re), back in a state seen before\n",
        ("not in graph", "red"), "  the graph knows no such transition\n",
        "D             steps from this one on that are no progress",
    )  # fmt: skip
    return "", head, _steps(rollout), legend


def _steps(rollout: Rollout) -> Table:
    from proas.views.drawing import verdict_of

    shaped = any(step.advantage is not None or step.base_advantage is not None for step in rollout.steps)
    amounts = ("A", "Ã") if shaped else ()
    table = columns("t", "action", "label", "D", *amounts, right=("t", "D", "A", "Ã"))
    table.columns[2].no_wrap = True
    for t, step in enumerate(rollout.steps):
        verdict = verdict_of(step)
        drift = "-" if step.label is None else str(step.label.drift)
        values = [_amount(step.base_advantage), _amount(step.advantage)] if shaped else []
        table.add_row(
            str(t + 1), _action(step, STYLES[verdict]), Text(_WORDS[verdict], STYLES[verdict]), drift, *values
        )
    return table


def _action(step: Step, style: str) -> Text:
    said = plain(step.action.replace("\n", " "))
    said.stylize(style)
    if step.valid is False:
        said.append("  not applicable", "dim")
    elif step.seeks:
        said.append("  looks for it", "dim")
    return said


def _amount(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:+.2f}" if value else "0"
