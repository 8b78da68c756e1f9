"""Seeds and times as they are written on a command line."""

from __future__ import annotations

import time

import pytest

from proas.cli.train.experiments import RunOptions, seeds_of
from proas.errors import UsageError


@pytest.mark.parametrize(
    ("text", "seeds"), [("0-4", (0, 1, 2, 3, 4)), ("3", (3,)), ("0,2,5", (0, 2, 5)), ("0-1, 7", (0, 1, 7))]
)
def test_seeds(text: str, seeds: tuple[int, ...]) -> None:
    assert seeds_of(text) == seeds


@pytest.mark.parametrize("text", ["", "a", "4-0", "1,1", "0-2,1", "-1", "0-999999", "1.5", "0–4"])
def test_what_names_no_seeds(text: str) -> None:
    with pytest.raises(UsageError):
        seeds_of(text)


def test_the_earlier_of_two_deadlines_counts() -> None:
    now = time.time()
    assert not RunOptions().deadline().too_late_for(1e9)
    soon = RunOptions(budget_minutes=1, until=time.strftime("%H:%M", time.localtime(now + 7200))).deadline()
    assert soon.at is not None
    assert now + 59 < soon.at < now + 90
    assert soon.too_late_for(120)
    assert not soon.too_late_for(0)


@pytest.mark.parametrize("text", ["24:00", "7", "12:60", "noon", "-1:00"])
def test_what_is_no_time_of_day(text: str) -> None:
    with pytest.raises(UsageError):
        RunOptions(until=text).deadline()
