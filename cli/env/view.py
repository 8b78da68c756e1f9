"""What a person sees: the environment's words and actions, and beside them the graph's view."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from proas.cli.console import columns, plain
from proas.cli.env.guide import Look, Verdict, Way
from proas.subgoals import Ladder

if TYPE_CHECKING:
    from proas.cli.env.episode import Moment
    from proas.rollouts import Rollout

__all__ = ["LISTED", "actions_listed", "moment_view", "summary", "ways_listed"]

LISTED = 40
"""Of more actions than these only the first words are shown at each step; ``:actions`` lists them."""
_NARROW = 72
"""Below this width the graph's view stands under the environment's words."""
_WAYS = 4
_BESIDE = 4


def moment_view(moment: Moment, *, title: str, width: int) -> RenderableType:
    """One moment of an episode.

    Args:
        moment: The moment.
        title: Heading of the graph's view.
        width: Characters of a line.
    """
    side = max(28, min(44, width * 2 // 5)) if width >= _NARROW else width
    main = width - side - 2 if width >= _NARROW else width
    said = moment.observation.expandtabs(2).strip()
    left: list[RenderableType] = [plain(said or "(the environment says nothing)")]
    if moment.number and not moment.valid:
        left.append(Text("That action did not apply.", "yellow"))
    if len(moment.admissible) > LISTED:
        left += ["", *_first_words(moment.admissible)]
    elif moment.admissible:
        left += ["", actions_listed(list(enumerate(moment.admissible, start=1)), width=main)]
    heading = Text.assemble((f"step {moment.number}", "bold cyan") if moment.number else ("start", "bold cyan"))
    if moment.action:
        heading.append_text(Text("  "))
        heading.append_text(plain(moment.action))
    panel = Panel(_graph_view(moment), title=plain(title), title_align="left", border_style="dim", width=side)
    rule = Rule(heading, align="left", style="cyan")
    if width < _NARROW:
        return Group(rule, *left, "", panel)
    grid = Table.grid(padding=(0, 2, 0, 0), pad_edge=False)
    grid.add_column(width=main)
    grid.add_column(width=side)
    grid.add_row(Group(*left), panel)
    return Group(rule, grid)


def _first_words(actions: Sequence[str]) -> tuple[Text, Text]:
    """Of many actions, how they begin and how many do."""
    counts = Counter(action.split(" ", 1)[0] for action in actions)
    words = [Text.assemble(plain(word), (f" ×{count}", "cyan")) for word, count in sorted(counts.items())]
    note = Text(f"{len(actions):,} actions apply. :actions WORD lists those that hold a word.", "dim")
    return Text(", ").join(words), note


def actions_listed(numbered: Sequence[tuple[int, str]], *, width: int) -> RenderableType:
    """Actions with their numbers, in as many columns as there is room for."""
    digits = len(str(numbered[-1][0])) if numbered else 1
    widths = [len(action) + digits + 2 for _, action in numbered]
    side_by_side = next((n for n in range(min(_BESIDE, len(numbered)), 1, -1) if _fits(widths, n, width)), 1)
    rows = -(-len(numbered) // side_by_side)
    grid = Table.grid(padding=(0, 2, 0, 0), pad_edge=False)
    for _ in range(side_by_side):
        grid.add_column(overflow="fold")
    cells = [Text.assemble((f"{number:>{digits}}", "cyan"), "  ", plain(action)) for number, action in numbered]
    for row in range(rows):
        grid.add_row(*cells[row::rows])
    return grid


def _fits(widths: Sequence[int], side_by_side: int, width: int) -> bool:
    """Whether cells of these widths, filled in column by column, fit so many beside each other."""
    rows = -(-len(widths) // side_by_side)
    filled = [max(widths[first : first + rows]) for first in range(0, len(widths), rows)]
    return sum(filled) + 2 * (len(filled) - 1) <= width


def ways_listed(look: Look, numbers: Mapping[str, int]) -> RenderableType:
    """All transitions that lead on from here, with the numbers of the actions that come to them, where known."""
    if not look.ways:
        return Text("The graph knows no way on from here.", "dim")
    table = columns("", "action", "subgoal", "then to the goal", right=("", "subgoal", "then to the goal"))
    for way in look.ways:
        number = str(numbers.get(way.action, ""))
        left = "no way known" if way.distance is None else f"{way.distance} steps" if way.distance else "reached"
        table.add_row(Text(number, "cyan"), plain(way.action), _subgoal(look, way), left)
    return table


def _subgoal(look: Look, way: Way) -> Text:
    return Text(str(way.subgoal), "bold cyan" if way.subgoal > look.subgoal else "")


def _some_ways(look: Look) -> Text:
    lines = []
    for way in look.ways[:_WAYS]:
        arrow = (f" -> {way.subgoal}", "bold cyan") if way.subgoal > look.subgoal else ""
        lines.append(Text.assemble(plain(way.action), arrow))
    more = len(look.ways) - len(lines)
    if more > 0:
        lines.append(Text(f"... {more:,} more", "dim"))
    return Text("\n").join(lines) if lines else Text("none that the graph knows", "dim")


def _graph_view(moment: Moment) -> RenderableType:
    look = moment.look
    if look is None:
        return Text("no states are known here", "dim")
    table = Table.grid(padding=(0, 1, 0, 0), pad_edge=False)
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    table.add_row("state", plain(look.caption))
    table.add_row("subgoal", Text.assemble((f"{look.subgoal} of {look.last}", "bold cyan"), "\n", plain(look.done)))
    if look.ahead:
        table.add_row("next", plain(look.ahead))
    if moment.number:
        table.add_row("this step", _verdict(moment.verdict))
    if look.known is not None:
        if look.distance is not None:
            table.add_row(
                "goal in", f"{look.distance} step{'s' * (look.distance != 1)}" if look.distance else "reached"
            )
        if look.known:
            if look.subgoal < look.last:
                table.add_row("ways on", _some_ways(look))
        else:
            table.add_row("", Text("a state that the graph does not know", "yellow"))
    return table


def _verdict(verdict: Verdict | None) -> Text:
    if verdict is None:
        return Text("no label", "dim")
    numbers = f"Re {verdict.reasonable:d}  PA {verdict.progress:d}"
    if verdict.drift is not None:
        numbers += f"  D {verdict.drift}"
    return Text.assemble((verdict.words, verdict.style), "\n", (numbers, "dim"))


def summary(rollout: Rollout, ladder: Ladder | None) -> RenderableType:
    """The whole episode, with the labels of each step.

    Args:
        rollout: It, labelled where the graph knows the task.
        ladder: Subgoals of its task; ``None`` where they are not known.
    """
    numbers = ("Re", "PA", "D") if rollout.covered else ()
    subgoals = ("subgoal",) if ladder is not None and rollout.has_states else ()
    table = columns("step", "action", *numbers, *subgoals, right=("step", *numbers, *subgoals))
    for number, step in enumerate(rollout.steps, start=1):
        action = plain(step.action)
        cells: list[str] = []
        if numbers and step.label is not None:
            label = step.label
            verdict = Verdict(label.reasonable, label.progress, label.drift)
            action.stylize(verdict.style)
            cells += [f"{label.reasonable:d}", f"{label.progress:d}", str(label.drift)]
        if subgoals and ladder is not None and step.state is not None:
            cells.append(f"{ladder.index(step.state.facts)} of {ladder.last}")
        table.add_row(str(number), action, *cells)
    outcome = {
        "success": Text("solved", "bold green"),
        "step_limit": Text("not solved: out of steps", "yellow"),
        "stopped": Text("not solved", "yellow"),
        "error": Text("ended by an error", "red"),
    }[rollout.ended]
    count = len(rollout.steps)
    line = Text.assemble(outcome, f" after {count} step{'s' * (count != 1)}, reward {rollout.reward:g}")
    if rollout.covered:
        line.append_text(Text(f"  (labels of {rollout.graph}, version {rollout.version})", "dim"))
    legend = Text.assemble(("green", "green"), " progress   ", ("yellow", "yellow"), " reasonable, but seen before   ",
                           ("red", "red"), " not in the graph")  # fmt: skip
    parts: list[RenderableType] = [Rule(Text("the end", "bold cyan"), align="left", style="cyan"), line]
    if count:
        parts.append(table)
    if count and numbers:
        parts.append(legend)
    return Group(*parts)
