"""The report page: tables and figures are written from the committed records, the words between them are kept.

A stretch of words stands between two marks, ``<!-- words: NAME -->`` and ``<!-- end of words -->``. Whoever writes the
report writes there, in the page itself; all else is made anew each time. The page holds the tables that answer its
questions; the others are on a page for each experiment, in a folder of the page's name beside it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from proas.errors import DataError, UsageError
from proas.experiments.figures import draw_figures
from proas.experiments.plan import Plan
from proas.experiments.records import Results
from proas.experiments.statistics import Findings, findings
from proas.experiments.sweeps import sweep_tables
from proas.experiments.tables import Table, all_tables, markdown

__all__ = ["page_text", "write_page"]

_WORDS = re.compile(r"<!-- words: (?P<name>[\w.-]+) -->\n(?P<text>.*?)<!-- end of words -->", re.DOTALL)

_TITLE = "Does it learn faster?"
_OPENING = f"""# {_TITLE}

Tables and figures are written by `proas evidence page` from the results under `experiments/results`; `make evidence`
does every run and every diagnosis again, then writes them from the new results. The words are written by hand.
[Experiments](experiments.md) says how an experiment is described, run and counted.
"""
_ANSWERS = ("success", "differences at ", "speed at ", "together")
"""How the names of the tables begin that the page itself holds."""


def write_page(
    plans: Sequence[Plan], results: Results, page: Path, figures: Path, kept: Path | None = None
) -> tuple[list[Path], list[Findings]]:
    """Write the page and its figures.

    Args:
        plans: The experiments, in the page's order.
        results: The records.
        page: The page; the words that it holds are kept.
        figures: Folder of the figures.
        kept: Folder of the diagnoses; ``None`` for none.

    Returns:
        The files written, and what was found.

    Raises:
        UsageError: matplotlib is not installed, or the page's name has no ending that sets it apart from its folder.
        DataError: The page holds words for an experiment that is not among the plans, or cannot be written.
    """
    if not page.suffix:
        raise UsageError(f"{page} has no ending, and its folder of tables takes that name", hint=f"name it {page}.md")
    found = [findings(plan, results) for plan in plans]
    words = _kept(page)
    if lost := sorted(name for name in words.keys() - _places(plans) if words[name].strip()):
        raise DataError(f"{page} holds words for {lost[0]!r}, which has no place", hint="move them, or keep its plan")
    try:
        drawn = [draw_figures(one, figures) for one in found]
        page.parent.mkdir(parents=True, exist_ok=True)
        sweeps = [[] if kept is None else sweep_tables(one, kept) for one in found]
        links = [[Path(os.path.relpath(file, page.parent)).as_posix() for file in files] for files in drawn]
        page.write_text(page_text(found, links, words, sweeps, page.stem), encoding="utf-8")
        beside = [_write_tables(one, page) for one in found]
    except OSError as error:
        raise DataError(f"{error.filename} cannot be written: {error.strerror}", hint="name another place") from error
    return [page, *beside, *(file for files in drawn for file in files)], found


def _write_tables(found: Findings, page: Path) -> Path:
    file = page.parent / page.stem / f"{found.plan.name}.md"
    file.parent.mkdir(exist_ok=True)
    back = f"[{_TITLE}](../{page.name}) has the question, what was found, and the tables that answer it."
    lines = [f"# {found.plan.title}: the other tables", "", back, ""]
    if not found.arms:
        lines += [_nothing(found.plan), ""]
    for table in all_tables(found):
        if not table.name.startswith(_ANSWERS):
            lines += [f"## {table.title}", "", table.caption, "", *markdown(table), ""]
    file.write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")
    return file


def page_text(
    found: Sequence[Findings],
    figures: Sequence[Sequence[str]],
    words: dict[str, str],
    sweeps: Sequence[Sequence[Table]],
    beside: str,
) -> str:
    """The page.

    Args:
        found: What the records say, in the page's order.
        figures: Links of each experiment's figures.
        words: Hand-written words by the name of their place.
        sweeps: Each experiment's tables over temperatures.
        beside: Folder of the other tables, from the page.
    """
    lines = [*_OPENING.splitlines(), "", *_place("summary", words), ""]
    for one, links, drawn in zip(found, figures, sweeps, strict=True):
        lines += _section(one, links, words, drawn, beside)
    return "\n".join(lines).rstrip() + "\n"


def _section(
    found: Findings, figures: Sequence[str], words: dict[str, str], sweeps: Sequence[Table], beside: str
) -> Iterator[str]:
    plan = found.plan
    yield f"## {plan.title}"
    yield ""
    yield plan.question
    yield ""
    yield from _place(plan.name, words)
    yield ""
    if not found.arms:
        yield _nothing(plan)
        yield ""
        return
    yield _played(found, beside)
    yield ""
    for note in found.notes:
        yield f"- {note}"
    if found.missing:
        yield f"- {len(found.missing)} runs are missing: {', '.join(found.missing[:8])}" + (
            " ..." if len(found.missing) > 8 else ""
        )
    if found.notes or found.missing:
        yield ""
    for link in figures:
        what = "success over iterations" if link.endswith("-success.svg") else "what happens over training"
        yield f"![{plan.title}: {what}]({link})"
        yield ""
    answers = [table for table in all_tables(found) if table.name.startswith(_ANSWERS)]
    for table in (*answers, *sweeps):
        yield f"### {plan.title}: {table.title[0].lower()}{table.title[1:]}"
        yield ""
        yield table.caption
        yield ""
        yield from markdown(table)
        yield ""
    yield (
        f"[The other tables]({beside}/{plan.name}.md): kinds of task, how they play, where the "
        "time goes, what happens over training, and what each arm is, with the command that runs it again."
    )
    yield ""


def _nothing(plan: Plan) -> str:
    return f"No results yet: `proas evidence run {plan.name}` makes them."


def _played(found: Findings, beside: str) -> str:
    record = next(iter(found.arms[0].records.values()))
    settings, games = record.settings, record.games
    recur = settings["recur"]
    return (
        f"On {games['label']} ({games.get('training', 0):,} tasks): "
        f"{settings['iterations']} iterations of {settings['tasks']} tasks × "
        f"{settings['group_size']} rollouts of at most {settings['step_limit']} steps"
        + (f", {recur} training tasks" if recur else "")
        + f"; success on {record.tasks} fixed validation tasks, every {settings['evaluation']['every']} iterations. "
        f"[The table of arms]({beside}/{found.plan.name}.md#arms) says what each sets otherwise."
    )


def _place(name: str, words: dict[str, str]) -> Iterator[str]:
    yield f"<!-- words: {name} -->"
    yield from words.get(name, "").splitlines()
    yield "<!-- end of words -->"


def _places(plans: Sequence[Plan]) -> set[str]:
    return {"summary", *(plan.name for plan in plans)}


def _kept(page: Path) -> dict[str, str]:
    """The hand-written words of a page.

    Raises:
        DataError: A mark has no counterpart, so that words would be lost.
    """
    if not page.is_file():
        return {}
    text = page.read_text(encoding="utf-8")
    found = {match["name"]: match["text"] for match in _WORDS.finditer(text)}
    opened, closed = text.count("<!-- words: "), text.count("<!-- end of words -->")
    if not opened == closed == len(found):
        raise DataError(
            f"{page} has {opened} marks that open words, {closed} that end them and {len(found)} places",
            hint="each <!-- words: NAME --> needs one <!-- end of words -->, and each name may come once",
        )
    return found
