"""Subgoals: what a pattern means, and the index of a state."""

from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proas.subgoals import (
    GOAL_REACHED,
    Condition,
    Ladder,
    Rung,
    Subgoal,
    any_order,
    generic_ladder,
    ladder_of,
)


def ladder(*conditions: Condition) -> Ladder:
    return Ladder((Subgoal(0, "start"), *(Subgoal(m, f"g{m}", (), c) for m, c in enumerate(conditions, start=1))))


def holds(*patterns: str, facts: list[str]) -> bool:
    return ladder((patterns,)).index(facts) == 1


def test_a_variable_stands_for_any_object_of_its_kind() -> None:
    assert holds("holding {o:apple}", facts=["holding apple 2"])
    assert holds("holding {o:apple}", facts=["holding apple"])
    assert not holds("holding {o:apple}", facts=["holding pineapple 2"])
    assert not holds("holding {o:apple}", facts=["holding apple 2 and more"])
    assert not holds("holding {o:apple}", facts=[])
    assert holds("holding {o:*}", facts=["holding butter knife 3"])


def test_a_plain_pattern_is_the_fact_itself() -> None:
    assert holds("at cabinet 3", facts=["at cabinet 3"])
    assert not holds("at cabinet 3", facts=["at cabinet 33"])
    assert not holds("a.c", facts=["abc"])


def test_the_same_variable_is_the_same_object() -> None:
    both = ("{o:apple} is hot", "holding {o:apple}")
    assert holds(*both, facts=["apple 1 is hot", "holding apple 1"])
    assert not holds(*both, facts=["apple 1 is hot", "holding apple 2"])
    assert holds(*both, facts=["apple 1 is hot", "apple 2 is hot", "holding apple 2"])


def test_two_variables_are_two_objects() -> None:
    two = ("{a:candle} in {r:drawer}", "{b:candle} in {r:drawer}")
    assert not holds(*two, facts=["candle 1 in drawer 1"])
    assert not holds(*two, facts=["candle 1 in drawer 1", "candle 2 in drawer 2"])
    assert holds(*two, facts=["candle 1 in drawer 1", "candle 2 in drawer 2", "candle 3 in drawer 2"])
    assert not holds("{a:cup} beside {b:cup}", facts=["cup 1 beside cup 1"])
    assert holds("{a:cup} beside {b:cup}", facts=["cup 1 beside cup 2"])


def test_the_index_is_that_of_the_last_milestone_that_holds() -> None:
    steps = ladder((("a",),), (), (("c", "d"), ("e",)))
    assert [steps.index(facts) for facts in ([], ["a"], ["c"], ["c", "d"], ["e"], ["a", "e"])] == [0, 1, 0, 3, 3, 3]
    assert steps.last == 3


def test_the_goal_is_the_last_class_whatever_else_holds() -> None:
    assert ladder((("a",),), ()).index({"a", GOAL_REACHED}) == 2
    assert generic_ladder("").index({GOAL_REACHED}) == 1
    assert generic_ladder("tidy up").index({"anything"}) == 0
    assert generic_ladder("tidy up").subgoals[1].description == "tidy up"


@pytest.mark.parametrize("indices", [[], [1], [0, 2], [0, 0], [1, 0]])
def test_indices_must_count_from_zero(indices: list[int]) -> None:
    with pytest.raises(ValueError, match=r"0\.\.M"):
        Ladder(tuple(Subgoal(m, "x") for m in indices))


@pytest.mark.parametrize(
    "pattern", ["{o}", "{:apple}", "{o:}", "holding {o:apple", "o:apple}", "{:apple} in {r:fridge}", "a } {o:apple}"]
)
def test_malformed_patterns_are_refused_when_the_ladder_is_made(pattern: str) -> None:
    with pytest.raises(ValueError, match="malformed fact pattern"):
        ladder(((pattern,),))


@settings(deadline=None)
@given(
    facts=st.lists(
        st.sampled_from(
            [f"{o} in {r}" for o in ("cup 1", "cup 2", "cup 3") for r in ("box 1", "box 2")]
            + [f"holding cup {n}" for n in (1, 2, 3)]
            + [GOAL_REACHED]
        ),
        unique=True,
        max_size=8,
    ),
    data=st.data(),
)
def test_the_index_does_not_depend_on_the_order_of_facts(facts: list[str], data: st.DataObject) -> None:
    steps = ladder(
        (("holding {a:cup}",),),
        (("{a:cup} in {r:box}",),),
        (("{a:cup} in {r:box}", "holding {b:cup}"),),
        (("{a:cup} in {r:box}", "{b:cup} in {r:box}"),),
    )
    index = steps.index(facts)
    assert steps.index(data.draw(st.permutations(facts))) == steps.index(frozenset(facts)) == index
    boxed = {box: {f for f in facts if f.endswith(f" in {box}")} for box in ("box 1", "box 2")}
    assert (index == 4) == (GOAL_REACHED in facts or any(len(cups) > 1 for cups in boxed.values()))


@settings(deadline=None)
@given(kind=st.text(st.characters(exclude_characters="{}", exclude_categories=("Cs",)), min_size=1, max_size=10))
def test_kinds_are_taken_literally(kind: str) -> None:
    if kind != "*":
        assert holds(f"holding {{o:{kind}}}", facts=[f"holding {kind} 7"])
        assert not holds(f"holding {{o:{kind}}}", facts=[f"holding x{kind} 7"])


def test_a_ladder_stands_between_start_and_goal() -> None:
    ladder = ladder_of([Rung("hold it", (("holding {o:apple}",),), ("grab one",))], start="look", goal="eat it")
    assert [(rung.index, rung.description) for rung in ladder.subgoals] == [(0, "look"), (1, "hold it"), (2, "eat it")]
    assert ladder.subgoals[1].phrases == ("grab one",)
    assert [ladder.index(facts) for facts in ((), ("holding apple 3",), (GOAL_REACHED,))] == [0, 1, 2]
    own = ladder_of([], goal=Rung("both", (("a", "b"),)))
    assert (own.last, own.index(("a",)), own.index(("b", "a"))) == (1, 0, 1)
    with pytest.raises(ValueError, match="malformed"):
        ladder_of([Rung("bad", (("{",),))])


def test_things_in_any_order_climb_one_ladder() -> None:
    facts = ["has pear", "has apple", "has plum"]
    ladder = ladder_of(any_order(facts, told="have {count} of {of}", phrases=("fruit",)))
    assert [rung.description for rung in ladder.subgoals[1:-1]] == ["have 1 of 3", "have 2 of 3", "have 3 of 3"]
    for order in permutations(facts):
        assert [ladder.index(order[:count]) for count in range(4)] == [0, 1, 2, 3]
    assert any_order([]) == []


def test_many_things_in_any_order_leave_out_the_crowded_middle() -> None:
    """Rungs that could be met in more than a thousand ways would have to be written out in the database."""
    facts = [f"fact {number}" for number in range(15)]
    rungs = any_order(facts)
    assert [rung.description for rung in rungs] == [f"{count} of 15" for count in (1, 2, 3, 12, 13, 14, 15)]
    ladder = ladder_of(rungs)
    reached = [ladder.index(facts[:count]) for count in (0, 1, 2, 3, 7, 11, 12, 14, 15)]
    assert reached == [0, 1, 2, 3, 3, 3, 4, 6, 7]
    assert all(len(rung.condition) <= 1000 for rung in any_order([f"{n}" for n in range(90)]))
