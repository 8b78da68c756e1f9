"""Checkpoints: whole or not at all, and read without trust."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from proas.errors import DataError, UsageError
from proas.training.checkpoint import Checkpoint, latest_checkpoint, prune_checkpoints


def made(iteration: int) -> Checkpoint:
    weights = torch.arange(4, dtype=torch.float32) + iteration
    state = {"steps": iteration, "first": weights * 2, "second": weights * 3}
    memory = {"task": {"edges": [["a", "b"]], "goals": [["b"]]}}
    return Checkpoint(iteration, {"kind": "word"}, weights, weights + 1, state, position=7, episodes=9, memory=memory)


def test_a_checkpoint_comes_back(tmp_path: Path) -> None:
    file = made(3).write(tmp_path)
    found = Checkpoint.read(file)
    assert (found.iteration, found.policy, found.position, found.episodes) == (3, {"kind": "word"}, 7, 9)
    assert found.memory == made(3).memory
    assert torch.equal(found.weights, made(3).weights)
    assert torch.equal(found.optimiser["second"], made(3).weights * 3)
    assert [path.name for path in tmp_path.iterdir()] == ["iteration-000003.pt"]


def test_the_newest_is_found_by_number_and_old_ones_go(tmp_path: Path) -> None:
    for iteration in (0, 2, 9, 10, 11):
        made(iteration).write(tmp_path)
    (tmp_path / "iteration-000012.part").write_bytes(b"half")
    (tmp_path / "notes.pt").write_bytes(b"another's")
    assert latest_checkpoint(tmp_path).name == "iteration-000011.pt"
    assert latest_checkpoint(tmp_path, 9).name == "iteration-000009.pt"
    prune_checkpoints(tmp_path, 2)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "iteration-000000.pt",
        "iteration-000010.pt",
        "iteration-000011.pt",
        "notes.pt",
    ]
    with pytest.raises(UsageError, match=r"no checkpoint of iteration 9.*0, 10, 11"):
        latest_checkpoint(tmp_path, 9)
    with pytest.raises(UsageError, match="no checkpoint"):
        latest_checkpoint(tmp_path / "nowhere")


def test_damaged_ones_are_refused(tmp_path: Path) -> None:
    file = made(1).write(tmp_path)
    file.write_bytes(file.read_bytes()[:200])
    with pytest.raises(DataError, match="cannot be read"):
        Checkpoint.read(file)
    file.write_bytes(b"")
    with pytest.raises(DataError, match="cannot be read"):
        Checkpoint.read(file)
    for junk in (b"junk", b"\x80\x02.", b"\x80", b"PK\x03\x04junk", bytes(range(256)), b"\x80\x02h\x05.", b"(lp0\n"):
        file.write_bytes(junk)
        with pytest.raises(DataError, match=r"cannot be read|no checkpoint of this version"):
            Checkpoint.read(file)
    torch.save({"form": 1, "iteration": 3}, file)
    with pytest.raises(DataError, match="lacks parts"):
        Checkpoint.read(file)
    torch.save({"form": 99}, file)
    with pytest.raises(DataError, match="no checkpoint of this version"):
        Checkpoint.read(file)


class Trap:
    """What unpickling it would run."""

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return (Path.touch, (Path("sprung"),))  # type: ignore[return-value]


def test_nothing_in_a_checkpoint_is_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "iteration-000001.pt"
    torch.save(Trap(), file)
    with pytest.raises(DataError, match="cannot be read"):
        Checkpoint.read(file)
    assert not Path("sprung").exists()
