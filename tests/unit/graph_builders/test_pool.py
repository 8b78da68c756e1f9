"""Processes that answer in order, and what becomes of an item that kills its worker."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator

import pytest

from proas.graph_builders.pool import in_order, worker_count

# ``eval`` is a function that any process can import, and lets an item decide what its worker goes through.
DIES = "__import__('os').kill(__import__('os').getpid(), 9)"


def _lost(item: str) -> str:
    return f"lost {item}"


@pytest.mark.parametrize("workers", [1, 2])
def test_answers_come_in_the_order_of_the_items(workers: int) -> None:
    items = [f"__import__('time').sleep({0.02 if n % 8 == 0 else 0}) or {n}" for n in range(50)]

    assert list(in_order(eval, items, workers=workers, lost=_lost)) == list(range(50))


def test_a_killed_worker_costs_the_one_item_that_killed_it() -> None:
    items = [f"{n}" for n in range(60)]
    items[21] = DIES

    answers = list(in_order(eval, items, workers=2, lost=_lost))

    assert answers[21] == _lost(DIES)
    assert [a for n, a in enumerate(answers) if n != 21] == [n for n in range(60) if n != 21]


def test_workers_killed_from_outside_cost_nothing(caplog: pytest.LogCaptureFixture) -> None:
    def items() -> Iterator[str]:
        for n in range(60):
            if n == 20:  # the first chunks are with the workers, the next are not
                for child in multiprocessing.active_children():
                    child.kill()
            yield f"{n}"

    assert list(in_order(eval, items(), workers=2, lost=_lost)) == list(range(60))
    assert "a worker process died" in caplog.text


def test_items_are_read_only_a_little_ahead() -> None:
    read = 0

    def items() -> Iterator[str]:
        nonlocal read
        for n in range(10_000):
            read = n + 1
            yield f"{n}"

    answers = in_order(eval, items(), workers=2, lost=_lost)
    next(answers)
    assert read < 200
    answers.close()  # type: ignore[attr-defined]


def test_no_items_no_answers() -> None:
    assert list(in_order(eval, [], workers=2, lost=_lost)) == []


def test_zero_workers_means_one_a_core() -> None:
    assert worker_count(0) >= 1
    assert worker_count(3) == 3
