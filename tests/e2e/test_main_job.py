"""The main job through the program: build, look, roll out, label, shape, evolve, compare, merge, move."""

from __future__ import annotations

import json
from collections import Counter
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from proas.localdb import ServerInfo
from tests.e2e.conftest import Proas, login, spawn

pytestmark = pytest.mark.neo4j


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_building_again_changes_nothing(proas: Proas, graph: str, games: Path) -> None:
    before = proas("graph", "stats", "-g", graph, "--json").document
    again = proas("graph", "build", "--data", games, "--graph", graph, "--expand", "optimal", "--json").document
    assert again["considered"] == again["skipped"] == 12
    assert again["added_tasks"] == again["added_states"] == again["added_transitions"] == 0
    assert proas("graph", "stats", "-g", graph, "--json").document == before


def test_stats_say_what_there_is_and_where_it_comes_from(proas: Proas, graph: str) -> None:
    stats = proas("graph", "stats", "--graph", graph, "--json").document
    assert stats["tasks"] == 12
    assert stats["version"] == 0
    assert stats["subgoals"] > 12
    assert stats["states"] == sum(source["states"] for source in stats["by_source"].values())
    assert stats["transitions"] == sum(source["transitions"] for source in stats["by_source"].values())
    assert {"plan", "expand"} <= stats["by_source"].keys()
    made = datetime.fromisoformat(stats["versions"][0]["at"])
    assert made.tzinfo is not None


def test_a_sound_graph_verifies(proas: Proas, graph: str) -> None:
    done = proas("graph", "verify", "-g", graph, "--json")
    assert done.code == 0
    assert done.document["ok"] is True
    assert done.document["tasks"] == 12
    assert done.document["violations"] == []
    assert "sound" in proas("graph", "verify", "-g", graph).out


def test_show_draws_the_ladder_of_a_task(proas: Proas, graph: str, games: Path) -> None:
    key = "/".join(min(games.glob("*/*")).relative_to(games).parts)
    shown = proas("graph", "show", key, "-g", graph, "--json").document
    assert shown["task"] == key
    assert [rung["index"] for rung in shown["subgoals"]] == list(range(len(shown["subgoals"])))
    assert sum(rung["states"] for rung in shown["subgoals"]) == len(shown["states"])
    assert sum(rung["transitions"] for rung in shown["subgoals"]) == len(shown["transitions"])
    drawn = proas("graph", "show", key, "-g", graph).out
    for rung in shown["subgoals"]:
        assert f"{rung['index']} {rung['description']}" in drawn
    spoken = next(rung["phrases"][0] for rung in shown["subgoals"] if rung["phrases"])
    assert " ".join(spoken.split())[:20] in " ".join(drawn.split())
    assert max(len(line) for line in drawn.splitlines()) <= 80


def test_show_takes_a_unique_beginning_and_suggests(proas: Proas, graph: str, games: Path) -> None:
    key = "/".join(min(games.glob("*/*")).relative_to(games).parts)
    assert proas("graph", "show", key[:-1], "-g", graph, "--json").document["task"] == key
    several = proas("graph", "show", "pick", "-g", graph, "--json")
    assert several.code == 2
    assert "tasks begin with 'pick'" in several.error["message"]
    near = proas("graph", "show", key.replace("_", "-", 1), "-g", graph, "--json")
    assert near.code == 1
    assert near.error["kind"] == "GraphNotFound"
    assert key in near.error["hint"]


def test_labels_shaping_and_evolution(proas: Proas, layer: str, rollouts: Path, work: Path) -> None:
    labelled = proas("label", rollouts, "--graph", layer, "--out", "labelled.jsonl", "--json").document
    assert labelled["rollouts"] == labelled["covered"] == 48
    assert labelled["version"] == 0
    assert 0 < labelled["progress"] <= labelled["reasonable"] < labelled["steps"]
    for record in lines(work / "labelled.jsonl"):
        drift = 0
        for step in reversed(record["steps"]):
            drift += not step["label"]["progress"]
            assert step["label"]["drift"] == drift
            assert step["label"]["reasonable"] or not step["label"]["progress"]

    shaped = proas("shape", "labelled.jsonl", "--algo", "grpo", "--out", "shaped.jsonl", "--json").document
    assert shaped["config"]["preset"] == "paper"
    assert shaped["rollouts"] == 48
    for record in lines(work / "shaped.jsonl"):
        if record["advantage"] > 0:
            for step in record["steps"]:
                assert step["advantage"] == (step["base_advantage"] if step["label"]["reasonable"] else 0.0)

    first = proas("evolve", rollouts, "--graph", layer, "--run", "e2e", "--json").document
    assert (first["version_before"], first["version"]) == (0, 1)
    assert first["added_transitions"] > 0
    again = proas("evolve", rollouts, "--graph", layer, "--run", "e2e", "--json").document
    assert again["version"] == 1
    assert again["known"] == first["successes"]
    assert again["added_transitions"] == again["added_states"] == 0

    older = proas("label", rollouts, "--graph", layer, "--version", 0, "--out", "older.jsonl", "--json").document
    newer = proas("label", rollouts, "--graph", layer, "--out", "newer.jsonl", "--json").document
    assert older["reasonable"] == labelled["reasonable"]
    assert newer["version"] == 1
    assert newer["reasonable"] > older["reasonable"]

    diff = proas("graph", "diff", "-g", layer, "--from", 0, "--to", 1, "--json").document
    assert diff["added_states"] == first["added_states"]
    assert diff["added_transitions"] == first["added_transitions"]
    assert [version["run"] for version in diff["versions"]] == ["e2e"]


@pytest.mark.parametrize("algo", ["grpo", "dapo", "gigpo"])
@pytest.mark.parametrize("preset", ["paper", "membership"])
def test_every_algorithm_runs_with_each_preset(
    proas: Proas, graph: str, rollouts: Path, work: Path, algo: str, preset: str
) -> None:
    assert proas("label", rollouts, "--graph", graph, "--out", "labelled.jsonl").code == 0
    done = proas("shape", "labelled.jsonl", "--algo", algo, "--preset", preset, "--out", "s.jsonl", "--json").document
    assert done["rollouts"] + done["filtered"] == 48
    kept = {record["id"] for record in lines(work / "s.jsonl")}
    aside = {record["id"] for record in lines(Path(done["filtered_out"]))} if done["filtered_out"] else set()
    assert kept.isdisjoint(aside)
    assert len(kept | aside) == 48


def test_a_setting_can_be_changed(proas: Proas, graph: str, rollouts: Path) -> None:
    assert proas("label", rollouts, "--graph", graph, "--out", "labelled.jsonl").code == 0
    done = proas("shape", "labelled.jsonl", "--set", "apr=none", "--set", "mui=false", "--out", "s.jsonl", "--json")
    assert done.document["config"]["apr"] == "none"
    assert done.document["metrics"]["proas/mask_rate"] == 0.0


def test_layers_grow_apart_and_promotion_joins_them(proas: Proas, games: Path, work: Path, graph_name: str) -> None:
    graph = graph_name
    assert proas("graph", "build", "--data", games, "-g", graph, "--expand", "optimal").code == 0
    base = proas("graph", "stats", "-g", graph, "--json").document
    for run, seed in (("a", 1), ("b", 2)):
        played = proas("rollout", "--data", games, "--group-size", 2, "--seed", seed, "--out", f"{run}.jsonl")
        assert played.code == 0
        grown = proas("evolve", f"{run}.jsonl", "--graph", f"{graph}-{run}", "--base", graph, "--json")
        assert grown.code == 0
        assert grown.document["version"] == 1
    assert proas("graph", "stats", "-g", graph, "--json").document == base
    for run in ("a", "b"):
        merged = proas("graph", "promote", f"{graph}-{run}", "--run", run, "--json").document
        assert merged["base"] == graph
    assert proas("graph", "promote", f"{graph}-b", "--json").document["added_transitions"] == 0
    together = proas("graph", "stats", "-g", graph, "--json").document
    expected = f"{graph}-expected"
    assert proas("graph", "build", "--data", games, "-g", expected, "--expand", "optimal").code == 0
    for run in ("a", "b"):
        assert proas("evolve", f"{run}.jsonl", "--graph", expected).code == 0
    union = proas("graph", "stats", "-g", expected, "--json").document
    assert proas("graph", "drop", expected, "--yes").code == 0
    for counted in ("tasks", "subgoals", "states", "transitions", "successes"):
        assert together[counted] == union[counted], counted
    assert proas("graph", "verify", "-g", graph).code == 0
    assert proas("graph", "drop", graph, "--force", "--yes").code == 0


@pytest.mark.parametrize("name", ["graph.jsonl", "graph.jsonl.gz", "graph.parquet"])
def test_a_graph_comes_back_from_its_file(proas: Proas, layer: str, rollouts: Path, name: str) -> None:
    assert proas("evolve", rollouts, "-g", layer).code == 0
    assert proas("graph", "export", "-g", layer, "--out", name).code == 0
    copy = f"{layer}-copy"
    try:
        assert proas("graph", "import", name, "--graph", copy).code == 0
        one, two = (proas("graph", "stats", "-g", which, "--json").document for which in (layer, copy))
        assert {**one, "graph": copy} == two
        assert proas("graph", "verify", "-g", copy).code == 0
        taken = proas("graph", "import", name, "--graph", copy, "--json")
        assert taken.code == 1
        assert taken.error["kind"] == "GraphConflict"
    finally:
        proas("graph", "drop", copy, "--yes")


def test_graphml_is_written_for_other_tools(proas: Proas, graph: str, work: Path) -> None:
    import networkx as nx

    assert proas("graph", "export", "-g", graph, "--out", "graph.graphml").code == 0
    drawn = nx.read_graphml(work / "graph.graphml")
    stats = proas("graph", "stats", "-g", graph, "--json").document
    kinds = Counter(data["kind"] for _, data in drawn.nodes(data=True))
    assert (kinds["Task"], kinds["Subgoal"], kinds["State"]) == (12, stats["subgoals"], stats["states"])


def test_create_list_and_drop(proas: Proas, graph: str, graph_name: str) -> None:
    made = proas("graph", "create", graph_name, "--base", graph, "--json").document
    assert (made["base"], made["version"]) == (graph, 0)
    listed = {info["name"]: info for info in proas("graph", "list", "--json").document["graphs"]}
    assert listed[graph_name]["base"] == graph
    assert graph_name in listed[graph]["layers"]
    kept = proas("graph", "drop", graph, "--yes", "--json")
    assert kept.code == 1
    assert kept.error["kind"] == "GraphConflict"
    assert proas("graph", "drop", graph_name, "--yes", "--json").document["graphs"] == [graph_name]


def test_dropping_asks_and_nobody_answers(graph: str, neo4j_server: ServerInfo, work: Path) -> None:
    done = spawn("graph", "drop", graph, cwd=work, env=login(neo4j_server))
    assert done.code == 2
    assert "--yes" in done.err


def test_the_demo_shows_every_step(proas: Proas, work: Path, graph_name: str) -> None:
    done = proas("demo", "--games", 6, "--group-size", 4)
    assert done.code == 0, done.err
    for shown in ("A real Neo4j", "Reference graphs", "Rollouts", "mask_rate", "Growth", "Neo4j Browser", "MATCH"):
        assert shown in done.out
    assert {path.name for path in (work / "demo-out").iterdir()} == {
        "games",
        "rollouts.jsonl",
        "labelled.jsonl",
        "shaped-paper.jsonl",
        "shaped-membership.jsonl",
    }
    again = proas("demo", "--games", 6, "--group-size", 4, "--json")
    assert again.code == 0
    assert again.document["evolved"]["version"] == 1
    assert again.document["built"]["skipped"] == 6
    assert again.document["metrics"].keys() == {"paper", "membership"}
    assert proas("graph", "drop", "demo", "--force", "--yes").code == 0


def test_real_games_build_verify_and_replay(proas: Proas, work: Path, data_dir: Path, graph_name: str) -> None:
    """The first 60 of the real trials, straight from the archive."""
    archive = data_dir / "alfworld" / "train-1540.tar.xz"
    if not archive.is_file():
        pytest.skip(f"no {archive}")
    built = proas("graph", "build", "--data", archive, "-g", graph_name, "--limit", 60, "--json").document
    try:
        assert built["considered"] == 60
        assert built["tasks"] + sum(built["rejected"].values()) == 60
        assert built["tasks"] >= 50
        assert proas("graph", "verify", "-g", graph_name).code == 0
        played = ("rollout", "--data", archive, "--policy", "expert", "--group-size", 1, "--limit", 60)
        made = proas(*played, "--out", "expert.jsonl", "--json").document
        assert made["successes"] == made["rollouts"] == built["tasks"]
        labelled = proas("label", "expert.jsonl", "-g", graph_name, "--out", "labelled.jsonl", "--json").document
        assert labelled["covered"] == made["rollouts"]
    finally:
        proas("graph", "drop", graph_name, "--yes")
