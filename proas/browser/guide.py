"""The guide that opens in Neo4j Browser's side bar: from the colours to what a run learnt, on a graph that is there."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape

__all__ = ["GuideFacts", "guide_page", "parameters_command"]

_TITLE = "ProAS: a reference graph"


@dataclass(frozen=True, slots=True)
class GuideFacts:
    """What the guide speaks of: things of the user's own database, at the moment.

    Attributes:
        graph: The graph; empty where there is none.
        base: The graph that it is a layer over; empty for a base graph.
        version: Its version.
        task: Key of the task to begin with.
        goal: Of that task, in words.
        states: Of that task in this graph.
        subgoals: Descriptions of the task's subgoals, in order.
        learnt_at: Version that brought most transitions after version 0; 0 where nothing came.
        added: Number of transitions that it brought.
        painted: Number of tasks that carry colours by source, order, age and support.
        rollouts: Number of attached rollouts.
        rollout: Id of an attached rollout of the task, else of any; empty where there is none.
        rollout_task: Key of the task of that rollout, where it is another.
        other: Another graph that knows the task, for comparing; empty where there is none.
    """

    graph: str = ""
    base: str = ""
    version: int = 0
    task: str = ""
    goal: str = ""
    states: int = 0
    subgoals: tuple[str, ...] = ()
    learnt_at: int = 0
    added: int = 0
    painted: int = 0
    rollouts: int = 0
    rollout: str = ""
    rollout_task: str = ""
    other: str = ""


_SUBGOALS = (
    ("node.Order0", "first"),
    ("node.Order2", "later"),
    ("node.OrderLater", "late"),
    ("node.OrderGoal", "goal"),
)
_STATES = (
    ("node.FromPlan", "a plan"),
    ("node.FromSearch", "a search"),
    ("node.FromAround", "around it"),
    ("node.FromRollout", "a rollout"),
    ("node.FromTeacher", "a teacher"),
    ("node.FromElsewhere", "something else"),
)
_TRANSITIONS = (
    ("relationship.BUILT_OFTEN", "version 0"),
    ("relationship.LEARNT_OFTEN", "learnt later"),
    ("relationship.NEWEST_OFTEN", "newest version"),
)
_STEPS = (
    ("relationship.STEP_PROGRESS", "progress"),
    ("relationship.STEP_AGAIN", "a state seen before"),
    ("relationship.STEP_ASTRAY", "not in the graph"),
)


def parameters_command(facts: GuideFacts) -> str:
    """The command that sets every parameter that the saved queries take."""
    values = {
        "graph": facts.graph,
        "task": facts.task,
        "subgoal": min(1, max(len(facts.subgoals) - 1, 0)),
        "version": facts.learnt_at,
        "other": facts.other or facts.base or facts.graph,
        "rollout": facts.rollout,
    }
    return f"params {json.dumps(values, ensure_ascii=True)}"


def guide_page(facts: GuideFacts, *, style: str, grass: str, queries: Mapping[str, str]) -> str:
    """The guide as HTML for Browser's ``:guide``.

    Args:
        facts: What it speaks of. Names and texts from data are written so that they cannot be markup.
        style: Address of the style sheet.
        grass: Its text, for the legend.
        queries: Text of each saved query by file name, for example ``task.cypher``.
    """
    slides = _nothing_there() if not facts.graph else _slides(facts, style, _colours(grass), queries)
    inset = '<div style="padding: 0 16px 32px 16px">'
    body = "\n".join(f'<slide class="row-fluid">\n{inset}{slide}</div>\n</slide>' for slide in slides)
    return (
        f"<title>{_TITLE}</title>\n"
        f'<article class="guide">\n<carousel class="deck container-fluid">\n{body}\n</carousel>\n</article>\n'
    )


def _nothing_there() -> list[str]:
    said = (
        "<h3>No graph yet</h3>"
        "<p>This database holds no reference graph. Make one, then open this guide again:</p>"
        "<pre>proas generate --out games --count 20\n"
        "proas graph build --source alfworld --data games --graph kitchen --expand optimal</pre>"
    )
    return [said]


def _slides(facts: GuideFacts, style: str, colours: Mapping[str, str], queries: Mapping[str, str]) -> list[str]:
    slides = [_begin(facts, style), _task(facts, colours, queries), _classes(facts, queries), _growth(facts, queries)]
    slides += [_ways(queries), _rollouts(facts, colours, queries)]
    if facts.other:
        slides.append(_compared(facts, queries))
    return [*slides, _further(queries)]


def _begin(facts: GuideFacts, style: str) -> str:
    over = f", a layer over <b>{escape(facts.base)}</b>" if facts.base else ""
    return (
        f"<h3>Before you begin</h3>"
        f"<p>You look at the graph <b>{escape(facts.graph)}</b>{over}, at version {facts.version}. "
        f"Click each of these once; they are Browser's own commands.</p>"
        f"<p><b>1.</b> {_click('style ' + style, 'Set the colours')}</p>"
        f"<p><b>2.</b> {_click(parameters_command(facts), 'Set the parameters')}</p>"
        f"<p><b>3.</b> {_click('config autoComplete: false', 'Draw what a query returns, no more')}: "
        f"else Browser draws the plain line of a transition beside the coloured one.</p>"
        f"<p>Then click a query on the next pages: it goes into the editor above. Run it with the blue arrow or "
        f"Ctrl-Enter. The arrow at the right edge of a picture folds its list of labels away; the double arrow above "
        f"gives it the whole window.</p>"
        f"<p>The parameters begin with the task of which most was learnt: <i>{escape(facts.goal or facts.task)}</i>. "
        f"Change one at any time, for example:</p>{_populate(':param version => 2')}"
    )


def _task(facts: GuideFacts, colours: Mapping[str, str], queries: Mapping[str, str]) -> str:
    return (
        "<h3>One task</h3>"
        f"<p>Its subgoals, its {facts.states:,} states, and the transitions that solved it.</p>"
        f"{_query('task.cypher', queries)}"
        f"<p><b>Subgoals</b>, in their order</p>{_legend(_SUBGOALS, colours)}"
        f"<p><b>States</b>, by what is behind them; a thick dark ring is the start, a thick green one the goal</p>"
        f"{_legend(_STATES, colours)}"
        f"<p><b>Transitions</b>, by age; thicker is more often shown: once, 2 to 4 times, 5 times and more</p>"
        f"{_legend(_TRANSITIONS, colours)}"
        f"<p>Click a node to see its facts, a transition to see its support and version.</p>"
    )


def _classes(facts: GuideFacts, queries: Mapping[str, str]) -> str:
    ladder = "".join(f"<li>{m}: {escape(said)}</li>" for m, said in enumerate(facts.subgoals))
    return (
        "<h3>A subgoal's class</h3>"
        "<p>States in which the same milestones are reached are equivalent for progress. This shows one class with the "
        "ways in and out.</p>"
        f"{_query('subgoal.cypher', queries)}"
        f"<p>The subgoals of this task:</p><ul>{ladder}</ul>"
        f"{_populate(':param subgoal => 2')}"
    )


def _growth(facts: GuideFacts, queries: Mapping[str, str]) -> str:
    if facts.learnt_at:
        said = f"Version {facts.learnt_at} brought most: {facts.added:,} transitions."
    else:
        said = "Nothing was learnt after version 0 yet: evolve the graph, or train with it."
    return (
        "<h3>What was learnt, and when</h3>"
        f"<p>{said} This draws what one version added.</p>"
        f"{_query('added.cypher', queries)}"
        "<p>And this lists the task's transitions by the version that brought them.</p>"
        f"{_query('growth.cypher', queries)}"
        "<p>Who showed each of them?</p>"
        f"{_query('provenance.cypher', queries)}"
        "<p>What did more than one of them take? Nothing is drawn where each way was shown once.</p>"
        f"{_query('support.cypher', queries)}"
    )


def _ways(queries: Mapping[str, str]) -> str:
    return (
        "<h3>The shortest way</h3>"
        "<p>From the start to the goal, in the graph itself or in its base, whichever knows a shorter one.</p>"
        f"{_query('shortest.cypher', queries)}"
    )


def _rollouts(facts: GuideFacts, colours: Mapping[str, str], queries: Mapping[str, str]) -> str:
    if not facts.rollouts:
        return (
            "<h3>Where rollouts leave the graph</h3>"
            "<p>No rollouts are attached. Attach some, then open this guide again:</p>"
            f"<pre>proas rollouts attach labelled.jsonl --graph {escape(facts.graph)}</pre>"
        )
    elsewhere = ""
    if facts.rollout_task:
        elsewhere = (
            "<p>None of them is of the task that the parameters name. This one is left by some:</p>"
            f"{_populate(f':param task => {json.dumps(facts.rollout_task)}')}"
        )
    return (
        "<h3>Where rollouts leave the graph</h3>"
        f"<p>{facts.rollouts:,} rollouts are attached. Red is what the graph does not know. The ways off it that were "
        "taken most often:</p>"
        f"{_query('detours.cypher', queries)}{elsewhere}"
        "<p>The regions of this task that rollouts reach and the graph does not:</p>"
        f"{_query('beyond.cypher', queries)}"
        "<p>One rollout, step by step. Click a step for Re, PA, its drift D and its advantage.</p>"
        f"{_legend(_STEPS, colours)}"
        f"{_query('rollout.cypher', queries)}"
    )


def _compared(facts: GuideFacts, queries: Mapping[str, str]) -> str:
    return (
        "<h3>Two runs compared</h3>"
        f"<p>What <b>{escape(facts.graph)}</b> and <b>{escape(facts.other)}</b> know of this task:</p>"
        f"{_query('compare.cypher', queries)}"
        f"<p>As a picture: what is in <b>{escape(facts.graph)}</b> alone.</p>"
        f"{_query('only_here.cypher', queries)}"
    )


def _further(queries: Mapping[str, str]) -> str:
    return (
        "<h3>Further</h3>"
        "<p>All graphs of this database:</p>"
        f"{_query('graphs.cypher', queries)}"
        "<p>To keep a query, click the star beside the editor. The files can be dragged onto Browser's favourites too; "
        "<code>proas db browser</code> says where they are.</p>"
        "<p>For a slider over versions, distances from left to right and a page to send to a colleague: "
        "<code>proas graph viz</code>.</p>"
    )


def _legend(entries: tuple[tuple[str, str], ...], colours: Mapping[str, str]) -> str:
    box = "display: inline-block; width: 12px; height: 12px; margin: 0 4px 0 0; border: 1px solid #888"
    items = (
        f'<span style="white-space: nowrap; margin-right: 14px"><span style="{box}; background: {colours[selector]}">'
        f"</span>{escape(said)}</span> "
        for selector, said in entries
    )
    return f"<p>{''.join(items)}</p>"


def _colours(grass: str) -> dict[str, str]:
    """Colour of each selector of a style sheet."""
    return dict(re.findall(r"([\w.]+) \{[^}]*?\n  color: (#[0-9A-Fa-f]{6});", grass))


def _click(command: str, said: str) -> str:
    """A link that runs one of Browser's commands."""
    return f'<a data-exec="{escape(command, quote=True)}">{escape(said)}</a>'


def _populate(text: str) -> str:
    return f'<pre class="pre-scrollable code runnable">{escape(text)}</pre>'


def _query(name: str, queries: Mapping[str, str]) -> str:
    """A saved query, without what its comments say of parameters: the guide sets them."""
    first, *rest = queries[name].strip().splitlines()
    lines = [first, *(line for line in rest if not re.match(r"\s*//", line))]
    return _populate("\n".join(lines))
