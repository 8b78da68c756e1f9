"""What TensorBoard reads of a run that was resumed."""

from __future__ import annotations

from pathlib import Path

import pytest

from proas.training.tensorboard import tensorboard_writer

pytest.importorskip("tensorboard")


def steps(run: Path) -> list[tuple[int, float]]:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    read = EventAccumulator(str(run / "tensorboard"))
    read.Reload()
    return [(event.step, event.value) for event in read.Scalars("rollout/success")]


def written(run: Path, first: int, last: int, value: float) -> None:
    with tensorboard_writer(run) as write:
        assert write is not None
        for iteration in range(first, last + 1):
            write({"iteration": float(iteration), "rollout/success": value})


def test_iterations_that_are_done_again_replace_the_earlier_ones(tmp_path: Path) -> None:
    written(tmp_path, 1, 3, 0.25)
    written(tmp_path, 3, 4, 0.5)
    assert steps(tmp_path) == [(1, 0.25), (2, 0.25), (3, 0.5), (4, 0.5)]


def test_a_run_with_nothing_left_writes_nothing(tmp_path: Path) -> None:
    written(tmp_path, 1, 0, 0.5)
    assert not (tmp_path / "tensorboard").exists()
