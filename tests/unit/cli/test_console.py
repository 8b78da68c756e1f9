"""What commands print: JSON that parses back, and data that cannot steer the terminal."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from neo4j.time import Date, DateTime, Time
from rich.console import Console

from proas.cli.console import Output, columns, facts_table, plain, to_json


@dataclass(frozen=True)
class Pair:
    left: int
    right: str


def test_temporal_values_come_back_from_json() -> None:
    moment = datetime(2026, 11, 29, 18, 14, 5, 123456, tzinfo=UTC)
    document = {
        "python": moment,
        "driver": DateTime.from_native(moment),
        "date": date(2026, 11, 29),
        "driver_date": Date(2026, 11, 29),
        "time": time(18, 14),
        "driver_time": Time(18, 14, 0),
        "lasted": timedelta(seconds=2, milliseconds=500),
    }
    read = json.loads(to_json(document))
    assert datetime.fromisoformat(read["python"]) == moment
    assert datetime.fromisoformat(read["driver"]) == moment
    assert date.fromisoformat(read["date"]) == date.fromisoformat(read["driver_date"]) == date(2026, 11, 29)
    assert time.fromisoformat(read["time"]) == time(18, 14)
    assert time.fromisoformat(read["driver_time"]) == time(18, 14)
    assert read["lasted"] == 2.5


def test_other_values_of_ours_have_a_json_form() -> None:
    document = {
        "pair": Pair(1, "x"),
        "path": Path("/a/b"),
        "set": {"b", "a"},
        "array": np.float64(0.5),
        "n": np.int64(3),
    }
    assert json.loads(to_json(document)) == {
        "pair": {"left": 1, "right": "x"},
        "path": "/a/b",
        "set": ["a", "b"],
        "array": 0.5,
        "n": 3,
    }


def test_a_value_without_json_form_is_named() -> None:
    with pytest.raises(TypeError, match="object has no JSON form"):
        to_json({"x": object()})


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists))
def test_json_is_ascii_and_round_trips(value: Any) -> None:
    text = to_json(value)
    assert text.isascii()
    assert json.loads(text) == value


def test_infinite_numbers_are_refused_rather_than_printed_as_no_json() -> None:
    with pytest.raises(ValueError, match="JSON"):
        to_json({"x": float("nan")})


@given(st.text())
def test_words_from_data_print_without_control_characters_and_without_markup(text: str) -> None:
    shown = plain(text).plain
    assert len(shown) == len(text)
    assert all(c.isprintable() or c == "\n" for c in shown)


def test_markup_in_data_is_shown_as_it_is() -> None:
    console = Console(width=60, record=True, force_terminal=True, color_system="truecolor")
    with console.capture() as caught:
        console.print(plain("[bold red]take[/] apple \x1b[31m1"))
    assert "[bold red]take[/] apple \N{REPLACEMENT CHARACTER}[31m1" in caught.get()


def test_json_mode_keeps_standard_output_for_the_document(capsys: pytest.CaptureFixture[str]) -> None:
    output = Output(json_wanted=True)
    output.note("reading")
    output.done("read")
    output.warn("slow")
    with output.progress("Working", 3) as advance:
        advance(1, None)
    output.result({"tasks": 2}, columns("never shown"))
    out, err = capsys.readouterr()
    assert json.loads(out) == {"tasks": 2}
    assert "reading" in err
    assert "slow" in err
    assert "never shown" not in out + err


def test_without_json_the_table_is_the_result(capsys: pytest.CaptureFixture[str]) -> None:
    output = Output()
    output.result({"tasks": 2}, facts_table({"tasks": 2, "share": 0.25, "known": True, "base": None}))
    out, err = capsys.readouterr()
    assert [line.split() for line in out.splitlines()] == [
        ["tasks", "2"],
        ["share", "0.25"],
        ["known", "yes"],
        ["base", "-"],
    ]
    assert err == ""
