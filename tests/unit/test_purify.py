"""Purification: worked by hand, and against a plain definition of loop erasure."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proas.purify import Purification, kept_steps, loop_erased_steps, moving_steps

WALKS = st.lists(st.sampled_from("abcdef"), min_size=1, max_size=25)


@st.composite
def walks(draw: st.DrawFn) -> tuple[list[str], list[bool]]:
    """States of a walk and validity of its steps; an invalid step changes nothing."""
    states = [draw(st.sampled_from("abcdef"))]
    valid: list[bool] = []
    for _ in range(draw(st.integers(0, 25))):
        ok = draw(st.booleans())
        valid.append(ok)
        states.append(draw(st.sampled_from("abcdef")) if ok else states[-1])
    return states, valid


def test_worked_example() -> None:
    # a -> b -> (invalid) -> c -> b -> d -> d -> e: the detour b c b goes, the self-loop at d goes.
    states = ["a", "b", "b", "c", "b", "d", "d", "e"]
    valid = [True, False, True, True, True, True, True]
    assert moving_steps(states, valid) == [True, False, True, True, True, False, True]
    assert loop_erased_steps(states, valid) == [True, False, False, False, True, False, True]


def test_a_return_to_the_start_erases_everything_before() -> None:
    assert loop_erased_steps(["a", "b", "a", "c"], [True] * 3) == [False, False, True]


def test_inner_loops_are_erased_in_order_of_time() -> None:
    # a b c b d c: the loop b c b is cut first, so that c, met again, is new.
    assert loop_erased_steps(list("abcbdc"), [True] * 5) == [True, False, False, True, True]


def test_an_empty_rollout_is_legal() -> None:
    assert moving_steps(["a"], []) == []
    assert loop_erased_steps(["a"], []) == []


@pytest.mark.parametrize("rule", ["paper", "loop_erased"])
def test_lengths_must_fit(rule: Purification) -> None:
    with pytest.raises(ValueError, match="2 steps need 3 states, not 2"):
        kept_steps(rule, ["a", "b"], [True, True])


def _path_by_definition(states: list[str]) -> list[str]:
    """Lawler's loop erasure: from each state jump to the step after its last visit."""
    path = [states[0]]
    position = max(i for i, s in enumerate(states) if s == states[0])
    while position < len(states) - 1:
        position += 1
        path.append(states[position])
        position = max(i for i, s in enumerate(states) if s == states[position])
    return path


@settings(deadline=None)
@given(states=WALKS)
def test_loop_erasure_is_the_chronological_one(states: list[str]) -> None:
    kept = loop_erased_steps(states, [True] * (len(states) - 1))
    assert [states[0], *(states[t + 1] for t, keep in enumerate(kept) if keep)] == _path_by_definition(states)


@settings(deadline=None)
@given(walk=walks())
def test_what_holds_of_every_walk(walk: tuple[list[str], list[bool]]) -> None:
    states, valid = walk
    paper, erased = kept_steps("paper", states, valid), kept_steps("loop_erased", states, valid)
    for t, ok in enumerate(valid):
        assert paper[t] == (ok and states[t] != states[t + 1])
        assert paper[t] or not erased[t]
    for kept in (paper, erased):  # what is kept still leads from the first state to the last
        here = states[0]
        for t, keep in enumerate(kept):
            if keep:
                assert states[t] == here
                here = states[t + 1]
        assert here == states[-1]
    path = [states[0], *(states[t + 1] for t, keep in enumerate(erased) if keep)]
    assert len(set(path)) == len(path)


@settings(deadline=None)
@given(walk=walks())
def test_erasing_twice_changes_nothing(walk: tuple[list[str], list[bool]]) -> None:
    states, valid = walk
    erased = loop_erased_steps(states, valid)
    path = [states[0], *(states[t + 1] for t, keep in enumerate(erased) if keep)]
    assert all(loop_erased_steps(path, [True] * (len(path) - 1)))
