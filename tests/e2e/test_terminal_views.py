"""What the terminal shows of a graph: it fits, needs no colour, and tells what the files tell."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from proas.rollout_files import load_rollouts, write_rollouts
from proas.rollouts import Rollout
from proas.shaping import preset, shape
from tests.e2e.conftest import Outcome, Proas

WIDTH = 80


@pytest.fixture
def shaped(layer: str, rollouts: Path, proas: Proas, work: Path) -> Path:
    """Rollouts labelled by the layer before it learnt from them, and shaped."""
    assert proas("label", rollouts, "--graph", layer, "--out", "labelled.jsonl").code == 0
    write_rollouts(work / "shaped.jsonl", shape(load_rollouts(work / "labelled.jsonl"), preset("membership")).batch)
    assert proas("evolve", rollouts, "--graph", layer, "--run", "night").code == 0
    return work / "shaped.jsonl"


def fits(done: Outcome) -> None:
    assert done.code == 0, done.err
    assert max(len(line) for line in done.out.splitlines()) <= WIDTH
    assert "\x1b" not in done.out


def test_a_rollout_is_shown_step_by_step(shaped: Path, layer: str, proas: Proas) -> None:
    rollout = next(r for r in load_rollouts(shaped) if r.steps and r.id.endswith("#1"))
    words = ("graph", "show", rollout.task, "--graph", layer, "--rollout", f"{shaped}#1")
    document = proas(*words, "--json").document["rollout"]
    assert document["id"] == rollout.id
    assert [s["drift"] for s in document["steps"]] == [s.label.drift if s.label else None for s in rollout.steps]
    assert [s["advantage"] for s in document["steps"]] == [s.advantage for s in rollout.steps]
    done = proas(*words)
    fits(done)
    for word, label in (("progress", "progress"), ("seen before", "reasonable"), ("not in graph", "unreasonable")):
        shown = len(re.findall(rf"^ *\d+ .*{word}", done.out, re.MULTILINE))
        assert shown == sum(s["label"] == label for s in document["steps"])


def test_labels_are_made_where_there_are_none_and_anew_for_a_version(
    shaped: Path, rollouts: Path, layer: str, proas: Proas
) -> None:
    def to_learn(rollout: Rollout) -> int:
        """Steps off the graph that did something, which evolution keeps unless they fall back."""
        keys = rollout.state_keys
        moved = [step for t, step in enumerate(rollout.steps) if step.valid and keys[t] != keys[t + 1]]
        return sum(step.label is not None and not step.label.reasonable for step in moved)

    won = max((r for r in load_rollouts(shaped) if r.success), key=to_learn)

    def reasonable(file: Path, *more: object) -> int:
        words = ("graph", "show", won.task, "--graph", layer, "--rollout", f"{file}#{won.id}", *more, "--json")
        return sum(step["reasonable"] for step in proas(*words).document["rollout"]["steps"])

    before = sum(s.label.reasonable for s in won.steps if s.label)
    assert reasonable(shaped) == before == reasonable(rollouts, "--version", 0) == reasonable(shaped, "--version", 0)
    assert reasonable(rollouts) > before


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("nowhere.jsonl#1", "no file nowhere.jsonl"),
        ("shaped.jsonl", "which?"),
        ("shaped.jsonl#99", "no single rollout '99'"),
    ],
)
def test_a_rollout_that_cannot_be_meant(typed: str, said: str, shaped: Path, layer: str, proas: Proas) -> None:
    task = load_rollouts(shaped).rollouts[0].task
    done = proas("graph", "show", task, "--graph", layer, "--rollout", typed)
    assert done.code in {1, 2}
    assert said in done.err
    assert "Traceback" not in done.err


def test_what_was_learnt_fits_and_begins_with_what_changed_most(shaped: Path, layer: str, proas: Proas) -> None:
    words = ("graph", "diff", "--from", 0, "--to", 1, "--graph", layer)
    gained: dict[str, int] = {}
    for part in proas(*words, "--json").document["tasks"]:
        gained[part["task"]] = gained.get(part["task"], 0) + part["added_states"] + part["added_transitions"]
    done = proas(*words)
    assert done.code == 0
    order = [line for line in done.out.splitlines() if line in gained]
    assert len(order) == len(gained)
    assert [gained[task] for task in order] == sorted(gained.values(), reverse=True)


def test_watching_once_tells_growth_and_the_run_s_metrics(shaped: Path, layer: str, proas: Proas, work: Path) -> None:
    run = work / "runs" / "night"
    run.mkdir(parents=True)
    (run / "config.json").write_text(json.dumps({"graph": layer}), encoding="utf-8")
    row = {"iteration": 1.0, "proas/graph/coverage": 0.75, "proas/mask_rate": 0.5, "rollout/success": 0.25}
    (run / "metrics.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
    found = proas("watch", "--graph", layer, "--json").document
    stats = proas("graph", "stats", "--graph", layer, "--json").document
    assert found["run"] == "runs/night"
    assert (found["states"], found["transitions"]) == (stats["states"], stats["transitions"])
    last = found["versions"][-1]
    assert (last["version"], last["coverage"], last["mask_rate"], last["success"]) == (1, 0.75, 0.5, 0.25)
    assert last["added_transitions"] == stats["own_transitions"] > 0
    done = proas("watch", "--graph", layer, "--once")
    fits(done)
    assert re.search(rf"1 +{last['added_states']} +{last['added_transitions']} +75% +50% +25%", done.out)


@pytest.mark.skipif(os.name == "nt", reason="signals are sent the POSIX way")
def test_watching_in_a_pipe_tells_each_version_once_and_ends_cleanly(
    layer: str, rollouts: Path, proas: Proas, work: Path
) -> None:
    program = subprocess.Popen(
        [sys.executable, "-m", "proas.cli", "watch", "--graph", layer, "--interval", "0.3"],
        cwd=work,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),  # noqa: PLW1509  (no threads here)
    )
    try:
        assert program.stdout is not None
        assert program.stdout.readline().startswith("version 0: ")
        assert proas("evolve", rollouts, "--graph", layer, "--run", "night").code == 0
        assert program.stdout.readline().startswith("version 1: +")
        time.sleep(0.5)
        program.send_signal(signal.SIGINT)
        out, err = program.communicate(timeout=60)
    finally:
        program.kill()
        program.wait()
    assert (program.returncode, out, err) == (0, "", "")


def test_a_report_of_what_is_no_run_says_so(proas: Proas, work: Path) -> None:
    done = proas("report", work, "--html", "out.html")
    assert done.code == 2
    assert "holds no run" in done.err
    assert not (work / "out.html").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "what is to be drawn?"),
        (("--query", "nope"), "there is no query 'nope'"),
        (("--query", "task", "--rollout", "x"), "name the TASK"),
        (("--query", "subgoal", "--subgoal", 99), "finds nothing to draw"),
    ],
)
def test_a_page_that_cannot_be_drawn_says_why(words: tuple[object, ...], said: str, graph: str, proas: Proas) -> None:
    done = proas("graph", "viz", *words, "--graph", graph, "--html", "out.html")
    assert done.code == 2
    assert said in done.err
