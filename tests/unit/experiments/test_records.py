"""Records on disk: what is written is read, what is no record is named."""

from __future__ import annotations

import json
from pathlib import Path

from proas.experiments.records import read_results, write_record
from tests.unit.experiments.conftest import MakeRecord


def test_a_record_is_read_as_it_was_written(record: MakeRecord, tmp_path: Path) -> None:
    one = record("grpo", 0, [0.1, 0.5], outcomes="0123")
    file = write_record(one, tmp_path)
    assert file == tmp_path / "kitchen" / "grpo-s0.json"
    assert read_results(tmp_path).records == (one,)
    assert one.solved("0.4") == [0.0, 1 / 3, 2 / 3, 1.0]
    assert one.solved("1") is None


def test_a_record_is_small_and_has_a_line_an_entry(record: MakeRecord, tmp_path: Path) -> None:
    series = {f"proas/{i}": [0.1234] * 60 for i in range(14)}
    evaluations = {t: {name: [0.1234] * 31 for name in ("success", "reward", "steps", "invalid")} for t in ("0.4", "1")}
    at = list(range(1, 61))
    large = record("grpo", 0, [0.1] * 31, outcomes="3" * 128, series=series, at=at, evaluations=evaluations)
    text = write_record(large, tmp_path).read_text(encoding="utf-8")
    assert len(text) < 15_000
    assert json.loads(text)["series"] == series
    assert '\n  "proas/3": [' in text


def test_what_is_no_record_is_named(record: MakeRecord, tmp_path: Path) -> None:
    write_record(record("grpo", 0, [0.1, 0.5]), tmp_path)
    (tmp_path / "kitchen" / "broken.json").write_text("{", encoding="utf-8")
    (tmp_path / "kitchen" / "other.json").write_text('{"experiment": "kitchen"}', encoding="utf-8")
    (tmp_path / "kitchen" / "binary.json").write_bytes(b"\xff\xfe\x00")
    found = read_results(tmp_path)
    assert len(found.records) == 1
    assert sorted(Path(line.split(".json")[0]).name for line in found.unreadable) == ["binary", "broken", "other"]
    assert read_results(tmp_path / "nowhere").records == ()
