"""A recorded rollout, step by step, with the graph's view beside each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from proas.cli.env.episode import Moment
from proas.cli.env.guide import Verdict
from proas.cli.env.table import Lines
from proas.cli.env.view import moment_view

if TYPE_CHECKING:
    from proas.cli.env.guide import Guide
    from proas.rollouts import Rollout

__all__ = ["follow", "moments"]


def moments(rollout: Rollout, guide: Guide | None) -> tuple[Moment, ...]:
    """The reset and each step of a rollout, as they are seen."""
    first = None if guide is None or rollout.start is None else guide.look(rollout.start)
    found = [Moment(0, "", rollout.observation, (), True, 0.0, first, None)]
    for number, step in enumerate(rollout.steps, start=1):
        label = step.label
        verdict = None if label is None else Verdict(label.reasonable, label.progress, label.drift)
        look = None if guide is None or step.state is None else guide.look(step.state)
        found.append(
            Moment(number, step.action, step.observation, (), step.valid is not False, step.reward, look, verdict)
        )
    return tuple(found)


def follow(rollout: Rollout, guide: Guide | None, console: Console, title: str) -> None:
    """Show a rollout; at a terminal one step at a time, else all of it.

    Args:
        rollout: The rollout, with states and labels where there are any.
        guide: The graph's view of its task.
        console: Where it is shown.
        title: Heading of the graph's view.
    """
    lines = Lines(console)
    for moment in moments(rollout, guide):
        if moment.number and lines.typed:
            line = lines.next("Enter for the next step, q to end: ")
            if line is None or line.strip() in ("q", ":q", ":quit"):
                console.print(Text(f"left at step {moment.number - 1} of {len(rollout.steps)}", "dim"))
                return
        console.print()
        console.print(moment_view(moment, title=title, width=console.width))
