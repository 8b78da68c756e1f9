"""One task's reference graph for people, as a ladder of subgoals, and for programs."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any

from rich.console import RenderableType
from rich.text import Text
from rich.tree import Tree

from proas.cli.console import counted, facts_table, plain
from proas.graph.captions import caption_of
from proas.rollouts import State

if TYPE_CHECKING:
    from proas.graph.records import TaskGraph, Transition

__all__ = ["as_document", "as_ladder"]

_PHRASES = 3
_ACTIONS = 4


def as_document(graph: TaskGraph) -> dict[str, Any]:
    """Everything about the task, as values that JSON can hold."""
    subgoal_of = graph.subgoal_of
    return {
        "task": graph.task.key,
        "env": graph.task.env,
        "goal": graph.task.goal,
        "text": graph.task.text,
        "start": graph.start.key,
        "subgoals": [
            {
                "index": subgoal.index,
                "description": subgoal.description,
                "phrases": list(subgoal.phrases),
                "states": sum(index == subgoal.index for index in subgoal_of.values()),
                "transitions": sum(subgoal_of[t.source_state] == subgoal.index for t in graph.transitions),
            }
            for subgoal in graph.ladder.subgoals
        ],
        "states": [
            {"key": key, "facts": list(state.facts), "subgoal": subgoal_of[key]}
            for key, state in sorted(graph.states.items(), key=lambda item: (subgoal_of[item[0]], item[0]))
        ],
        "transitions": [
            {
                "key": t.key,
                "source_state": t.source_state,
                "action": t.action,
                "target_state": t.target_state,
                "source": t.source,
                "support": t.support,
            }
            for t in graph.transitions
        ],
    }


def as_ladder(found: TaskGraph, *, graph: str, version: int, listed: int) -> tuple[RenderableType, ...]:
    """The task and its ladder, with at most ``listed`` states a subgoal.

    Args:
        found: What is known of the task.
        graph: Name of the graph.
        version: Version that is shown.
        listed: States to list of each subgoal.
    """
    states: defaultdict[int, list[State]] = defaultdict(list)
    leaving: defaultdict[int, list[Transition]] = defaultdict(list)
    for key, index in found.subgoal_of.items():
        states[index].append(found.states[key])
    for transition in found.transitions:
        leaving[found.subgoal_of[transition.source_state]].append(transition)
    name = plain(found.task.key)
    name.stylize("bold")
    name.no_wrap = True  # to be copied in one piece
    head = facts_table(
        {
            "goal": found.task.text or found.task.goal,
            "graph": graph,
            "version": version,
            "holds": f"{counted(len(found.states), 'state')}, {counted(len(found.transitions), 'transition')}",
            "sources": _sources(found),
        }
    )
    ladder = Tree(Text("subgoals", "bold"), guide_style="dim")
    for subgoal in found.ladder.subgoals:
        own, going = states[subgoal.index], leaving[subgoal.index]
        counts = f"  {counted(len(own), 'state')}, {counted(len(going), 'transition')}"
        rung = ladder.add(Text.assemble((f"{subgoal.index} ", "bold"), plain(subgoal.description), (counts, "dim")))
        if subgoal.phrases:
            said = " / ".join(subgoal.phrases[:_PHRASES])
            rung.add(Text.assemble(("people say  ", "dim"), _italic(said)))
        _add_states(rung, own, start=found.start.key, listed=listed)
        _add_ways_on(rung, going, found, subgoal.index)
    return name, head, "", ladder


def _sources(graph: TaskGraph) -> str:
    """Where its transitions come from, such as ``replayed 3, unverified 1``."""
    counts = Counter(transition.source for transition in graph.transitions)
    return ", ".join(f"{source} {count:,}" for source, count in sorted(counts.items())) or "none"


def _add_states(rung: Tree, states: list[State], *, start: str, listed: int) -> None:
    ordered = sorted(states, key=lambda state: (state.key != start, state.facts))
    for state in ordered[:listed]:
        mark = ("start  ", "green") if state.key == start else ("state  ", "dim")
        rung.add(Text.assemble(mark, plain(caption_of(state.facts))))
    if listed and len(ordered) > listed:
        rung.add(Text(f"... {len(ordered) - listed:,} more", "dim"))


def _add_ways_on(rung: Tree, leaving: list[Transition], graph: TaskGraph, index: int) -> None:
    """The actions that lead to a later subgoal."""
    onward = sorted({(t.action, graph.subgoal_of[t.target_state]) for t in leaving if _later(graph, t, index)})
    for action, target in onward[:_ACTIONS]:
        rung.add(Text.assemble(("action ", "magenta"), plain(action), (f" -> {target}", "bold")))
    if len(onward) > _ACTIONS:
        rung.add(Text(f"... {len(onward) - _ACTIONS:,} more", "dim"))


def _later(graph: TaskGraph, transition: Transition, index: int) -> bool:
    return graph.subgoal_of[transition.target_state] > index


def _italic(words: str) -> Text:
    text = plain(words)
    text.stylize("italic")
    return text
