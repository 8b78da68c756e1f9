"""Finding trials: every place they may lie, every way they may be broken."""

from __future__ import annotations

import io
import json
import shutil
import tarfile
from pathlib import Path

import pytest

from proas.envs.alfworld import Game, Trial, TrialError, iter_games, iter_trials, load_game, sample_root, trial_at
from proas.envs.alfworld.archive import cache_root
from proas.envs.alfworld.data import read_traj_data
from proas.errors import DataError

RELEASE_TRIAL = "trial_T20190907_060234_011675"


@pytest.fixture
def release(tmp_path: Path, samples: list[Trial]) -> Path:
    """The samples under names as in a release, in a split of release 2.1.1."""
    for number, trial in enumerate(samples):
        shutil.copytree(trial.path, tmp_path / f"root/json_2.1.1/train/{trial.task}/{RELEASE_TRIAL[:-1]}{number}")
    return tmp_path / "root"


def pack(folder: Path, archive: Path, mode: str) -> Path:
    with tarfile.open(archive, mode) as tar:  # type: ignore[call-overload]
        tar.add(folder, arcname=folder.name)
    return archive


def test_samples_come_with_the_package(samples: list[Trial]) -> None:
    assert sorted({t.goal.kind for t in samples}) == ["clean", "cool", "heat", "look", "pick", "two"]
    assert any(t.goal.sliced for t in samples)
    size = sum(f.stat().st_size for f in sample_root().rglob("*") if f.is_file())
    assert size < 300_000


@pytest.mark.parametrize("below", ["", "json_2.1.1", "json_2.1.1/train"])
def test_roots_and_splits(release: Path, samples: list[Trial], below: str) -> None:
    trials = list(iter_trials(release / below))
    assert [t.key for t in trials] == sorted(t.key for t in trials)
    assert {t.task for t in trials} == {t.task for t in samples}
    assert {t.wording for t in trials} == {"put"}


def test_a_task_and_a_trial(release: Path) -> None:
    task = next((release / "json_2.1.1/train").iterdir())
    trial = next(task.iterdir())
    assert [t.key for t in iter_trials(task)] == [f"{task.name}/{trial.name}"]
    assert trial_at(trial).key == f"{task.name}/{trial.name}"
    with pytest.raises(DataError, match="holds 7 trials"):
        trial_at(release)


@pytest.mark.parametrize(("suffix", "mode"), [(".tar.xz", "w:xz"), (".tar.gz", "w:gz"), (".tar", "w")])
def test_archives(release: Path, tmp_path: Path, suffix: str, mode: str) -> None:
    archive = pack(release / "json_2.1.1", tmp_path / f"release{suffix}", mode)
    from_archive = list(iter_trials(archive))
    assert [t.key for t in from_archive] == [t.key for t in iter_trials(release)]
    assert {t.wording for t in from_archive} == {"put"}
    assert all(t.path.is_relative_to(cache_root()) for t in from_archive)
    archive.write_bytes(archive.read_bytes())  # same content, later time: not unpacked again
    assert [t.path for t in iter_trials(archive)] == [t.path for t in from_archive]


def test_the_environment_variable(release: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALFWORLD_DATA", str(release))
    assert len(list(iter_trials())) == 7
    monkeypatch.delenv("ALFWORLD_DATA")
    with pytest.raises(DataError, match="no ALFWorld data named"):
        list(iter_trials())


def test_unsafe_members_are_left_out(tmp_path: Path) -> None:
    archive = tmp_path / "bad.tar"
    with tarfile.open(archive, "w") as tar:
        for name in ("../traj_data.json", "/traj_data.json", "a/b/notes.txt", "a/b/traj_data.json"):
            member = tarfile.TarInfo(name)
            member.size = 2
            tar.addfile(member, io.BytesIO(b"{}"))
        link = tarfile.TarInfo("a/c/game.tw-pddl")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        tar.addfile(link)
    assert [t.key for t in iter_trials(archive)] == ["a/b"]
    assert not (tmp_path / "traj_data.json").exists()
    unpacked = [f for f in cache_root().rglob("*") if f.is_file() and f.suffix != ".lock"]
    assert [f.name for f in unpacked] == ["traj_data.json"]


def test_a_huge_member_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("proas.envs.alfworld.archive.MAX_MEMBER_BYTES", 10)
    archive = tmp_path / "big.tar"
    with tarfile.open(archive, "w") as tar:
        member = tarfile.TarInfo("a/b/traj_data.json")
        member.size = 11
        tar.addfile(member, io.BytesIO(b"x" * 11))
    with pytest.raises(DataError, match="more than a trial file can"):
        list(iter_trials(archive))
    assert not [f for f in cache_root().rglob("*") if f.is_file() and f.suffix != ".lock"]


@pytest.mark.parametrize("suffix", [".tar.xz", ".tar.gz"])
def test_damaged_archives(release: Path, tmp_path: Path, suffix: str) -> None:
    archive = pack(release, tmp_path / f"cut{suffix}", "w:xz" if suffix == ".tar.xz" else "w:gz")
    archive.write_bytes(archive.read_bytes()[:-5_000])
    with pytest.raises(DataError, match="damaged archive"):
        list(iter_trials(archive))
    archive.write_bytes(b"not an archive at all")
    with pytest.raises(DataError, match="damaged archive"):
        list(iter_trials(archive))


def test_paths_without_trials(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such file"):
        list(iter_trials(tmp_path / "absent"))
    with pytest.raises(DataError, match="no ALFWorld trial found"):
        list(iter_trials(tmp_path))
    (tmp_path / "file.txt").write_text("x")
    with pytest.raises(DataError, match="neither a folder nor a tar archive"):
        list(iter_trials(tmp_path / "file.txt"))
    with pytest.raises(DataError, match="no ALFWorld trial inside"):
        list(iter_trials(pack(tmp_path, tmp_path / "empty.tar", "w")))


def test_two_releases_of_one_trial_are_joined(release: Path) -> None:
    older = next(iter(iter_trials(release)))
    newer = release / "json_2.1.3/train" / older.key
    newer.mkdir(parents=True)
    (newer / "game.tw-pddl").write_text("{}")
    joined = next(t for t in iter_trials(release) if t.key == older.key)
    assert (joined.traj_data, joined.initial_state) == (older.traj_data, older.initial_state)
    assert joined.game_file == newer / "game.tw-pddl"
    assert joined.wording == "move"


def test_a_release_that_has_games_withholds_the_others(release: Path, samples: list[Trial]) -> None:
    first, second, *_ = iter_trials(release)
    (first.path / "game.tw-pddl").write_text(
        json.dumps({"solvable": False, "pddl_domain": "", "grammar": "", "pddl_problem": ""})
    )
    shutil.copytree(samples[0].path, release / samples[0].key)
    found = {t.key: g for t, g in iter_games(release)}
    assert isinstance(found[first.key], TrialError)
    assert found[first.key].problem == "unsolvable"  # type: ignore[union-attr]
    assert found[second.key].problem == "no_game"  # type: ignore[union-attr]
    assert isinstance(found[samples[0].key], Game)  # one of our own next to them plays from its initial state
    assert isinstance(load_game(second.path), Game)  # and so does a trial that is named by itself


BROKEN = [
    ("game.tw-pddl", b"{", "bad_json"),
    ("game.tw-pddl", b"[]", "bad_json"),
    ("game.tw-pddl", b"\xff\xfe", "unreadable"),
    ("game.tw-pddl", b'{"solvable": true}', "bad_json"),
    ("traj_data.json", b"{", "bad_json"),
    ("traj_data.json", b"{}", "bad_json"),
    ("traj_data.json", b'{"task_type": "pick_three", "pddl_params": {}}', "unsupported_task"),
    ("initial_state.pddl", b"(define", "bad_pddl"),
    ("initial_state.pddl", b"(define (:init (atlocation agent1 l)) (:goal (forall (?o) (p ?o))))", "unsupported_task"),
]


@pytest.mark.parametrize(("name", "content", "problem"), BROKEN)
def test_broken_trials_say_why(release: Path, name: str, content: bytes, problem: str) -> None:
    trial = next(iter(iter_trials(release)))
    (trial.path / name).write_bytes(content)
    outcomes = [g for t, g in iter_games(release) if t.key == trial.key]
    assert [o.problem for o in outcomes if isinstance(o, TrialError)] == [problem]
    assert trial.key in str(outcomes[0])


def test_a_plan_needs_traj_data(release: Path) -> None:
    trial = next(iter(iter_trials(release)))
    (trial.path / "traj_data.json").unlink()
    bare = trial_at(trial.path)
    assert isinstance(load_game(bare), Game)  # its initial state states the goal itself
    with pytest.raises(TrialError, match=r"no traj_data\.json"):
        read_traj_data(bare)


def test_goals_that_disagree_are_refused(release: Path) -> None:
    trial = next(t for t in iter_trials(release) if t.goal.kind == "pick")
    document = json.loads((trial.path / "traj_data.json").read_text())
    document["pddl_params"]["parent_target"] = "Bed"
    (trial.path / "traj_data.json").write_text(json.dumps(document))
    with pytest.raises(TrialError, match="the one in pddl_params"):
        load_game(trial_at(trial.path))
