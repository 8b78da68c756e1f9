"""What the demo shows of each step."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from proas.cli.console import columns, facts_table, plain
from proas.cli.db_browser import LOOK, browser_page

if TYPE_CHECKING:
    from proas.graph.connect import Connection
    from proas.graph.reports import EvolveReport, GraphDiff
    from proas.graph_builders import BuildReport
    from proas.rollouts import Rollout, RolloutBatch, Step
    from proas.shaping import Shaped

__all__ = ["around", "closing", "graph_facts", "growth", "measures", "shaped_steps"]

_MEASURES = (
    "coverage",
    "invalid_share",
    "unreasonable_in_positive",
    "nonprogress_in_negative",
    "mask_rate",
    "weight_max",
    "negative_to_positive_base",
    "negative_to_positive",
)
_STEPS = 14
_TASKS = 6


def around(connection: Connection) -> Group:
    """Which database it is."""
    from proas.graph.client import Client

    version = Client(connection).server_version()
    return facts_table({"server": f"Neo4j {version}", "address": connection.uri, "database": connection.database})


def graph_facts(report: BuildReport, origin: Path) -> Group:
    """What was built."""
    facts: dict[str, object] = {"games from": origin, "tasks": report.tasks}
    if report.rejected:
        facts["without a graph"] = ", ".join(f"{n} {name.replace('_', ' ')}" for name, n in report.rejected.items())
    facts |= {"states": report.states, "transitions": sum(report.transitions.values())}
    facts["seconds"] = f"{report.seconds:.1f}"
    return facts_table(facts)


def measures(shaped: dict[str, Shaped]) -> Table:
    """The measurements that say most, preset beside preset."""
    table = columns("measure", *shaped, "meaning", right=tuple(shaped))
    for rows in zip(*(result.diagnostics.rows() for result in shaped.values()), strict=True):
        if rows[0].metric in _MEASURES:
            table.add_row(rows[0].metric, *(row.value for row in rows), plain(rows[0].meaning))
    return table


def shaped_steps(shaped: dict[str, Shaped]) -> tuple[RenderableType, ...]:
    """One solved and one failed rollout, step by step, under each preset."""
    won = _clearest(shaped["paper"].batch.rollouts, success=True)
    lost = _clearest(shaped["paper"].batch.rollouts, success=False)
    shown: list[RenderableType] = []
    for rollout, meaning in (
        (won, "solved: steps that the graph does not know get nothing (masked)"),
        (lost, "failed: the penalty moves to the steps with most drift ahead of them"),
    ):
        if rollout is not None:
            shown += ["", _heading(rollout, meaning), _steps(rollout, shaped)]
    legend = Text.assemble(
        ("green", "green"), " progress   ", ("yellow", "yellow"), " reasonable, but seen before   ",
        ("red", "red"), " not in the graph   (labels of the preset membership)",
    )  # fmt: skip
    return (*shown, legend) if shown else ()


def _clearest(rollouts: Sequence[Rollout], *, success: bool) -> Rollout | None:
    """The rollout of that outcome whose first steps show the most kinds of label; of these the longest that fits."""
    sign = 1 if success else -1
    fit = [r for r in rollouts if r.success is success and r.steps and (r.advantage or 0) * sign > 0]

    def worth(rollout: Rollout) -> tuple[int, int, int, str]:
        seen = [_verdict(step) for step in rollout.steps[:_STEPS]]
        surplus = max(0, len(rollout.steps) - _STEPS)
        return -len(set(seen)), surplus, -min(seen.count("progress"), seen.count("unreasonable")), rollout.id

    return min(fit, key=worth, default=None)


def _verdict(step: Step) -> str:
    if step.label is None:
        return ""
    if step.label.progress:
        return "progress"
    return "reasonable" if step.label.reasonable else "unreasonable"


def _heading(rollout: Rollout, meaning: str) -> Text:
    return Text.assemble(plain(rollout.goal or rollout.task), (f"  {meaning}", "dim"))


def _steps(rollout: Rollout, shaped: dict[str, Shaped]) -> Table:
    numbers = ("t", "Re", "PA", "D", "A", "Ã paper", "Ã rec.")
    table = columns("t", "action", *numbers[1:], right=numbers)
    same = {name: next(r for r in result.batch.rollouts if r.id == rollout.id) for name, result in shaped.items()}
    styles = {"progress": "green", "reasonable": "yellow", "unreasonable": "red"}
    for t, step in enumerate(same["membership"].steps[:_STEPS]):
        paper = rollout.steps[t]
        label = step.label
        verdict = ["", "", ""]
        if label is not None:
            verdict = [str(int(label.reasonable)), str(int(label.progress)), str(label.drift)]
        action = plain(step.action)
        action.stylize(styles.get(_verdict(step), ""))
        amounts = [_amount(paper.base_advantage), _amount(paper.advantage), _amount(step.advantage)]
        table.add_row(str(t + 1), action, *verdict, *amounts)
    if len(rollout.steps) > _STEPS:
        table.add_row("", Text(f"... {len(rollout.steps) - _STEPS} more steps", "dim"))
    return table


def _amount(value: float | None) -> Text:
    if value is None:
        return Text("-")
    return Text(f"{value:+.2f}" if value else "0", "dim" if not value else "")


def growth(report: EvolveReport, diff: GraphDiff, rollouts: RolloutBatch) -> tuple[RenderableType, ...]:
    """What evolution added, and where most."""
    facts = {
        "version": f"{report.version_before} -> {report.version}",
        "successes joined": report.successes,
        "new states": report.added_states,
        "new transitions": report.added_transitions,
        "steps dropped": f"{report.dropped_invalid:,} invalid, {report.dropped_self_loops:,} self-loops, "
        f"{report.dropped_loops:,} in loops, {report.dropped_regress:,} regress",
    }
    goals = {rollout.task: rollout.goal for rollout in rollouts}
    table = columns("task", "subgoal", "+ states", "+ trans.", right=("+ states", "+ trans."))
    most = sorted(diff.tasks, key=lambda part: (-part.added_states, part.task, part.index))[:_TASKS]
    for part in most:
        subgoal = f"{part.index} {part.description}"
        table.add_row(
            plain(goals.get(part.task, part.task)), plain(subgoal), str(part.added_states), str(part.added_transitions)
        )
    return facts_table(facts), table


def _program() -> str:
    """How the user calls this program: by name where the shell finds it, else by its path."""
    import shutil
    import sys

    called = Path(sys.argv[0])
    if shutil.which("proas") or called.name != "proas":
        return "proas"
    return str(called.relative_to(Path.cwd())) if called.is_relative_to(Path.cwd()) else str(called)


def closing(out: Path, task: str) -> tuple[RenderableType, ...]:
    """Where to look now, what to try, how to end the server."""
    import os

    page, login = browser_page()
    program = _program()
    facts: dict[str, object] = {"Neo4j Browser": page}
    facts |= {name.replace("_", " "): value for name, value in login.items()}
    facts["files"] = f"{out}/ (rollouts, labels, shaped advantages)"
    query = Text(LOOK, no_wrap=True, overflow="ignore")
    more = [
        f"{program} graph list",
        f"{program} graph show {task} --graph demo",
        f"{program} graph diff --graph demo-run --from 0 --to 1",
        f"{program} shape {out}/labelled.jsonl --algo gigpo --out {out}/shaped-gigpo.jsonl",
    ]
    if not os.environ.get("NEO4J_URI"):
        more.append(f"{program} db down          # ends the server; its data stays")
    lines = [Text(line, "bold", no_wrap=True, overflow="ignore") for line in more]
    return facts_table(facts), "", "Paste this in Browser:", "", query, "", "Then try:", "", *lines
