"""What becomes of an episode: its task, its outcome, its replay, and the graph that episodes make together."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from proas.envs import EnvSpec
from proas.envs.alfworld import AlfWorldEnv, sample_root
from proas.errors import DataError, UsageError
from proas.graph_builders import BuildOptions, Built, Rejected
from proas.graph_builders.trajectories import Settings, TrajectoriesBuilder, find_files
from proas.rollout_files import load_rollouts
from proas.states import attach_states
from tests.support.episode_logs import FORMAT_OF, WRITERS, agentgym, atif, lines, messages, played, react, shuffled

WORLDS = {"alfworld": EnvSpec("alfworld", sample_root())}


def built(path: Path, **how: Any) -> tuple[TrajectoriesBuilder, dict[str, Built], list[Rejected]]:
    builder = TrajectoriesBuilder(Settings(**{"worlds": WORLDS, **how}), [path])
    answers = list(builder.build(None, BuildOptions()))
    assert len(answers) == builder.count(None, BuildOptions())
    graphs = {answer.task: answer for answer in answers if isinstance(answer, Built)}
    return builder, graphs, [answer for answer in answers if isinstance(answer, Rejected)]


def text_only(path: Path, **how: Any) -> tuple[TrajectoriesBuilder, dict[str, Built], list[Rejected]]:
    return built(path, worlds={}, replay="never", **how)


@pytest.mark.parametrize("env", ["alfworld", "webshop"])
@pytest.mark.parametrize("writer", WRITERS)
def test_every_format_comes_to_the_environment_s_own_tasks_and_states(tmp_path: Path, env: str, writer: str) -> None:
    rollouts = played(env)
    path = lines(tmp_path / "log.jsonl", map(WRITERS[writer], rollouts))
    builder, graphs, rejected = built(path)
    assert not rejected
    assert set(graphs) == {rollout.task for rollout in rollouts}
    assert builder.totals.entered == {"replayed": len(rollouts)}
    for rollout in map(attach_states, rollouts):
        graph = graphs[rollout.task].graph
        assert {state.key for state in graph.states.values()} <= set(rollout.state_keys)
        assert {edge.key for edge in graph.transitions} <= set(rollout.transition_keys)
        assert {edge.source for edge in graph.transitions} == {"replayed"}
        assert graphs[rollout.task].source == "replayed"


@pytest.mark.parametrize("env", ["alfworld", "webshop"])
def test_without_ids_every_format_comes_to_one_task(tmp_path: Path, env: str) -> None:
    # AgentGym's items have ids of their own, and rollouts of ours have their keys.
    writers = [write for name, write in WRITERS.items() if FORMAT_OF[name] not in ("agentgym", "proas")]
    rollouts = played(env, tasks=2)
    path = lines(tmp_path / "log.jsonl", shuffled([write(rollout) for rollout in rollouts for write in writers]))
    builder, graphs, rejected = text_only(path)
    assert not rejected
    assert len(graphs) == 2
    assert all(key.startswith(f"{env}~") for key in graphs)
    assert builder.totals.entered == {"unverified": 2, "duplicate": 2 * len(writers) - 2}
    assert {edge.source for made in graphs.values() for edge in made.graph.transitions} == {"unverified"}


def test_an_id_tells_tasks_apart_and_a_path_names_the_game(tmp_path: Path) -> None:
    (rollout,) = played("alfworld", tasks=1)
    record = messages(rollout)
    same, other, game = ({**record, "task_id": "t-1"}, {**record, "task_id": "t-2"}, dict(record))
    game["metadata"] = {"gamefile": f"/data/json_2.1.1/train/{rollout.task}/game.tw-pddl"}
    _, graphs, _ = text_only(lines(tmp_path / "log.jsonl", [same, same, other, game, record]))
    named = sorted(key.partition("~")[0] for key in graphs)
    assert named == sorted(["t-1", "t-2", "alfworld", rollout.task])


def test_support_counts_demonstrations_and_not_copies(tmp_path: Path) -> None:
    rollouts = played("alfworld", "noisy", tasks=3, group=8, seed=5)
    won = [rollout for rollout in rollouts if rollout.success]
    assert len(won) > 6
    path = lines(tmp_path / "a.jsonl", map(messages, shuffled([*rollouts, *won, *won])))
    builder, graphs, _ = built(path)
    expected: dict[str, set[tuple[str, ...]]] = {}
    edges: dict[tuple[str, str], int] = {}
    for rollout in map(attach_states, won):
        walk = tuple(step.canonical or "" for step in rollout.steps if step.valid)
        if walk not in expected.setdefault(rollout.task, set()):
            expected[rollout.task].add(walk)
            for key in set(rollout.transition_keys):
                edges[rollout.task, key] = edges.get((rollout.task, key), 0) + 1
    for task, made in graphs.items():
        assert made.tallies["demonstrations"] == len(expected[task])
        # Loop erasure takes steps away, so that no transition has more support than episodes that took it.
        assert all(1 <= edge.support <= edges[task, edge.key] for edge in made.graph.transitions)
    assert max(edge.support for made in graphs.values() for edge in made.graph.transitions) > 1
    assert builder.totals.outcomes == {
        "success": 3 * len(won),
        "failure": len(rollouts) - len(won),
    }


def test_the_order_of_episodes_makes_no_difference(tmp_path: Path) -> None:
    records = [messages(rollout) for rollout in played("alfworld", "noisy", tasks=3, group=6, seed=2)]
    whole = [
        {task: made.graph for task, made in built(lines(tmp_path / "log", shuffled(records, seed)))[1].items()}
        for seed in range(3)
    ]
    assert whole[0] == whole[1] == whole[2]


def test_the_least_support_leaves_whole_ways(tmp_path: Path) -> None:
    rollouts = [r for r in played("alfworld", "noisy", tasks=3, group=8, seed=5) if r.success]
    path = lines(tmp_path / "a.jsonl", map(messages, rollouts))
    _, all_, _ = built(path)
    _, supported, rejected = built(path, least_support=3)
    assert set(supported) | {one.task for one in rejected} == set(all_)
    assert {one.problem for one in rejected} <= {"low_support"}
    assert supported
    for task, made in supported.items():
        left_out = made.tallies["transitions_without_support"] + made.tallies["transitions_on_no_way"]
        whole = all_[task]
        missed = left_out - whole.tallies["transitions_on_no_way"]
        assert len(made.graph.transitions) == len(whole.graph.transitions) - missed
        assert all(edge.support >= 3 for edge in made.graph.transitions)
        reached, grew = {made.graph.start.key}, True
        while grew:
            more = {edge.target_state for edge in made.graph.transitions if edge.source_state in reached}
            grew = not more <= reached
            reached |= more
        assert reached == set(made.graph.states)
        assert made.graph.ladder.last in {made.graph.subgoal_of[key] for key in reached}
        assert set(made.graph.states) <= set(all_[task].graph.states)
    _, few, rejected = built(path, least_support=1000)
    assert not few
    assert {one.problem for one in rejected} == {"low_support"}


def test_both_purifications(tmp_path: Path) -> None:
    path = lines(tmp_path / "log", map(messages, played("alfworld", "noisy", tasks=3, group=6, seed=2)))
    erased, paper = (built(path, purification=rule)[1] for rule in ("loop_erased", "paper"))
    sizes = [sum(len(made.graph.transitions) for made in graphs.values()) for graphs in (erased, paper)]
    assert sizes[0] < sizes[1]
    for task, made in erased.items():
        assert {edge.key for edge in made.graph.transitions} <= {e.key for e in paper[task].graph.transitions}


SCORES: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    ({"score": 1.0}, {}, "success"),
    ({"score": 1}, {}, "success"),
    ({"score": "1.0"}, {}, "success"),
    ({"score": 0.99}, {}, "failure"),
    ({"score": 0.66}, {"threshold": 0.6}, "success"),
    ({"score": 0.5}, {"threshold": 0.6}, "failure"),
    ({"score": None}, {}, "unscored"),
    ({"score": "high"}, {}, "unscored"),
    ({"score": float("nan")}, {}, "unscored"),
    ({}, {}, "unscored"),
    ({}, {"unscored": "success"}, "success"),
    ({"score": 0.0}, {"unscored": "success"}, "failure"),
    ({"score": -0.1}, {}, "failure"),
    ({"score": 100}, {"score_max": 100.0}, "success"),
    ({"score": 85}, {"score_max": 100.0, "threshold": 0.8}, "success"),
    ({"score": 85}, {"score_max": 100.0}, "failure"),
    ({"score": 85}, {}, "unknown_scale"),
    ({"score": 1.0}, {"score_max": 100.0}, "unknown_scale"),
    ({"score": 0.9}, {"score_max": 100.0, "threshold": 0.8}, "unknown_scale"),
    ({"score": 0.5}, {"score_max": 100.0}, "failure"),
    ({"score": 0}, {"score_max": 100.0}, "failure"),
    ({"success": True, "score": 1.0}, {"score_max": 100.0}, "success"),
    ({"success": True}, {}, "success"),
    ({"success": False, "reward": 1.0}, {}, "failure"),
    ({"success": False, "reward": 0.7}, {"threshold": 0.7}, "success"),
    ({"won": 1}, {}, "success"),
    ({"metadata": {"info": {"won": True}}}, {}, "success"),
    ({"extra": {"reward": 0.0}}, {}, "failure"),
    ({"reward": True}, {}, "success"),
]


@pytest.mark.parametrize(("fields", "how", "outcome"), SCORES, ids=str)
def test_success_is_told_by_score_and_threshold(
    tmp_path: Path, fields: dict[str, Any], how: dict[str, Any], outcome: str
) -> None:
    record = messages(played("alfworld", tasks=1)[0])
    del record["score"]
    path = tmp_path / "log.jsonl"
    path.write_text(json.dumps({**record, **fields}))
    builder, graphs, rejected = text_only(path, **how)
    assert (next(iter(builder.totals.outcomes), None) or rejected[0].problem) == outcome
    assert bool(graphs) == (outcome == "success")


def test_the_shop_s_last_words_are_a_score(tmp_path: Path) -> None:
    (rollout,) = played("webshop", tasks=1)
    record = react(rollout)
    del record["score"]
    assert text_only(lines(tmp_path / "log", [record]))[0].totals.outcomes == {"success": 1}
    words = record["turns"][-1]["observation"]
    assert "Your score (min 0.0, max 1.0)" in words
    record["turns"][-1]["observation"] = words.replace("1.0\n", "0.5\n").replace(
        "max 1.0) [SEP] 1.0", "max 1.0) [SEP] 0.5"
    )
    builder, _, _ = text_only(lines(tmp_path / "log", [record]))
    assert builder.totals.outcomes == {"failure": 1}
    _, graphs, rejected = text_only(lines(tmp_path / "log", [{**record, "score": 1.0}]))
    assert [one.problem for one in rejected] == ["contradiction"]
    assert not graphs


def test_a_replay_that_differs_is_named_with_its_step(tmp_path: Path) -> None:
    (rollout,) = played("alfworld", tasks=1)
    other = rollout.model_copy(
        update={
            "steps": (rollout.steps[0], rollout.steps[1].model_copy(update={"observation": "You open the safe 9."}))
        }
    )
    short = rollout.model_copy(update={"steps": rollout.steps[:-1]})
    refused = messages(rollout)
    refused["messages"][3]["content"] = "Nothing happens."
    room = rollout.model_copy(update={"observation": rollout.observation.replace("a bed 1", "a bed 1, a bed 7")})
    key = {"task_id": rollout.task}
    records = [{**messages(r), **key} for r in (rollout, other, short, room)] + [{**refused, **key}]
    builder, graphs, rejected = built(lines(tmp_path / "log.jsonl", records))
    assert builder.totals.entered == {"replayed": 1}
    assert list(graphs) == [rollout.task]
    assert [(one.problem, one.source) for one in rejected] == [
        ("replay_differs", f"log.jsonl:{n}") for n in (2, 3, 4, 5)
    ]
    told = [one.reason for one in rejected]
    assert told[0].startswith("step 2 of 2: at ")
    assert told[1] == "end: the environment does not confirm the success"
    assert told[2].startswith("first observation: another room")
    assert told[3].startswith("step 1 of 3: at ")
    assert builder.totals.replays_failed == {"observation": 3, "end": 1}


def test_an_episode_without_score_enters_when_the_environment_confirms_it(tmp_path: Path) -> None:
    won, lost = played("alfworld", tasks=1)[0], played("alfworld", "random", tasks=1)[0]
    assert not lost.success
    records = [agentgym(won), agentgym(lost)]
    for record in records:
        del record["reward"]
    builder, graphs, rejected = built(lines(tmp_path / "log", records))
    assert builder.totals.outcomes == {"unscored": 2}
    assert list(graphs) == [won.task]
    assert [one.problem for one in rejected] == ["replay_differs"]
    assert not text_only(lines(tmp_path / "log", records))[1]


def test_games_that_begin_alike_are_told_by_playing(tmp_path: Path) -> None:
    """Two games of one room and goal, the same but for their key: an episode enters both, having happened in both."""
    (rollout,) = played("alfworld", tasks=1)
    task, _, trial = rollout.task.partition("/")
    folder = next(path for path in sample_root().rglob(trial) if path.is_dir())
    for name in (trial, "trial_copy"):
        twin = tmp_path / "games" / task / name
        twin.mkdir(parents=True)
        for file in folder.iterdir():
            (twin / file.name).write_bytes(file.read_bytes())
    worlds = {"alfworld": EnvSpec("alfworld", tmp_path / "games")}
    builder, graphs, _ = built(lines(tmp_path / "log", [messages(rollout)]), worlds=worlds)
    assert sorted(graphs) == sorted([rollout.task, f"{task}/trial_copy"])
    assert builder.totals.entered == {"replayed": 1}


def test_replay_may_be_required(tmp_path: Path) -> None:
    (rollout,) = played("alfworld", tasks=1)
    path = lines(tmp_path / "log", [{**messages(rollout), "task_id": "pick_and_place_simple-Mug-None-Desk-1/trial_x"}])
    _, graphs, rejected = built(path, replay="require")
    assert not graphs
    assert [one.problem for one in rejected] == ["not_replayable"]
    with pytest.raises(DataError, match="needed to play its episodes again"):
        built(path, worlds={"alfworld": EnvSpec("alfworld", tmp_path / "nowhere")})


def test_what_cannot_be_placed_has_a_reason(tmp_path: Path) -> None:
    (rollout,) = played("alfworld", tasks=1)
    said = [{"role": "user", "content": "hello"}, {"role": "assistant", "content": "look"}]
    path = lines(
        tmp_path / "log.jsonl",
        [
            {"messages": said, "reward": 1},
            {"messages": said, "reward": 1, "env": "babyai"},
            {"messages": said, "reward": 1, "env": "AlfWorld/AlfredTWEnv"},
            {"conversations": [{"from": "gpt", "value": "x"}], "item_id": "babyai_3"},
        ],
    )
    _, _, rejected = text_only(path)
    assert [one.problem for one in rejected] == [
        "no_environment",
        "unknown_environment",
        "no_task",
        "unknown_environment",
    ]
    assert "docs/own_environment.md" in rejected[1].reason
    mixed = lines(tmp_path / "mixed", [messages(rollout), react(played("webshop", tasks=1)[0])])
    _, graphs, rejected = text_only(mixed, env="alfworld")
    assert len(graphs) == 1
    assert {one.problem for one in rejected} <= {"other_environment", "no_task", "no_states"}


def test_all_episodes_can_be_written_as_rollouts(tmp_path: Path) -> None:
    rollouts = played("alfworld", "noisy", tasks=2, group=4, seed=1)
    path = lines(tmp_path / "log.jsonl", map(atif, rollouts))
    out = tmp_path / "out.jsonl"
    builder = TrajectoriesBuilder(Settings(worlds=WORLDS), [path], rollouts=out)
    builder.count(None, BuildOptions())
    batch = load_rollouts(out)
    assert not batch.rejects
    assert all(rollout.has_states for rollout in batch)
    # A failure is told from text alone; without an id its task is not known to be one of ours.
    assert {r.task for r in batch if r.success} <= {r.task for r in rollouts}
    assert [r.success for r in batch] == [r.success for r in rollouts]


def test_rollouts_of_ours_keep_their_task_and_states(tmp_path: Path) -> None:
    rollouts = [attach_states(rollout) for rollout in played("webshop", tasks=3)]
    path = lines(tmp_path / "log", [json.loads(r.model_dump_json(exclude_none=True)) for r in rollouts])
    _, graphs, rejected = text_only(path)
    assert not rejected
    assert set(graphs) == {r.task for r in rollouts}


def test_settings_that_make_no_sense_are_refused() -> None:
    for wrong, words in (
        ({"format": "csv"}, "no format"),
        ({"env": "chess"}, "no states are known"),
        ({"threshold": 0.0}, "threshold"),
        ({"threshold": 1.5}, "threshold"),
        ({"score_max": 0.0}, "highest score"),
        ({"least_support": 0}, "least support"),
        ({"replay": "never", "worlds": WORLDS}, "play episodes again"),
    ):
        with pytest.raises(UsageError, match=words):
            Settings(**wrong)  # type: ignore[arg-type]


def test_files_are_found_once_and_in_order(tmp_path: Path) -> None:
    deep = tmp_path / "b" / "c"
    deep.mkdir(parents=True)
    for name in ("b/c/z.JSONL", "b/y.json.gz", "a.ndjson", "b/readme.md", "b/c/x.parquet"):
        (tmp_path / name).write_text("{}")
    (tmp_path / "again.json").symlink_to(tmp_path / "a.ndjson")
    (tmp_path / "dangling.json").symlink_to(tmp_path / "nothing")
    (deep / "up").symlink_to(tmp_path, target_is_directory=True)
    found = [path.relative_to(tmp_path).as_posix() for path in find_files([tmp_path])]
    assert found == ["a.ndjson", "b/y.json.gz", "b/c/z.JSONL"]
    assert find_files([tmp_path / "b" / "*.gz"]) == (tmp_path / "b" / "y.json.gz",)
    assert len(find_files([tmp_path / "**" / "*.JSONL"])) == 1
    assert find_files([tmp_path / "b" / "readme.md"]) == (tmp_path / "b" / "readme.md",)  # named: read, whatever it is
    for wrong in (tmp_path / "missing", tmp_path / "*.csv", Path("x" * 300)):
        with pytest.raises(DataError):
            find_files([wrong])
    with pytest.raises(DataError, match="no episodes named"):
        find_files([])


def test_things_kept_aside_are_bounded_and_counted(tmp_path: Path) -> None:
    path = lines(tmp_path / "log", [{"nonsense": n} for n in range(3000)])
    builder, _, rejected = text_only(path)
    assert len(rejected) == 1000
    assert builder.summary()["asides"] == {"unknown_format": 3000}


def test_the_same_rollouts_of_several_runs_stay_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rollouts = played("webshop", tasks=2)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "second").mkdir()
    paths = [lines(Path("a.jsonl"), map(WRITERS["ours"], rollouts))]
    paths += [lines(tmp_path / "second" / "a.jsonl", map(WRITERS["ours"], rollouts))]
    builder = TrajectoriesBuilder(Settings(), paths, rollouts=Path("out.jsonl"))
    builder.count(None, BuildOptions())
    batch = load_rollouts(Path("out.jsonl"))
    assert not batch.rejects
    assert [r.id for r in batch] == [f"{name}:{r.id}" for name in ("a.jsonl", "second/a.jsonl") for r in rollouts]
    assert builder.totals.entered == {"replayed": 2, "duplicate": 2}


def test_an_error_in_an_environment_costs_one_episode(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = played("alfworld", tasks=2)
    path = lines(tmp_path / "log", [messages(first), messages(second)])
    step = AlfWorldEnv.step

    def failing(env: AlfWorldEnv, action: str) -> object:
        if env.task == first.task:
            raise KeyError(action)
        return step(env, action)

    monkeypatch.setattr(AlfWorldEnv, "step", failing)
    _, graphs, rejected = built(path)
    assert list(graphs) == [second.task]
    assert [(one.problem, one.source) for one in rejected] == [("fault", "log:1")]


def test_harbor_s_trials_have_their_reward_beside_them(tmp_path: Path) -> None:
    for number, rollout in enumerate(played("alfworld", tasks=3)):
        record = atif(rollout)
        del record["final_metrics"]["extra"]
        trial = tmp_path / "job" / f"trial-{number}"
        (trial / "agent").mkdir(parents=True)
        (trial / "verifier").mkdir()
        (trial / "agent" / "trajectory.json").write_text(json.dumps(record))
        (trial / "verifier" / "reward.json").write_text("{}")
        result = {"task_name": "x", "verifier_result": {"rewards": {"reward": float(number > 0)}}}
        (trial / "result.json").write_text(json.dumps(result))
    (tmp_path / "job" / "result.json").write_text("{}")
    builder, graphs, rejected = text_only(tmp_path)
    assert builder.totals.outcomes == {"success": 2, "failure": 1}
    assert (len(graphs), rejected) == (2, [])
    (tmp_path / "job" / "trial-2" / "result.json").write_text('{"verifier_result": null, "cut')
    assert text_only(tmp_path)[0].totals.outcomes == {"success": 1, "failure": 1, "unscored": 1}
