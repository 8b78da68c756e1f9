"""The journal: nothing that was paid for is lost, nothing torn is believed."""

from __future__ import annotations

import json
import resource
import signal
from pathlib import Path
from typing import Any

import pytest

from proas.errors import DataError, UsageError
from proas.graph_builders.distill.journal import Journal
from proas.rollouts import Rollout, State, Step

SETTINGS: dict[str, object] = {"env": "rooms", "model": "m", "sampling.temperature": 0.7, "prompts.history": None}


def _rollout(number: int, *, cause: str = "won", words: str = "go") -> Rollout:
    state = State.of("rooms", "t", {"at A"})
    step = Step(action=words, canonical=words, state=state)
    fields: dict[str, Any] = {
        "id": f"t#{number}",
        "env": "rooms",
        "task": "t",
        "start": state,
        "steps": (step,),
        "success": cause == "won",
        "attempt": number,
        "cause": cause,
        "prompt_tokens": 10,
        "completion_tokens": 3,
        "wasted_tokens": 1,
        "tokens_estimated": False,
        "calls": 1,
        "invalid_formats": 0,
    }
    return Rollout.model_validate(fields)


def test_what_was_written_is_there_again(tmp_path: Path) -> None:
    path = tmp_path / "new" / "j.jsonl"
    with Journal(path, SETTINGS) as journal:
        written = [journal.append(_rollout(n, cause=cause)) for n, cause in enumerate(("won", "step_limit", "budget"))]
        assert journal.read(written[1]) == _rollout(1, cause="step_limit")
    with Journal(path, SETTINGS) as journal:
        assert [(one.number, one.success, one.finished, one.tokens, one.fresh) for one in journal.attempts] == [
            (0, True, True, 14, False),
            (1, False, True, 14, False),
            (2, False, False, 14, False),
        ]
        assert [journal.read(one).id for one in journal.attempts] == ["t#0", "t#1", "t#2"]
        assert journal.rejects == []


def test_a_line_torn_anywhere_is_cut_off_and_only_it(tmp_path: Path) -> None:
    path = tmp_path / "j.jsonl"
    with Journal(path, SETTINGS) as journal:
        journal.append(_rollout(0))
    before = path.read_bytes()
    with Journal(path, SETTINGS) as journal:
        journal.append(_rollout(1, words="na\u00efve"))
    whole = path.read_bytes()
    for end in range(len(before), len(whole)):
        path.write_bytes(whole[:end])
        with Journal(path, SETTINGS) as journal:
            assert [one.number for one in journal.attempts] == [0]
            assert journal.cut_off == end - len(before)
            journal.append(_rollout(2))
        with Journal(path, SETTINGS) as journal:
            assert [one.number for one in journal.attempts] == [0, 2]
            assert journal.rejects == []


def test_a_header_torn_anywhere_begins_anew(tmp_path: Path) -> None:
    path = tmp_path / "j.jsonl"
    with Journal(path, SETTINGS):
        pass
    header = path.read_bytes()
    for end in range(len(header)):
        path.write_bytes(header[:end])
        with Journal(path, SETTINGS) as journal:
            journal.append(_rollout(0))
        assert path.read_bytes().startswith(header)


def test_spoilt_lines_are_kept_aside_with_their_number(tmp_path: Path) -> None:
    path = tmp_path / "j.jsonl"
    with Journal(path, SETTINGS) as journal:
        for number in range(3):
            journal.append(_rollout(number))
    lines = path.read_bytes().splitlines(keepends=True)
    foreign = json.dumps({"id": "x", "env": "rooms", "task": "t", "success": True}).encode() + b"\n"
    wrong_key = lines[2].replace(b'"at A"', b'"at B"')
    path.write_bytes(b"".join([lines[0], b"{not json\n", lines[1], b"\xff\xfe\n", foreign, wrong_key, lines[3]]))
    with Journal(path, SETTINGS) as journal:
        assert [one.number for one in journal.attempts] == [0, 2]
        assert [reject.line for reject in journal.rejects] == [2, 4, 5, 6]
        assert [journal.read(one).id for one in journal.attempts] == ["t#0", "t#2"]


def test_other_settings_do_not_mix(tmp_path: Path) -> None:
    path = tmp_path / "j.jsonl"
    with Journal(path, SETTINGS):
        pass
    for change in ({"sampling.temperature": 1.0}, {"model": "other"}, {"prompts.history": 5}, {"new": 1}):
        with pytest.raises(UsageError, match=f"was begun with {next(iter(change))}"):
            Journal(path, {**SETTINGS, **change})


def test_what_is_no_journal_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    for content in (b"dear diary\n", b'{"journal": "another", "schema": 1, "settings": {}}\n', b"[]\n", b"\n"):
        path.write_bytes(content)
        with pytest.raises(DataError, match="not the journal of a teacher"):
            Journal(path, SETTINGS)
        assert path.read_bytes() == content
    path.write_bytes(b'{"journal": "proas.distill", "schema": 9, "settings": {"env": "rooms"}}\n')
    with pytest.raises(DataError, match="form 9"):
        Journal(path, SETTINGS)


def test_two_processes_do_not_write_to_one(tmp_path: Path) -> None:
    path = tmp_path / "j.jsonl"
    with Journal(path, SETTINGS), pytest.raises(UsageError, match="another process writes"):
        Journal(path, SETTINGS)
    with Journal(path, SETTINGS):
        pass


def test_a_folder_or_a_forbidden_place_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    for path in (tmp_path, tmp_path / "file" / "j.jsonl", Path("/dev/zero")):
        with pytest.raises(DataError, match="cannot open the journal"):
            Journal(path, SETTINGS)


def test_a_full_disk_is_told_and_costs_nothing_that_was_written(tmp_path: Path) -> None:
    path = tmp_path / "j.jsonl"
    with Journal(path, SETTINGS) as journal:
        journal.append(_rollout(0))
        size = path.stat().st_size
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size + 100, before[1]))  # room for a part of a line
        try:
            with pytest.raises(DataError, match="cannot write to the journal"):
                journal.append(_rollout(1))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
            signal.signal(signal.SIGXFSZ, handler)
        assert path.stat().st_size == size
        journal.append(_rollout(2))
    with Journal(path, SETTINGS) as journal:
        assert [one.number for one in journal.attempts] == [0, 2]
