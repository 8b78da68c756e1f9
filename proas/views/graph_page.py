"""The page of a graph: a drawing with a slider over versions, rollouts laid over it, and the same facts as tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from proas.graph.reports import VersionInfo
from proas.views.drawing import OUTSIDE, DrawnRollout, DrawnStep, DrawnTask, short_name
from proas.views.library import graph_library
from proas.views.page import asset, document, table, words
from proas.views.placing import Placed, place

__all__ = ["GraphPage", "graph_page"]


@dataclass(frozen=True, slots=True)
class GraphPage:
    """What the page tells.

    Attributes:
        graph: Name of the graph.
        title: What is shown, in a few words.
        version: Version shown first.
        versions: The graph's own versions.
        tasks: What is drawn.
        after: What came after this version is marked as new; what came with the version shown, if not given.
        left_out: Tasks for which there was no room.
        note: HTML of ours between the heading and the drawing.
    """

    graph: str
    title: str
    version: int
    versions: tuple[VersionInfo, ...]
    tasks: tuple[DrawnTask, ...]
    after: int | None = None
    left_out: int = 0
    note: str = ""

    @property
    def counts(self) -> tuple[int, int]:
        """States and transitions of the graph that are drawn."""
        inside = sum(state.source != OUTSIDE for task in self.tasks for state in task.states)
        return inside, sum(len(task.transitions) for task in self.tasks)


def graph_page(page: GraphPage) -> str:
    """The page as HTML.

    Raises:
        DownloadError: The library that draws is not here and cannot be fetched.
    """
    placed = place(page.tasks)
    legend = _legend(
        detours=any(task.detours for task in page.tasks), rollouts=any(task.rollouts for task in page.tasks)
    )
    body = "\n".join((_head(page), _tools(page), _STAGE, legend, _tables(page)))
    return document(
        f"{page.title} - ProAS", body, scripts=(graph_library(), asset("graph.js")), data=_data(page, placed)
    )


def _head(page: GraphPage) -> str:
    states, transitions = page.counts
    left = f" {page.left_out:,} more tasks had no room." if page.left_out else ""
    return (
        '<a class="skip" href="#facts">Skip the drawing: the same as tables</a>'
        f"<header><h1>{words(page.title)}</h1>"
        f'<p class="soft">Reference graph <b>{words(page.graph)}</b>, version {page.version}: {len(page.tasks):,} '
        f"{'task' if len(page.tasks) == 1 else 'tasks'}, {states:,} states, {transitions:,} transitions.{left}</p>"
        f"{page.note}</header>"
    )


def _counted(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _tools(page: GraphPage) -> str:
    last = max(len(_moments(page)) - 1, 0)
    rollouts = [(task, rollout) for task in page.tasks for rollout in task.rollouts]
    options = "".join(
        f'<option value="{number}">{_option(task, rollout)}</option>' for number, (task, rollout) in enumerate(rollouts)
    )
    walk = (
        '<div><label for="rollout">Rollout</label><select id="rollout"><option value="">none</option>'
        f'{options}</select><button id="back" title="one step back (p)" aria-label="one step back">&#9664;</button>'
        '<output id="step"></output>'
        '<button id="on" title="one step on (n)" aria-label="one step on">&#9654;</button></div>'
        if rollouts
        else ""
    )
    return (
        '<div class="tools" role="toolbar" aria-label="What is shown">'
        '<div><label for="version">Version</label>'
        f'<input type="range" id="version" min="0" max="{last}" value="{last}">'
        f'<output id="shown" for="version"></output><button id="play" aria-pressed="false">Play</button></div>{walk}'
        '<div><label for="search">Search</label><input id="search" type="search" placeholder="place, object, action">'
        '<output id="hits"></output></div>'
        '<div><button id="in" aria-label="zoom in">+</button><button id="out" aria-label="zoom out">&minus;</button>'
        '<button id="fit">Whole</button><button id="theme">Light or dark</button></div></div>'
    )


def _option(task: DrawnTask, rollout: DrawnRollout) -> str:
    name = short_name(rollout.name, task.key)
    return words(f"{name} ({'solved' if rollout.success else 'failed'}, {len(rollout.steps)} steps)")


_STAGE = """<main class="stage" aria-label="Graph">
<div id="drawing" tabindex="0" role="application" aria-label="Drawing of the graph" aria-describedby="keys"></div>
<aside id="side" aria-label="What is chosen" tabindex="0">
<p id="said" role="status" aria-live="polite"></p>
<div id="grown"></div>
<div id="chosen"></div>
<h2>Keys</h2>
<p id="keys" class="soft">In the drawing: <kbd>arrow keys</kbd> go to the next state, <kbd>Enter</kbd> follows the first
action, <kbd>Esc</kbd> lets go. Anywhere but in a field: <kbd>/</kbd> search, <kbd>[</kbd> <kbd>]</kbd> version,
<kbd>p</kbd> <kbd>n</kbd> step of the rollout, <kbd>+</kbd> <kbd>-</kbd> zoom, <kbd>f</kbd> the whole.</p>
</aside>
</main>"""


def _mark(inner: str) -> str:
    return f'<svg width="38" height="16" viewBox="0 0 38 16" aria-hidden="true" focusable="false">{inner}</svg>'


def _line(colour: str, width: float = 2, dashes: str = "") -> str:
    dash = f' stroke-dasharray="{dashes}"' if dashes else ""
    return _mark(f'<line x1="1" y1="8" x2="37" y2="8" stroke="var({colour})" stroke-width="{width}"{dash}/>')


def _box(stroke: str, width: float = 1.5, *, dashes: str = "", identity: str = "") -> str:
    dash = f' stroke-dasharray="{dashes}"' if dashes else ""
    name = f' id="{identity}"' if identity else ""
    return _mark(
        f'<rect{name} x="3" y="2" width="32" height="12" rx="3" fill="none" stroke="var({stroke})" '
        f'stroke-width="{width}"{dash}/>'
    )


_SHADES = _mark(
    "".join(f'<rect class="shade" x="{1 + 9 * i}" y="2" width="9" height="12" fill="var(--line)"/>' for i in range(4))
)


def _legend(*, detours: bool, rollouts: bool) -> str:
    """What the marks mean that the page can show."""
    marks = [
        f"{_SHADES}subgoals in order, the last is the goal",
        f"{_box('--ink', 3)}start",
        f"{_box('--accent', 2.5)}<span class='fresh'>new in this version</span>",
        f"{_line('--edge')}transition, wider with more support",
        f"{_line('--edge', 2, '2 3')}not carried out yet (unverified)",
    ]
    if detours or rollouts:
        marks.append(f"{_box('--unreasonable', 1.5, dashes='4 3')}a rollout was there, the graph was not")
    if detours:
        marks.append(f"{_line('--unreasonable', 3, '2 4')}a way that the graph does not know, wider the more often")
    if rollouts:
        marks += [
            f"{_line('--progress', 4)}step: progress (PA)",
            f"{_line('--reasonable', 4, '8 4')}step: reasonable (Re), seen before",
            f"{_line('--unreasonable', 4, '2 4')}step: not in the graph",
        ]
    items = "".join(f"<li>{mark}</li>" for mark in marks)
    return f'<div class="legend" role="group" aria-label="Legend"><ul>{items}</ul></div>'


def _tables(page: GraphPage) -> str:
    captions = {state.key: state.caption for task in page.tasks for state in task.states}
    parts = ['<div class="wide" id="facts" tabindex="-1"><h2>The same as tables</h2>']
    for task in page.tasks:
        name = f": {words(task.goal or task.key)}" if len(page.tasks) > 1 else ""
        inside = [state for state in task.states if state.source != OUTSIDE]
        subgoal_of = {state.key: state.subgoal for state in task.states}
        rungs = [
            (
                m,
                told,
                sum(state.subgoal == m for state in inside),
                sum(subgoal_of[t.source_state] == m for t in task.transitions),
            )
            for m, told in enumerate(task.subgoals)
        ]
        states = [(s.subgoal, s.caption, s.source or "-", s.since, "; ".join(s.facts)) for s in inside]
        transitions = sorted(
            (
                subgoal_of[t.source_state],
                captions[t.source_state],
                t.action,
                captions[t.target_state],
                t.source,
                t.support,
                t.since,
            )
            for t in task.transitions
        )
        parts += [
            f"<details{' open' if len(page.tasks) == 1 else ''}><summary>Subgoals{name}</summary>",
            f'<p class="soft">{words(task.key)}</p>',
            table("Subgoals in order", ("#m", "what is to be done", "#states", "#transitions from it"), rungs),
            "</details>",
            f"<details><summary>{len(states):,} states{name}</summary>",
            table("States", ("#m", "state", "source", "#since version", "facts"), states),
            "</details>",
            f"<details><summary>{len(transitions):,} transitions{name}</summary>",
            table("Transitions", ("#m", "from", "action", "to", "source", "#support", "#since version"), transitions),
            "</details>",
        ]
        if task.detours:
            ranked = sorted(task.detours, key=lambda d: (-d.times, captions[d.source_state], d.action))
            detours = [
                (captions[d.source_state], d.action, captions[d.target_state], d.times, d.rollouts) for d in ranked
            ]
            parts += [
                f"<details><summary>{len(detours):,} ways off the graph{name}</summary>",
                table("Ways off the graph", ("from", "action", "to", "#times", "#rollouts"), detours),
                "</details>",
            ]
    return "".join(parts) + "</div>"


def _moments(page: GraphPage) -> list[dict[str, Any]]:
    """The stops of the slider."""
    # A layer is called by its run: that name is above already.
    found = [
        {"k": v.k, "run": "" if v.run == page.graph else v.run, "at": v.at[:19].replace("T", " ")}
        for v in page.versions
        if v.k <= page.version
    ]
    if not found or found[0]["k"] != 0:
        found.insert(0, {"k": 0, "run": "", "at": ""})
    return found


def _data(page: GraphPage, placed: Placed) -> Mapping[str, Any]:
    number = {
        (n, state.key): i for i, (n, state) in enumerate((n, s) for n, t in enumerate(page.tasks) for s in t.states)
    }
    # States off the graph come and go with their rollout, but for those that a detour is drawn to.
    kept = [{end for d in task.detours for end in (d.source_state, d.target_state)} for task in page.tasks]
    nodes = [
        {
            "t": n,
            "m": state.subgoal,
            "x": placed.states[n, state.key][0],
            "y": placed.states[n, state.key][1],
            "c": state.caption,
            "f": state.facts,
            "s": state.source,
            "v": state.since,
            "start": state.key == task.start,
            "kept": state.key in kept[n],
        }
        for n, task in enumerate(page.tasks)
        for state in task.states
    ]
    edges = [
        {
            "a": number[n, t.source_state],
            "b": number[n, t.target_state],
            "c": t.action,
            "s": t.source,
            "n": t.support,
            "v": t.since,
        }
        for n, task in enumerate(page.tasks)
        for t in task.transitions
    ]
    detours = [
        {"a": number[n, d.source_state], "b": number[n, d.target_state], "c": d.action, "n": d.times, "r": d.rollouts}
        for n, task in enumerate(page.tasks)
        for d in task.detours
    ]
    rollouts = [
        {
            "t": n,
            "name": short_name(r.name, task.key),
            "won": r.success,
            "k": r.version,
            "steps": [_step(s, n, number) for s in r.steps],
        }
        for n, task in enumerate(page.tasks)
        for r in task.rollouts
    ]
    return {
        "moments": _moments(page),
        "after": page.after,
        "tasks": [{"goal": task.goal or task.key, "subgoals": task.subgoals} for task in page.tasks],
        "bands": [
            {"t": b.task, "m": b.subgoal, "x": b.left, "y": b.top, "w": b.right - b.left, "h": b.bottom - b.top}
            for b in placed.bands
        ],
        "nodes": nodes,
        "edges": edges,
        "detours": detours,
        "rollouts": rollouts,
    }


def _step(step: DrawnStep, task: int, number: Mapping[tuple[int, str], int]) -> dict[str, Any]:
    return {
        "c": step.action,
        "a": number.get((task, step.source_state)),
        "b": number.get((task, step.target_state)),
        "l": step.verdict,
        "d": step.drift,
        "ok": step.valid,
        "seeks": step.seeks,
        "base": step.base,
        "shaped": step.shaped,
    }
