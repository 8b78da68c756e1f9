"""What ``--source trajectories`` read and what became of it, as tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from proas.cli.console import columns, facts_table, plain

__all__ = ["episodes_tables"]

_EXAMPLES = 2


def episodes_tables(told: Mapping[str, Any]) -> tuple[RenderableType, ...]:
    """Tables of a builder's summary.

    Args:
        told: See :meth:`proas.graph_builders.trajectories.TrajectoriesBuilder.summary`.
    """
    facts: dict[str, object] = {
        "files": f"{told['files']:,}, {told['bytes'] / 1e6:,.1f} MB",
        "episodes": told["episodes"],
        "  by format": _listed(told["formats"]),
        "  by environment": _listed(told["envs"]),
        "outcomes": _listed(told["outcomes"]),
        "entered": _listed(told["entered"]),
        "replays that differ": _listed(told["replays_failed"]),
        "task told by": _listed(told["tasks_by"]),
    }
    if told["steps"]:
        facts["states read from text"] = f"{told['steps'] - told['steps_unread']:,} of {told['steps']:,} steps"
    facts["steps dropped"] = _listed(told["steps_dropped"])
    tables: list[RenderableType] = [Text(), facts_table(facts, title="Episodes")]
    if told["asides"]:
        tables.append(_asides(told))
    return tuple(tables)


def _asides(told: Mapping[str, Any]) -> RenderableType:
    table = columns("kept aside", "records", "for example", right=("records",))
    for problem, count in told["asides"].items():
        places = [one for one in told["examples"] if one["problem"] == problem][:_EXAMPLES]
        shown = "\n".join(f"{_place(one)}: {one['reason']}" for one in places)
        table.add_row(problem.replace("_", " "), f"{count:,}", plain(shown))
    return table


def _place(example: Mapping[str, Any]) -> str:
    line = f":{example['line']}" if example["line"] else ""
    name = f" ({example['id']})" if example["id"] else ""
    return f"{example['source']}{line}{name}"


def _listed(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {count:,}" for name, count in counts.items()) or "none"
