"""The report's machinery from end to end, in small: ended in the middle, gone on with, counted. Mechanics only."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

import psutil
import pytest

from proas.envs import env_kind
from proas.graph import Connection, list_graphs
from proas.localdb import ServerInfo
from tests.e2e.conftest import Proas

pytestmark = [
    pytest.mark.neo4j,
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed (extra train)"),
    pytest.mark.skipif(find_spec("matplotlib") is None, reason="matplotlib is not installed (extra viz)"),
]

RUN = ("evidence", "run", "--smoke", "--out", "evidence", "--jobs", "2")


def under_way(out: Path) -> bool:
    """Whether a run has done an iteration and has not come to its end."""
    for folder in out.glob("runs/smoke/*"):
        metrics = folder / "metrics.jsonl"
        if metrics.is_file() and '"iteration": 1.0' in metrics.read_text() and not (folder / "final.json").exists():
            return True
    return False


def until(holds: Callable[[], bool], otherwise: str) -> None:
    deadline = time.monotonic() + 300
    while not holds():
        assert time.monotonic() < deadline, otherwise
        time.sleep(0.02)


def held_in_the_middle(first: subprocess.Popen[bytes], out: Path, log: Path) -> list[psutil.Process]:
    """Its runs, stopped while one is under way: an iteration takes so little that it could be over before a signal."""
    held: list[psutil.Process] = []

    def caught() -> bool:
        assert first.poll() is None, log.read_text()
        if not under_way(out):
            return False
        held[:] = [child for child in psutil.Process(first.pid).children() if trains(child)]
        signalled(held, psutil.Process.suspend)
        if under_way(out):
            return True
        signalled(held, psutil.Process.resume)
        return False

    until(caught, "no run has been caught under way")
    return held


def trains(process: psutil.Process) -> bool:
    try:
        return "train" in process.cmdline()
    except psutil.NoSuchProcess:
        return False


def signalled(runs: list[psutil.Process], how: Callable[[psutil.Process], None]) -> None:
    """Stop runs, or let them go on; one of them may have ended meanwhile."""
    for run in runs:
        with suppress(psutil.NoSuchProcess):
            how(run)


def interrupted(run: psutil.Process) -> bool:
    """Whether SIGTERM waits for a stopped process, or the process is gone."""
    try:
        told = dict(line.split(":", 1) for line in Path(f"/proc/{run.pid}/status").read_text().splitlines())
    except (FileNotFoundError, ProcessLookupError):
        return True
    if told["State"].strip().startswith("Z"):
        return True
    return bool(int(told["ShdPnd"], 16) >> (signal.SIGTERM - 1) & 1)


def _in_the_background() -> None:
    """As a shell starts what is to go on without it, and with it all that this one starts."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="there is no /proc to ask what signals a process has pending")
@pytest.mark.timeout(1800)  # under a minute on an idle machine; on one that is shared, whatever it takes
def test_ended_gone_on_with_and_counted(proas: Proas, work: Path, neo4j_server: ServerInfo) -> None:
    out = work / "evidence"
    with (work / "first.log").open("wb") as log:
        first = subprocess.Popen(
            [sys.executable, "-m", "proas.cli", *RUN],
            cwd=work,
            stderr=log,
            preexec_fn=_in_the_background,  # noqa: PLW1509  (no threads here)
        )
    with first:  # waits for its end also where something fails
        runs = held_in_the_middle(first, out, work / "first.log")
        os.kill(first.pid, signal.SIGTERM)
        try:
            until(lambda: all(interrupted(run) for run in runs), "the runs have not been asked to end")
        finally:
            signalled(runs, psutil.Process.resume)
        assert first.wait(timeout=60) == 130
    assert not any(path.name == "final.json" for path in out.glob("runs/smoke/*-s1-*/*"))

    rest = proas(*RUN, "--json")
    assert rest.code == 0, rest.err
    assert "goes on after iteration" in rest.err
    assert rest.document["left"] == rest.document["failed"] == []
    assert {f"smoke/{arm}-s{seed}" for arm in ("grpo", "grpo-proas") for seed in (0, 1)} == {
        *rest.document["done"],
        *rest.document["reused"],
    }

    records = {file.stem: json.loads(file.read_text()) for file in sorted((out / "results" / "smoke").glob("*.json"))}
    assert set(records) == {"grpo-s0", "grpo-s1", "grpo-proas-s0", "grpo-proas-s1"}
    for name, record in records.items():
        assert record["evaluated"] == [0, 1, 2, 3, 4], name
        assert record["at"] == [1, 2, 3, 4]
        assert record["seconds"]["total"] > 0
        assert len(record["outcomes"]["0.4"]) == record["tasks"] == 4
        assert record["command"].startswith("proas train --preset full")
        assert "--set policy.width=32 " in record["command"], "no named preset decides what the command means"
        arm, seed = name.rsplit("-s", 1)
        assert record["rerun"] == f"proas ablate --table smoke --only {arm} --seeds {seed}"
        assert str(work) not in json.dumps(record), "a record holds no path of this machine"
    assert "proas/mask_rate" in records["grpo-proas-s0"]["series"] or (
        max(records["grpo-proas-s0"]["series"]["rollout/success"]) == 0
    )

    page = (out / "evidence.md").read_text()
    for heading in ("success", "paired differences", "iterations to a target"):
        assert f"### Smoke test: {heading}" in page
    beside = (out / "evidence" / "smoke.md").read_text()
    for heading in ("Where the time goes", "What happens over training", "Arms"):
        assert f"## {heading}" in beside
    assert "| grpo-proas |" in page
    assert (out / "images" / "smoke-success.svg").read_text().startswith("<?xml")

    again = proas(*RUN, "--json")
    assert (again.code, again.document["done"]) == (0, [])
    assert len(again.document["reused"]) == 4

    connection = Connection.resolve(environ=os.environ)
    names = [info.name for info in list_graphs(connection)]
    own = [json.loads(file.read_text())["graph"] for file in out.glob("runs/smoke/grpo-proas-*/config.json")]
    assert len(own) == 2
    assert not set(own) & set(names), "a run's own graph goes with it"
    made = json.loads(next((out / "graphs").glob("*.json")).read_text())["graph"]
    assert made in names
    assert proas("graph", "drop", made, "--force", "--yes").code == 0


def test_a_table_of_one_s_own(proas: Proas, work: Path) -> None:
    (work / "own.toml").write_text(
        'title = "Own"\nquestion = "?"\npreset = "smoke"\nseeds = [0]\n[settings]\niterations = 1\n'
        '"warm_start.demonstrations" = 4\n[data]\nsource = "samples"\n[warm.base]\n[arms.grpo]\n'
    )
    asked = proas("ablate", "--table", "own.toml", "--iterations", 2, "--json")
    assert asked.code == 0, asked.err
    assert asked.document["done"] == ["own/grpo-s0"]
    assert {table["name"] for table in asked.document["tables"]} >= {"success", "speed at T=0.4", "time", "arms"}
    record = json.loads((work / "ablation" / "results" / "own" / "grpo-s0.json").read_text())
    assert record["iterations"] == 2
    assert proas("ablate", "--table", "own.toml", "--iterations", 2, "--json").document["reused"] == ["own/grpo-s0"]


def test_the_command_in_a_record_runs_the_same_again(proas: Proas, work: Path) -> None:
    (work / "own.toml").write_text(
        'title = "Own"\nquestion = "?"\npreset = "smoke"\nseeds = [0]\n[settings]\n"warm_start.demonstrations" = 4\n'
        '[data]\nsource = "samples"\n[warm.base]\n[arms.grpo]\n[arms.loop-mask]\nshaping = "loop-mask"\n'
    )
    samples = env_kind("alfworld").samples
    assert samples is not None
    shutil.copytree(samples(), work / "games")
    changed = ("--set", "tasks=3", "--iterations", 1, "--data", "games")
    asked = proas("ablate", "--table", "own.toml", "--only", "grpo", *changed, "--json")
    assert asked.code == 0, asked.err
    first = json.loads((work / "ablation" / "results" / "own" / "grpo-s0.json").read_text())
    words = shlex.split(first["rerun"])
    assert words[:4] == ["proas", "ablate", "--table", "own.toml"]
    assert f"`{first['rerun']}`" == asked.document["tables"][-1]["rows"][0][2]
    again = proas(*words[1:], "--out", "again", "--json")
    assert again.code == 0, again.err
    second = json.loads((work / "again" / "results" / "own" / "grpo-s0.json").read_text())
    alike = ("digest", "games", "rerun", "settings", "series", "evaluations", "episodes")
    assert {name: second[name] for name in alike} == {name: first[name] for name in alike}
    assert (first["episodes"], first["iterations"]) == (12, 1)


DIAGNOSED = """
title = "Own"
question = "?"
preset = "smoke"
seeds = [0]
baseline = "grpo-proas"
[settings]
iterations = 2
[data]
source = "generated"
games = 12
seed = 31
kinds = ["pick"]
[warm.base]
settings = { "warm_start.demonstrations" = 24 }
[graphs.plans]
[arms.grpo-proas]
shaping = "membership"
graph = "plans"
[[diagnoses]]
arms = ["grpo-proas"]
kind = "noise"
options = { states = 2, continuations = 2, steps = "0,1" }
figure = true
[[diagnoses]]
arms = ["grpo-proas"]
kind = "labels"
options = { tasks = 2, group_size = 2, rounds = 1, support = "1" }
[[diagnoses]]
arms = ["grpo-proas"]
every_seed = true
kind = "temperatures"
options = { tasks = 2, temperatures = "0,1" }
"""


def test_diagnoses_are_made_of_the_runs_that_a_plan_names(proas: Proas, work: Path, neo4j_server: ServerInfo) -> None:
    (work / "own.toml").write_text(DIAGNOSED)
    run = ("evidence", "run", "own.toml", "--out", "runs", "--results", "kept/results", "--page", "page.md", "--json")
    asked = proas(*run)
    assert asked.code == 0, asked.err
    key = "own/grpo-proas-s0"
    assert asked.document["done"] == [key, *(f"{key}/{kind}" for kind in ("noise", "labels", "temperatures"))]
    kept = work / "kept" / "diagnoses" / "grpo-proas-s0"
    noise, labels = (json.loads((kept / f"{kind}.json").read_text()) for kind in ("noise", "labels"))
    assert (noise["settings"]["states"], noise["settings"]["continuations"], noise["settings"]["steps"]) == (
        2,
        2,
        [0, 1],
    )
    assert (labels["settings"]["tasks"], labels["settings"]["supports"]) == (2, [1])
    assert noise["run"].startswith("runs/own/grpo-proas-s0-")
    assert str(work) not in json.dumps([noise, labels]), "what is kept holds no path of this machine"
    assert (work / "images" / "evidence" / "noise.svg").is_file()
    assert not (work / "images" / "evidence" / "labels.svg").exists()
    swept = json.loads((kept / "temperatures.json").read_text())
    shares = [f"{100 * row['success']['value']:.1f}" for row in swept["rows"]]
    rows = [line.split(" | ") for line in (work / "page.md").read_text().splitlines() if line.startswith("| ")]
    assert ["| arm", "seeds", "T=0", "T=1"] in [row[:4] for row in rows]
    assert ["| grpo-proas", "1", *shares] in [row[:4] for row in rows]
    connection = Connection.resolve(environ=os.environ)
    own = json.loads(next(work.glob("runs/runs/own/*/config.json")).read_text())["graph"]
    graphs = {info.name for info in list_graphs(connection)}
    assert own not in graphs, "the run's graph goes when all that asks it is made"

    short = json.dumps({"run": noise["run"]})  # of this run, whoever made it
    (kept / "noise.json").write_text(short)
    (kept / "labels.json").write_text(json.dumps({"run": "runs/own/grpo-proas-s0-of-other-settings"}))
    assert proas(*run, "--missing").document["done"] == [f"{key}/labels"]
    assert (kept / "noise.json").read_text() == short
    assert json.loads((kept / "labels.json").read_text()) == labels
    (kept / "labels.json").unlink()
    assert proas(*run).document["done"] == [
        f"{key}/{kind}" for kind in ("noise", "labels", "temperatures")
    ]  # from what lies beside the run
    assert json.loads((kept / "noise.json").read_text()) == noise
    shutil.rmtree(next(work.glob("runs/runs/own/*/diagnoses/labels-*")))
    lost = proas(*run)
    assert lost.code == 1
    assert "the graph of its run is gone" in lost.document["failed"][0]["reason"]
    base = json.loads(next(work.glob("runs/graphs/*.json")).read_text())["graph"]
    assert proas("graph", "drop", base, "--yes").code == 0


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--table", "nosuch"), "no plan 'nosuch'"),
        (("--table", "main", "--only", "nosuch"), "no arm 'nosuch'"),
        (("--table", "main", "--set", "nosuch=1"), "no setting 'nosuch'"),
        (("--table", "main", "--seeds", "x"), "names no seeds"),
        (("--table", "main", "--preset", "nosuch"), "'nosuch'"),
        (("--table", "main", "--data", "nosuch"), "there is no nosuch"),
        (("--table", "main", "--until", "soon"), "no time of day"),
    ],
)
def test_a_slip_is_one_message(words: tuple[str, ...], told: str, proas: Proas, work: Path) -> None:
    outcome = proas("ablate", *words, "--json")
    assert outcome.code != 0
    assert told in outcome.error["message"]
    assert "Traceback" not in outcome.err
    assert not (work / "ablation" / "runs").exists()


def test_all_tables_are_listed(proas: Proas, work: Path) -> None:
    listed = proas("ablate", "--json").document["tables"]
    assert [entry["table"] for entry in listed][:3] == ["main", "controls", "shaping"]
    assert "main" in proas("ablate").out
