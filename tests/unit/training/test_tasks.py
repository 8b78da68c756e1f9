"""Which tasks a run takes, and in which order."""

from __future__ import annotations

from pathlib import Path

import pytest

from proas.envs.alfworld.generator import generate
from proas.envs.alfworld.world import AlfWorldWorld
from proas.envs.registry import EnvSpec, open_world
from proas.errors import DataError
from proas.training.tasks import Splits, TaskStream, find_split, fixed_tasks


def test_splits_are_found_under_a_release(tmp_path: Path) -> None:
    for folder in ("json_2.1.1/train", "json_2.1.3/valid_seen", "json_2.1.1/valid_seen"):
        (tmp_path / folder).mkdir(parents=True)
    found = Splits.of(str(tmp_path), "train", "valid_seen")
    assert found.train == tmp_path / "json_2.1.1/train"
    assert found.valid == tmp_path / "json_2.1.3/valid_seen"  # the newer release
    assert not found.held_out
    assert find_split(tmp_path, "valid_unseen") is None


def test_without_splits_tasks_are_held_out(tmp_path: Path) -> None:
    assert Splits.of(str(tmp_path), "train", "valid_seen") == Splits(tmp_path, tmp_path, held_out=True)
    assert Splits.of("", "train", "valid_seen") == Splits(None, None, held_out=True)


def test_fixed_tasks_do_not_depend_on_anything_but_their_keys(world: AlfWorldWorld) -> None:
    four = fixed_tasks(world, 4)
    assert len(set(four)) == 4
    assert fixed_tasks(world, 6)[:4] == four
    assert len(fixed_tasks(world, 100)) == 12


def test_another_choice_is_of_other_tasks(world: AlfWorldWorld) -> None:
    chosen = {tuple(sorted(fixed_tasks(world, 4, choice))) for choice in range(4)}
    assert len(chosen) == 4
    assert fixed_tasks(world, 4, 2) == fixed_tasks(world, 4, 2)
    assert sorted(fixed_tasks(world, 12, 1)) == sorted(fixed_tasks(world, 12))


def test_the_stream_takes_every_task_once_before_any_twice(world: AlfWorldWorld) -> None:
    stream = TaskStream(world, world.tasks, seed=3)
    first = [stream.take(4) for _ in range(3)]
    assert sorted(task for part in first for task in part) == sorted(world.tasks)
    second = [stream.take(4) for _ in range(3)]
    assert sorted(task for part in second for task in part) == sorted(world.tasks)
    assert first != second


def test_a_stream_that_goes_on_takes_what_would_have_come_next(world: AlfWorldWorld) -> None:
    stream = TaskStream(world, world.tasks, seed=3)
    taken = [stream.take(5) for _ in range(4)]
    again = TaskStream(world, world.tasks, seed=3)
    again.take(5)
    resumed = TaskStream(world, world.tasks, seed=3, position=again.position)
    assert [resumed.take(5) for _ in range(3)] == taken[1:]
    assert [TaskStream(world, world.tasks, seed=4).take(5)] != taken[:1]


def test_tasks_that_cannot_be_played_are_passed_over_and_remembered(tmp_path: Path) -> None:
    trials = [trial.write(tmp_path) for trial in generate(3, seed=2)]
    del trials
    broken = next(tmp_path.glob("*/*/initial_state.pddl"))
    broken.write_text("(define", encoding="utf-8")
    world = open_world(EnvSpec("alfworld", tmp_path))
    stream = TaskStream(world, world.tasks, seed=0)
    key = f"{broken.parent.parent.name}/{broken.parent.name}"
    assert key not in stream.take(2)
    stream.take(2)
    assert list(stream.rejects) == [key]
    with pytest.raises(DataError, match="only 2 tasks"):
        stream.take(3)
    assert key not in fixed_tasks(world, 3)


def test_no_tasks_are_refused(world: AlfWorldWorld) -> None:
    with pytest.raises(DataError, match="no alfworld tasks"):
        TaskStream(world, (), seed=0)
