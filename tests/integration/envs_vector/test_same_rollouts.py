"""Rollouts do not depend on how many are played at once, nor on where: byte for byte."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from proas.envs import EnvSpec, open_world
from proas.envs.alfworld import sample_root
from proas.envs.collect import CollectSettings, collect
from proas.envs.vector import InProcessVector, IsolatedVector, Player, VectorEnv, collect_many
from proas.errors import UsageError
from proas.rollout_files import write_rollouts
from proas.rollouts import Reject, Rollout, RolloutBatch
from proas.states import follower_for

pytestmark = pytest.mark.skipif(os.name != "posix", reason="isolation needs a POSIX system")


@pytest.fixture(params=["alfworld", "webshop"])
def spec(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> EnvSpec:
    monkeypatch.setenv("PROAS_CACHE_DIR", str(tmp_path / "cache"))
    if request.param == "webshop":
        pytest.importorskip("bm25s")
        return EnvSpec("webshop", options={"goals": "human"})
    return EnvSpec("alfworld", sample_root())


def written(made: list[Rollout | Reject], path: Path) -> bytes:
    rollouts = [record for record in made if isinstance(record, Rollout)]
    assert len(rollouts) == len(made)
    assert all(rollout.has_states for rollout in rollouts)
    write_rollouts(path, rollouts)
    return path.read_bytes()


def test_in_process_and_isolated_are_the_same(spec: EnvSpec, tmp_path: Path) -> None:
    world = open_world(spec)
    tasks = world.tasks[:5]
    policy = world.policies[-2:][0]
    settings = CollectSettings(policy=policy, group_size=3, seed=4, step_limit=12)
    expected = written(list(collect(world, tasks, settings, follower_for)), tmp_path / "one")
    how = {"policy": policy, "group_size": 3, "seed": 4}
    for size in (1, 4, 40):
        with InProcessVector(world, size, step_limit=12, follower=follower_for) as vector:
            assert written(list(collect_many(vector, tasks, **how)), tmp_path / "many") == expected
    for size, workers in ((3, 1), (5, 2)):
        with IsolatedVector(spec, size, workers=workers, step_limit=12, follower=follower_for) as isolated:
            assert isolated.workers == workers
            assert list(isolated.tasks) == list(world.tasks)
            assert written(list(collect_many(isolated, tasks, **how)), tmp_path / "many") == expected
            assert isolated.faults == ()


def test_turns_of_a_caller_s_own_actions_are_the_same(spec: EnvSpec) -> None:
    world = open_world(spec)
    tasks = world.tasks[:3]
    near = InProcessVector(world, 3)
    with IsolatedVector(spec, 3, workers=2) as far:
        one, other = near.reset(tasks), far.reset(tasks)
        assert one == other
        assert type(one[0].info.facts) is type(other[0].info.facts)
        assert [turn.goal for turn in one.values()] == [turn.goal for turn in other.values()] != ["", "", ""]
        for number in range(8):
            actions = {
                slot: turn.info.admissible[(7 * number + slot) % len(turn.info.admissible)]
                for slot, turn in one.items()
                if not turn.done
            }
            if number == 0:
                actions[0] = "no such action"
            one, other = near.step(actions), far.step(actions)
            assert one == other
            assert number or not one[0].info.valid


def test_no_rollout_is_lost_to_accidents(rough: EnvSpec) -> None:
    accidents: list[list[Rollout | Reject]] = []
    for size, workers in ((2, 1), (6, 2)):
        with IsolatedVector(rough, size, workers=workers) as vector:
            tasks = ["short", "broken", "long"]
            accidents.append(list(collect_many(vector, tasks, policy="accident", group_size=5, seed=3)))
            assert {fault.kind for fault in vector.faults} == {"crash", "error", "task"}
    first, second = accidents
    assert first == second
    short, (reject,), long = first[:5], first[5:6], first[6:]
    assert [record.id for record in short] == [f"short#{n}" for n in range(5)]
    assert [record.id for record in long] == [f"long#{n}" for n in range(5)]
    assert reject == Reject("no_corridor: there is no corridor", source="rough", id="broken")
    faulted = [r for r in first if isinstance(r, Rollout) and r.ended == "error"]
    assert {str((r.model_extra or {})["fault"]).split(":")[0] for r in faulted} == {"crash", "error"}
    assert all(not r.success and r.reward == pytest.approx(sum(s.reward for s in r.steps)) for r in faulted)
    assert any(r.steps for r in faulted)
    RolloutBatch(tuple(r for r in first if isinstance(r, Rollout)))


def test_a_crash_at_the_reset_is_a_rollout_without_steps(rough: EnvSpec, tmp_path: Path) -> None:
    with IsolatedVector(rough, 2, workers=1) as vector:
        (made,) = collect_many(vector, ["reset: exit"], policy="random", group_size=1)
    assert isinstance(made, Rollout)
    assert (made.ended, made.steps, made.success) == ("error", (), False)
    assert "process is gone" in (made.model_extra or {})["fault"]
    write_rollouts(tmp_path / "one", [made])


@pytest.mark.parametrize("workers", [None, 1])
def test_what_a_caller_gets_wrong_is_said(rough: EnvSpec, workers: int | None) -> None:
    vector: VectorEnv = (
        InProcessVector(open_world(rough), 2) if workers is None else IsolatedVector(rough, 2, workers=workers)
    )
    with vector:  # type: ignore[attr-defined]  # both are context managers
        with pytest.raises(UsageError, match="no episode under way"):
            vector.step(["walk"])
        with pytest.raises(UsageError, match="no slot 2"):
            vector.reset(["long"] * 3)
        with pytest.raises(UsageError, match="no slot -1"):
            vector.reset({-1: "long"})
        with pytest.raises(UsageError, match="for each slot"):
            vector.reset("long")  # type: ignore[arg-type]  # a slip that types do not catch everywhere
        vector.reset(["long"])
        with pytest.raises(UsageError, match="given 5"):
            vector.step([5])  # type: ignore[list-item]
        with pytest.raises(UsageError, match="no player"):
            vector.advance([0])
        assert vector.advance() == {}
        vector.reset({1: "long"}, players={1: Player("random", "seed")})
        with pytest.raises(UsageError, match="use advance"):
            vector.step({1: "walk"})
        assert list(vector.advance()) == [1]
        assert vector.running == (0, 1)
        with pytest.raises(UsageError, match="no task 'nowhere'"):
            list(collect_many(vector, ["nowhere"], policy="random"))
        with pytest.raises(UsageError, match="no policy 'lucky'"):
            list(collect_many(vector, ["long"], policy="lucky"))


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"size": 0}, "vector of 0"),
        ({"workers": -1}, "workers"),
        ({"step_timeout": 0}, "step_timeout"),
        ({"memory_limit": -5}, "memory_limit"),
        ({"step_limit": 0}, "step limit"),
    ],
)
def test_settings_that_make_no_sense_are_refused(rough: EnvSpec, settings: dict[str, int], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        IsolatedVector(rough, **{"size": 2, **settings})
