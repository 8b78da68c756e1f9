"""Rollouts that travel through verl's rows come together as they were, whatever was done to the rows."""

from __future__ import annotations

import random

import pytest

from proas.errors import DataError
from proas.integrations.verl.rows import carried, gather


def whole(rollout, name, length, **more):
    return rollout(name, range(length + 1), covered=None, won=length % 2 == 0, **more)


def plain(made):
    """Labels are not sent: the trainer asks for them."""
    return made.model_copy(update={"steps": tuple(s.model_copy(update={"label": None}) for s in made.steps)})


@pytest.fixture
def some(rollout):
    return [plain(whole(rollout, f"u{i}_{i}", length)) for i, length in enumerate((3, 0, 5, 1))]


def test_one_row_a_trajectory(some):
    spans = [[(10 * t, 10 * t + 7) for t in range(len(r.steps))] for r in some]
    fields = [carried(r, first=0, count=len(r.steps), spans=s) for r, s in zip(some, spans, strict=True)]
    made = gather(fields, [0, 60, 61, 121, 181], padding=[False] * 4)
    assert list(made.batch) == some
    assert made.rows.tolist() == [0] * 3 + [2] * 5 + [3]
    assert made.spans.first.tolist() == [0, 10, 20, 61, 71, 81, 91, 101, 121]
    assert (made.spans.after - made.spans.first).tolist() == [7] * 9
    assert made.plain == 0


def test_one_row_a_step_in_any_order(some):
    rows = [(r, t) for r in some for t in range(len(r.steps))]
    random.Random(1).shuffle(rows)
    fields = [carried(r, first=t, count=1, spans=[(0, 4)]) for r, t in rows]
    made = gather(fields, [4 * i for i in range(len(rows) + 1)], padding=[False] * len(rows))
    assert {r.id: r for r in made.batch} == {r.id: r for r in some if r.steps}
    places = iter(made.rows.tolist())
    for rollout in made.batch:
        for t in range(len(rollout.steps)):
            assert rows[next(places)] == (next(r for r in some if r.id == rollout.id), t)


def test_every_row_has_the_same_form(some):
    fields = [carried(r, first=0, count=len(r.steps), spans=[(0, 1)] * len(r.steps)) for r in some]
    assert len({tuple((key, type(value)) for key, value in field.items()) for field in fields}) == 1


def test_padding_and_other_loops_are_left_alone(some):
    field = carried(some[0], first=0, count=3, spans=[(0, 1), (1, 2), (2, 3)])
    made = gather([field, None, field], [0, 3, 6, 9], padding=[False, False, True])
    assert list(made.batch) == [some[0]]
    assert made.plain == 1


@pytest.mark.parametrize(("steps", "reason"), [((0, 2), "are missing"), ((0, 1, 1), "there twice"), ((0, 1), "only 2")])
def test_a_trajectory_with_gaps_is_kept_aside(some, steps, reason):
    fields = [carried(some[0], first=t, count=1, spans=[(0, 1)]) for t in steps]
    made = gather(fields, list(range(len(steps) + 1)), padding=[False] * len(steps))
    assert len(made.batch) == 0
    [reject] = made.batch.rejects
    assert reason in reject.reason
    assert reject.id == some[0].id


@pytest.mark.parametrize(
    "broken",
    [{"form": 2}, {"rollout": "{}"}, {"rollout": "not json"}, {"spans": [[0, 1]]}, {"first": None}],
    ids=lambda value: next(iter(value)),
)
def test_a_field_that_is_not_ours(some, broken):
    field = {**carried(some[0], first=0, count=3, spans=[(0, 1), (1, 2), (2, 3)]), **broken}
    with pytest.raises(DataError, match="row 0"):
        gather([field], [0, 3], padding=[False])


def test_spans_are_one_a_step(some):
    with pytest.raises(ValueError, match="1 spans for 3 steps"):
        carried(some[0], first=0, count=3, spans=[(0, 1)])
