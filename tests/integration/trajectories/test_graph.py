"""Graphs of logged episodes in a real database: whole, verified, added to, and followed by rollouts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from proas.envs import EnvSpec
from proas.envs.alfworld import sample_root
from proas.graph.store import ReferenceGraph
from proas.graph_builders import BuildOptions, BuildReport, build_graph
from proas.graph_builders.trajectories import Settings, TrajectoriesBuilder
from proas.rollout_files import load_rollouts
from proas.states import attach_all
from tests.support.episode_logs import WRITERS, lines, messages, played

WORLDS = {"alfworld": EnvSpec("alfworld", sample_root())}


def build(
    graph: ReferenceGraph, *paths: Path, rollouts: Path | None = None, settings: Settings | None = None
) -> BuildReport:
    builder = TrajectoriesBuilder(settings or Settings(worlds=WORLDS), paths, rollouts=rollouts)
    return build_graph("trajectories", builder, graph, options=BuildOptions())


def test_a_folder_of_every_format_makes_a_sound_graph_that_labels_its_episodes(
    graph: ReferenceGraph, tmp_path: Path
) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    for env in ("alfworld", "webshop"):
        for name, write in WRITERS.items():
            lines(logs / f"{env}-{name}.jsonl", map(write, played(env)))
    (logs / "array.json").write_text(json.dumps([messages(r) for r in played("alfworld", "noisy", group=3)]))
    (logs / "broken.json").write_text('[{"messages": 3}, {"mess')
    (logs / "empty.json").write_text("")
    report = build(graph, logs, rollouts=tmp_path / "out.jsonl")
    assert report.built == {"replayed": 8}
    assert set(report.transitions) == {"replayed"}
    assert report.rejected == {"bad_message": 1, "bad_json": 2}
    assert graph.verify().ok
    batch = load_rollouts(tmp_path / "out.jsonl")
    labelled = graph.label(attach_all(batch))
    won = [rollout for rollout in labelled if rollout.success and rollout.covered]
    assert len(won) > 8 * len(WRITERS)
    for rollout in won:
        assert any(step.label is not None and step.label.progress for step in rollout.steps)
    expert = [r for r in labelled if r.success and r.id.startswith("alfworld-react.jsonl")]
    for rollout in expert:
        moved = [step for step in rollout.steps if step.canonical != "think"]
        assert all(step.label is not None and step.label.reasonable and step.label.progress for step in moved)


def test_a_rerun_changes_nothing_and_more_files_add(graph: ReferenceGraph, tmp_path: Path) -> None:
    rollouts = played("alfworld", "noisy", tasks=4, group=6, seed=3)
    first = lines(tmp_path / "a.jsonl", map(messages, rollouts[:12]))
    second = lines(tmp_path / "b.jsonl", map(messages, rollouts[12:]))
    report = build(graph, first)
    before = graph.stats()
    assert report.added_transitions > 0
    again = build(graph, first)
    assert (again.skipped, again.added_states, again.added_transitions) == (again.tasks, 0, 0)
    assert graph.stats() == before
    more = build(graph, first, second)
    assert more.skipped == report.tasks
    assert more.added_tasks > 0
    assert graph.verify().ok


def test_what_text_alone_tells_is_marked(graph: ReferenceGraph, tmp_path: Path) -> None:
    path = lines(tmp_path / "a.jsonl", map(messages, played("alfworld", tasks=2)))
    report = build(graph, path, settings=Settings(replay="never"))
    assert report.built == {"unverified": 2}
    assert graph.verify().ok
    sources = {edge.source for made in graph.iter_task_graphs() for edge in made.transitions}
    assert sources == {"unverified"}


def test_recorded_webshop_episodes(graph: ReferenceGraph, data_dir: Path, tmp_path: Path) -> None:
    path = data_dir / "webshop" / "react_episodes.jsonl"
    if not path.is_file():
        pytest.skip(f"no recorded episodes at {path}")
    builder = TrajectoriesBuilder(Settings(), [path], rollouts=tmp_path / "out.jsonl")
    report = build_graph("trajectories", builder, graph)
    told = builder.totals
    assert told.formats == {"react": 250}
    assert told.outcomes == {"success": 90, "failure": 140, "unscored": 20}
    assert (report.built, report.rejected) == ({"unverified": 90}, {"unscored": 20})
    assert all("--unscored success" in rejected.reason for rejected in report.rejects)
    assert told.steps == 1718
    assert told.steps_unread <= 4
    assert graph.verify().ok
    labelled = graph.label(attach_all(load_rollouts(tmp_path / "out.jsonl")))
    won = [rollout for rollout in labelled if rollout.success]
    assert len(won) == 90
    assert all(any(step.label is not None and step.label.progress for step in rollout.steps) for rollout in won)


@pytest.mark.slow
def test_recorded_alfworld_episodes_in_the_released_games(
    graph: ReferenceGraph, data_dir: Path, tmp_path: Path
) -> None:
    path, games = data_dir / "alfworld" / "react_episodes.json", data_dir / "alfworld" / "train-1540.tar.xz"
    if not path.is_file() or not games.is_file():
        pytest.skip(f"no recorded episodes and games at {data_dir / 'alfworld'}")
    builder = TrajectoriesBuilder(Settings(worlds={"alfworld": EnvSpec("alfworld", games)}), [path])
    report = build_graph("trajectories", builder, graph)
    told = builder.totals
    assert told.formats == {"react": 24}
    assert told.outcomes == {"unscored": 24}  # the prompts' own examples carry no score: the games decide
    assert told.entered == {"replayed": 3, "duplicate": 3}
    assert told.replays_failed == {"observation": 10}
    assert report.built == {"replayed": 3}
    assert graph.verify().ok
    text = TrajectoriesBuilder(Settings(replay="never", unscored="success"), [path])
    assert sum(1 for _ in text.build(None, BuildOptions())) == 12
    assert (text.totals.steps, text.totals.steps_unread) == (320, 3)  # three answers are missing in the record
