"""Pages of graphs, written to a file, and what is said of them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from proas.cli.console import Output, facts_table

if TYPE_CHECKING:
    from proas.graph.store import ReferenceGraph
    from proas.views.drawing import DrawnTask

__all__ = ["write_drawing", "write_table"]


def write_drawing(
    output: Output,
    store: ReferenceGraph,
    path: Path,
    title: str,
    tasks: tuple[DrawnTask, ...],
    left_out: int = 0,
    *,
    version: int | None,
    after: int | None = None,
    note: str = "",
) -> None:
    """Write a page that draws tasks, and say what is in it.

    Args:
        output: Where to say it.
        store: The graph.
        path: The page.
        title: What is shown, in a few words.
        tasks: What is drawn.
        left_out: Tasks for which there was no room.
        version: Version shown first; the newest if not given.
        after: What came after this version is marked as new.
        note: HTML of ours above the drawing.

    Raises:
        DataError: The page cannot be written.
    """
    from proas.views.choosing import history
    from proas.views.graph_page import GraphPage, graph_page
    from proas.views.page import write_page

    shown = store.info().version if version is None else version
    page = GraphPage(store.name, title, shown, history(store, shown), tasks, after, left_out, note)
    write_page(path, graph_page(page))
    states, transitions = page.counts
    document: dict[str, Any] = {
        "graph": store.name,
        "version": shown,
        "tasks": len(tasks),
        "left_out": left_out,
        "states": states,
        "transitions": transitions,
        "detours": sum(len(t.detours) for t in tasks),
        "rollouts": sum(len(t.rollouts) for t in tasks),
        "html": str(path),
    }
    facts = {"shows": title, "tasks": len(tasks), "states": states, "transitions": transitions}
    for name in ("detours", "rollouts"):
        if document[name]:
            facts[name] = document[name]
    facts["written to"] = path
    if left_out:
        facts["left out"] = f"{left_out:,} tasks, as --limit is reached"
    output.result(document, facts_table(facts))


def write_table(output: Output, store: ReferenceGraph, path: Path, title: str, table: str, rows: int) -> None:
    """Write a page that holds a table and nothing to draw.

    Raises:
        DataError: The page cannot be written.
    """
    from proas.views.page import document, words, write_page

    body = f"<header><h1>{words(title)}</h1></header><main>{table}</main>"
    write_page(path, document(f"{title} - ProAS", body))
    told = {"graph": store.name, "rows": rows, "html": str(path)}
    output.result(told, facts_table({"shows": title, "rows": rows, "written to": path}))
