"""What was learnt between two versions, by task and by subgoal, most changed first."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from proas.graph.reports import GraphDiff, SubgoalGrowth
from proas.views.page import Cell, table, words

__all__ = ["growth_by_task", "growth_table"]


def growth_by_task(diff: GraphDiff) -> list[tuple[str, list[SubgoalGrowth]]]:
    """Each task that gained something with its parts in order of the subgoals; the one that gained most first."""
    own: defaultdict[str, list[SubgoalGrowth]] = defaultdict(list)
    for part in diff.tasks:
        own[part.task].append(part)
    return sorted(own.items(), key=lambda item: (-sum(p.added_states + p.added_transitions for p in item[1]), item[0]))


def growth_table(diff: GraphDiff, goals: Mapping[str, str], *, most: int | None = None) -> str:
    """The growth as HTML.

    Args:
        diff: The growth.
        goals: Goal of each task in words.
        most: Number of tasks listed; all if not given.
    """
    ranked = growth_by_task(diff)
    rows: list[tuple[object, ...]] = []
    widest = max((part.added_states + part.added_transitions for part in diff.tasks), default=1)
    for task, parts in ranked[:most]:
        for number, part in enumerate(parts):
            name = Cell(f'{words(goals.get(task) or task)}<br><span class="soft">{words(task)}</span>')
            bar = Cell(_bar((part.added_states + part.added_transitions) / widest))
            rows.append(
                (
                    name if number == 0 else "",
                    f"{part.index} {part.description}",
                    f"+{part.added_states:,}",
                    f"+{part.added_transitions:,}",
                    bar,
                )
            )
    told = (
        f"<p>New: {diff.added_tasks:,} tasks, {diff.added_states:,} states, {diff.added_transitions:,} transitions "
        f"in {len(ranked):,} tasks.</p>"
    )
    caption = "What was learnt, by task and subgoal, most first"
    columns = ("task", "subgoal", "#states", "#transitions", "share of the largest")
    more = f"<p class='soft'>{len(ranked) - most:,} more tasks changed.</p>" if most and len(ranked) > most else ""
    return told + table(caption, columns, rows) + more if rows else told


def _bar(share: float) -> str:
    width = max(1, round(110 * share))
    return (
        '<svg width="112" height="12" viewBox="0 0 112 12" aria-hidden="true" focusable="false">'
        f'<rect class="s2" x="1" y="2" width="{width}" height="8"/></svg>'
    )
