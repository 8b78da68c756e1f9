"""``proas env``: what is listed, and tasks played by a script of lines, with the labels that ``proas label`` gives."""

from __future__ import annotations

import io
import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Protocol

import pytest

from proas.rollout_files import load_rollouts
from proas.rollouts import Rollout
from tests.e2e.conftest import Outcome, Proas

SUPPORT = Path(__file__).resolve().parents[1] / "support"


class Played(Protocol):
    """``proas env play`` in this process, with lines on its standard input."""

    def __call__(self, *words: object, lines: str | bytes = "") -> Outcome: ...


@pytest.fixture
def played(proas: Proas, monkeypatch: pytest.MonkeyPatch) -> Played:
    def run(*words: object, lines: str | bytes = "") -> Outcome:
        typed = io.BytesIO(lines if isinstance(lines, bytes) else lines.encode())
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(typed, encoding="utf-8"))
        return proas("env", "play", *words)

    return run


def by_policy(proas: Proas, games: Path, work: Path, policy: str) -> Rollout:
    """A recorded rollout of the first game."""
    out = work / f"{policy}.jsonl"
    done = proas("rollout", "--data", games, "--policy", policy, "--limit", 1, "--group-size", 1, "--out", out)
    assert done.code == 0, done.err
    (rollout,) = load_rollouts(out)
    return rollout


def test_list_says_what_is_ready(proas: Proas, no_server: Path) -> None:
    found = {one["name"]: one for one in proas("env", "list", "--json").document["environments"]}
    assert found["alfworld"]["ready"]
    assert found["alfworld"]["tasks"] == 7
    assert found["alfworld"]["step_limit"] == 50
    assert found["alfworld"]["policies"] == ["expert", "noisy", "random"]
    assert {option["name"] for option in found["webshop"]["options"]} == {"goals", "observations", "price-seed"}
    shown = proas("env", "list")
    assert shown.code == 0
    for name in found:
        assert f"\n{name}\n" in f"\n{shown.out}"
    assert max(map(len, shown.out.splitlines())) <= 80


def test_list_shows_plug_ins_and_survives_a_broken_one(no_server: Path, tmp_path: Path) -> None:
    (tmp_path / "broken_plugin.py").write_text(
        "from proas.envs import EnvKind, register\n"
        "def fail(data, options):\n    raise ZeroDivisionError('no')\n"
        "register(EnvKind(name='broken', summary='s', data='d', step_limit=1, open=fail))\n"
        "register(EnvKind(name='lacking', summary='s', data='d', step_limit=1, open=fail,"
        " missing=lambda: 'thing: pip install thing'))\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "proas.cli", "env", "list", "--json"],
        env={
            **os.environ,
            "PROAS_PLUGINS": "broken_plugin, rough_environment",
            "PYTHONPATH": os.pathsep.join([str(tmp_path), str(SUPPORT)]),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = {one["name"]: one for one in json.loads(done.stdout)["environments"]}
    assert found["rough"]["ready"]
    assert not found["rough"]["states"]
    assert (found["broken"]["ready"], found["broken"]["missing"]) == (
        False,
        (
            f"broken cannot be opened: ZeroDivisionError: no, raised at {tmp_path / 'broken_plugin.py'}:3 "
            "(it comes from a plug-in: mend it there)"
        ),
    )
    assert found["lacking"]["missing"] == "thing: pip install thing"
    assert "alfworld" in found


@pytest.mark.neo4j
@pytest.mark.parametrize("policy", ["expert", "noisy"])
def test_labels_shown_are_those_of_label(
    played: Played, proas: Proas, graph: str, games: Path, work: Path, policy: str
) -> None:
    recorded = by_policy(proas, games, work, policy)
    lines = "\n".join(["dance", ":undo", *(step.action for step in recorded.steps)]) + "\n"
    words = ("alfworld", recorded.task, "--data", games, "--graph", graph, "--save", work / "mine.jsonl")
    done = played(*words, "--json", lines=lines)
    assert done.code == 0, done.err
    mine = json.loads(done.out)["rollout"]
    assert proas("label", work / "mine.jsonl", "--graph", graph, "--out", work / "labelled.jsonl").code == 0
    assert mine == json.loads((work / "labelled.jsonl").read_text())
    assert proas("label", work / f"{policy}.jsonl", "--graph", graph, "--out", work / "other.jsonl").code == 0
    (labelled,) = load_rollouts(work / "other.jsonl")
    assert mine["steps"] == json.loads(labelled.model_dump_json(exclude_none=True))["steps"]
    shown = played(*words, lines=lines)
    assert "covers this task" in shown.out
    assert_views(shown.out, labelled, drift=False)
    again = played("--replay", f"{work / 'mine.jsonl'}#{recorded.task[:20]}", "--graph", graph)
    assert again.code == 0, again.err
    assert_views(again.out, labelled, drift=True)
    unasked = played("alfworld", "--replay", f"{work / 'labelled.jsonl'}#1")
    assert_views(unasked.out, labelled, drift=True)


def assert_views(out: str, rollout: Rollout, *, drift: bool) -> None:
    """The panel beside each step and the table at the end hold the rollout's labels."""
    panels = [line for line in out.splitlines() if "│" in line and " Re " in line]
    labels = [step.label for step in rollout.steps if step.label is not None]
    assert len(labels) == len(rollout.steps) > 0
    panels = panels[-len(labels) :]
    for panel, label in zip(panels, labels, strict=True):
        words = f"Re {label.reasonable:d}  PA {label.progress:d}" + (f"  D {label.drift} " if drift else " ")
        assert words in panel
    table = out.partition("the end ─")[2].splitlines()
    rows = [line.split() for line in table if line.strip()[:1].isdigit() and " of " in line]
    found = [row[-6:-3] for row in rows]
    assert found == [[f"{label.reasonable:d}", f"{label.progress:d}", str(label.drift)] for label in labels]


@pytest.mark.neo4j
def test_the_view_tells_where_one_stands(
    monkeypatch: pytest.MonkeyPatch, played: Played, graph: str, games: Path, proas: Proas, work: Path
) -> None:
    recorded = by_policy(proas, games, work, "expert")
    first = recorded.steps[0].action
    lines = f":hint\n{first}\n:hint\ngo to nowhere\n"
    monkeypatch.setenv("NO_COLOR", "1")
    done = played("alfworld", "1", "--data", games, "--graph", graph, lines=lines)
    assert done.code == 0, done.err
    assert "\x1b" not in done.out
    assert max(map(len, done.out.splitlines())) <= 80
    assert "subgoal" in done.out
    assert "goal in" in done.out
    assert "That action did not apply." in done.out
    hint = done.out.partition("> :hint")[2].partition("> ")[0]
    assert first in hint
    monkeypatch.setenv("COLUMNS", "50")
    narrow = played("alfworld", "1", "--data", games, "--graph", graph)
    assert max(map(len, narrow.out.splitlines())) <= 50


@pytest.mark.neo4j
def test_a_task_that_the_graph_does_not_hold_is_played_all_the_same(played: Played, graph: str, work: Path) -> None:
    done = played("alfworld", "--graph", graph, "--json", lines="look\n")
    assert done.code == 0
    assert json.loads(done.out)["rollout"]["covered"] is False
    assert "does not cover this task" in done.err
    assert "proas graph build --source alfworld --data" in done.err.replace("\n", "")


@pytest.mark.neo4j
def test_a_graph_that_is_not_there_is_an_error(played: Played, work: Path) -> None:
    done = played("alfworld", "--graph", "no-such-graph")
    assert done.code == 1
    assert "no graph is called 'no-such-graph'" in done.err


@pytest.mark.neo4j
def test_a_version_that_is_not_there_is_said_before_anything_is_played(played: Played, graph: str, work: Path) -> None:
    done = played("alfworld", "--graph", graph, "--version", "99", lines="look\n")
    assert (done.code, done.out) == (2, "")
    assert "has no version 99" in done.err


def test_tasks_are_listed_and_found(played: Played, no_server: Path) -> None:
    tasks = json.loads(played("alfworld", "--tasks", "--json").out)["tasks"]
    assert [row["number"] for row in tasks] == list(range(1, 8))
    third = tasks[2]["task"]
    for typed in (third, "3", "pick_clean"):
        done = played("alfworld", typed, "--json")
        assert json.loads(done.out)["rollout"]["task"] == third
    assert "samples that ship" in done.err
    assert played("alfworld", "pick").code == 2
    assert "say more" in played("alfworld", "pick").err
    assert "did you mean" in played("alfworld", "SoapBar-None").err


NONSENSE = b"\xff\xfe\x00\x1b[31m\n\n   \n:\n:wat\n:undo\n:undo 3\n0\n-1\n9999999999999999999999\n\xc2\xb2\n" + (
    b"9" * 5000 + b"\n" + b"z" * 50_000 + b"\n[bold]x[/bold]\n:actions [/]\n:hint\n:goal\n:look\n:help\n1"
)


def test_nothing_that_is_typed_ends_in_a_traceback(played: Played, no_server: Path) -> None:
    done = played("alfworld", lines=NONSENSE)
    assert done.code == 0, done.err
    assert "Traceback" not in done.out + done.err
    assert "\x1b[31m" not in done.out
    assert "is no command" in done.out
    assert "numbers go from 1" in done.out
    assert "too long" in done.out
    assert "not solved after" in done.out
    assert max(len(line) for line in done.out.splitlines() if not line.startswith("> ")) <= 80


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        ((), 2, "which environment"),
        (("atari",), 2, "no environment is called 'atari'"),
        (("alfworld", "0"), 2, "no task '0'"),
        (("alfworld", ""), 2, "no task ''"),
        (("alfworld", "9" * 5000), 2, "no task"),
        (("alfworld", "--data", "nowhere"), 1, "nowhere"),
        (("alfworld", "--option", "goals=human"), 2, "no option 'goals'"),
        (("webshop", "--option", "goals=mine"), 2, "cannot be 'mine'"),
        (("alfworld", "--version", "1"), 2, "--version goes with --graph"),
        (("alfworld", "--max-steps", "0"), 2, "--max-steps"),
        (("alfworld", "1", "--replay", "x.jsonl#1"), 2, "TASK does not go with --replay"),
        (("--replay", "x.jsonl#1"), 1, "x.jsonl"),
        (("--replay", ""), 1, "folder"),
        (("alfworld", "--save", "no/such/folder/x.jsonl"), 1, "cannot write"),
        (("alfworld", "--save", "/"), 1, "it is a folder"),
    ],
)
def test_what_makes_no_sense_is_said(
    played: Played, no_server: Path, words: tuple[str, ...], code: int, message: str
) -> None:
    done = played(*words)
    assert (done.code, "Traceback" in done.err) == (code, False), done.err
    assert message in done.err


def test_an_episode_may_be_won_or_run_out(played: Played, no_server: Path, proas: Proas, games: Path) -> None:
    recorded = by_policy(proas, games, no_server, "expert")
    lines = "\n".join(step.action for step in recorded.steps) + "\nthis is not read\n"
    won = played("alfworld", "1", "--data", games, "--json", lines=lines)
    assert json.loads(won.out)["rollout"]["ended"] == "success"
    assert "solved after" in won.err
    cut = played("alfworld", "1", "--data", games, "--max-steps", "2", "--json", lines="look\nlook\nlook\n")
    assert json.loads(cut.out)["rollout"]["ended"] == "step_limit"
    assert len(json.loads(cut.out)["rollout"]["steps"]) == 2


def test_webshop_is_played_by_numbers(played: Played, no_server: Path) -> None:
    pytest.importorskip("bm25s")
    done = played("webshop", "--option", "goals=human", "--json", lines="1\n3\n:quit\n1\n")
    rollout: dict[str, Any] = json.loads(done.out)["rollout"]
    assert [step["valid"] for step in rollout["steps"]] == [True, True]
    assert rollout["steps"][1]["action"].startswith("click[")
    assert rollout["steps"][0]["state"]["facts"]


@pytest.mark.neo4j
def test_the_numbers_of_hints_lead_to_the_goal(played: Played, proas: Proas, work: Path, request: Any) -> None:
    pytest.importorskip("bm25s")
    name = f"hints-{os.getpid()}"
    request.addfinalizer(lambda: proas("graph", "drop", name, "--yes"))
    assert proas("graph", "build", "--source", "webshop", "--goals", "human", "--limit", "1", "--graph", name).code == 0
    words = ("webshop", "1", "--option", "goals=human", "--graph", name)
    typed: list[str] = []
    shown = ""
    while "solved after" not in (shown := played(*words, lines="\n".join([*typed, ":hint"])).out).replace(
        "not solved", ""
    ):
        assert len(typed) < 12, shown
        hint = shown.rpartition("> :hint")[2]
        number = re.search(r"^\s*(\d+)\s+(?:click|search)\S", hint, re.MULTILINE)
        assert number is not None, hint
        typed.append(number.group(1))
    assert shown.count("Re 1  PA 1") == len(typed)
    assert "goal in   reached" in shown


def test_an_interrupt_is_polite_and_keeps_what_was_played(no_server: Path) -> None:
    program = subprocess.Popen(
        [sys.executable, "-m", "proas.cli", "env", "play", "alfworld", "--save", "mine.jsonl"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=_heed_interrupts,  # noqa: PLW1509  (no threads here)
    )
    try:
        assert program.stdin is not None
        assert program.stdout is not None
        program.stdin.write(b"look\n")
        program.stdin.flush()
        shown = b""
        while b"step 1" not in shown:
            shown += os.read(program.stdout.fileno(), 4096)
        time.sleep(0.2)
        program.send_signal(signal.SIGINT)
        _, err = program.communicate(timeout=60)
    finally:
        program.kill()
        program.wait()
    assert program.returncode == 130
    assert err.decode().endswith("error interrupted\n")
    assert b"Traceback" not in err
    (rollout,) = load_rollouts(no_server / "mine.jsonl")
    assert [step.action for step in rollout.steps] == ["look"]


def _heed_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def test_at_a_terminal_a_person_is_prompted(no_server: Path) -> None:
    ours, theirs = pty.openpty()
    program = subprocess.Popen(
        [sys.executable, "-m", "proas.cli", "env", "play", "alfworld", "1"],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**os.environ, "TERM": "xterm"},
    )
    os.close(theirs)
    shown = b""
    try:
        for wanted, typed in ((b"> ", b"1\n"), (b"step 1", b":quit\n")):
            while wanted not in shown:
                shown += os.read(ours, 4096)
            os.write(ours, typed)
        assert program.wait(timeout=60) == 0
        while chunk := _rest(ours):
            shown += chunk
    finally:
        program.kill()
        program.wait()
        os.close(ours)
    assert "not solved after 1 step" in re.sub(r"\x1b\[[0-9;?]*[a-z]", "", shown.decode())
    assert b"\x1b[" in shown  # colours, where there is a terminal to show them


def _rest(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 4096)
    except OSError:  # how Linux says that the other side has closed
        return b""
