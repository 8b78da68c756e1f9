"""Budgets that hold, and pauses that grow."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proas.agents import BudgetSpent, Message, Meter, Patience, Sampling
from proas.agents.model import most_tokens
from proas.errors import UsageError


@given(
    budget=st.integers(1, 500),
    calls=st.lists(st.tuples(st.integers(1, 60), st.floats(0, 1)), max_size=40),
    at_once=st.integers(1, 8),
)
def test_a_budget_is_never_exceeded_and_well_used(budget: int, calls: list[tuple[int, float]], at_once: int) -> None:
    meter = Meter(budget)
    waiting = iter(calls)
    refused: list[int] = []

    async def caller() -> None:
        for most, share in waiting:
            try:
                hold = await meter.hold(most)
            except BudgetSpent:
                refused.append(most)
                continue
            await asyncio.sleep(0)
            meter.settle(hold, int(most * share))
            assert meter.spent <= budget

    async def all_callers() -> None:
        await asyncio.wait_for(asyncio.gather(*(caller() for _ in range(at_once))), 20)

    asyncio.run(all_callers())
    assert meter.spent <= budget
    assert all(most > budget - meter.spent for most in refused)
    if not refused:
        assert meter.spent == sum(int(most * share) for most, share in calls)


def test_without_a_budget_a_meter_counts() -> None:
    async def spend() -> Meter:
        meter = Meter(spent=5)
        meter.settle(await meter.hold(10**12), 7)
        return meter

    meter = asyncio.run(spend())
    assert (meter.spent, meter.left) == (12, None)


@given(st.lists(st.text(max_size=50), max_size=5))
def test_no_vocabulary_of_bytes_has_more_tokens_than_the_bound(texts: list[str]) -> None:
    messages = [Message("user", text.encode("utf-8", "replace").decode()) for text in texts]
    assert most_tokens(messages) >= sum(len(m.content.encode()) for m in messages)


def test_pauses_grow_to_a_limit_and_heed_the_server() -> None:
    patience = Patience(first_pause=1, longest_pause=10, jitter=0)
    assert [patience.pause(n, None, 0.5) for n in (1, 2, 3, 4, 5, 500)] == [1, 2, 4, 8, 10, 10]
    assert patience.pause(1, 60.0, 0.5) == 60
    assert patience.pause(5, 0.0, 0.5) == 10
    scattered = Patience(first_pause=1, longest_pause=10, jitter=0.5)
    assert scattered.pause(2, None, 0.0) == 2
    assert 1 < scattered.pause(2, None, 0.99) < 2


def test_settings_that_make_no_sense_are_refused() -> None:
    for wrong in ({"retry_for": -1}, {"jitter": 2}, {"retry_for": float("nan")}):
        with pytest.raises(UsageError):
            Patience(**wrong)
    for bad in ({"temperature": -1}, {"temperature": float("nan")}, {"top_p": 0.0}, {"max_tokens": 0}):
        with pytest.raises(UsageError):
            Sampling(**bad)  # type: ignore[arg-type]
