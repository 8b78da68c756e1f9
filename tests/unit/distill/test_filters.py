"""The quality filter, rule by rule, on walks that can be followed by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proas.errors import UsageError
from proas.graph.building import fault_within
from proas.graph.records import Task
from proas.graph_builders.distill.filters import Filtered, QualityFilter, distilled
from proas.rollouts import Rollout, State, Step
from proas.subgoals import GOAL_REACHED, Ladder, Subgoal, generic_ladder

TASK = Task("t", "rooms", "leave")
LADDER = generic_ladder("leave")
EVERYTHING = QualityFilter(max_detour=None)


def _state(place: str) -> State:
    return State.of("rooms", "t", {f"at {place}", *({GOAL_REACHED} if place == "Z" else ())})


def _walk(places: str, number: int = 0, *, invalid: tuple[int, ...] = ()) -> Rollout:
    """A success that goes through places named by letters, from the first to the last."""
    steps = tuple(
        Step(action=f"go {place}", canonical=f"go {place}", state=_state(place), valid=t not in invalid)
        for t, place in enumerate(places[1:])
    )
    return Rollout(
        id=f"t#{number}", env="rooms", task="t", start=_state(places[0]), steps=steps, success=True, ended="success"
    )


def _walks(*places: str) -> list[Rollout]:
    return [_walk(one, number) for number, one in enumerate(places)]


def _edges(filtered: Filtered) -> dict[str, int]:
    """Support of each transition, by the letters of its ends."""
    assert filtered.graph is not None
    assert fault_within(filtered.graph) == ""
    letter = {key: state.facts[0][3:] for key, state in filtered.graph.states.items()}
    return {letter[e.source_state] + letter[e.target_state]: e.support for e in filtered.graph.transitions}


def test_supports_are_numbers_of_successes() -> None:
    found = distilled(TASK, LADDER, _walks("ABCZ", "ABCZ", "ADCZ"), EVERYTHING)
    assert _edges(found) == {"AB": 2, "BC": 2, "CZ": 3, "AD": 1, "DC": 1}
    assert {e.source for e in found.graph.transitions} == {"distill"}  # type: ignore[union-attr]
    assert found.dropped == {}


def test_a_transition_taken_twice_by_one_success_has_its_support_once() -> None:
    paper = QualityFilter(purification="paper", max_detour=None)
    assert _edges(distilled(TASK, LADDER, _walks("ABABZ"), paper)) == {"AB": 1, "BA": 1, "BZ": 1}


def test_purification_cuts_what_comes_back_stands_still_or_does_not_apply() -> None:
    found = distilled(TASK, LADDER, [_walk("AABCBDDZ", invalid=(6,))], EVERYTHING)
    # A-A stands still; B-C-B comes back; the last step counts as invalid, so that no way to the goal is left
    assert found.graph is None
    assert found.dropped == {"invalid": 1, "self_loops": 2, "loops": 2, "unconnected": 2}
    assert _edges(distilled(TASK, LADDER, [_walk("AABCBDDZ")], EVERYTHING)) == {"AB": 1, "BD": 1, "DZ": 1}


def test_a_long_detour_is_dropped_whole() -> None:
    walks = _walks("ABZ", "ACDZ", "AEFGZ", "AHIJKZ")
    found = distilled(TASK, LADDER, walks, QualityFilter(max_detour=1.5))
    assert set(_edges(found)) == {"AB", "BZ", "AC", "CD", "DZ"}
    assert found.dropped == {"detour": 2}
    assert len(_edges(distilled(TASK, LADDER, walks, QualityFilter(max_detour=1.0)))) == 2


def test_loops_do_not_make_a_detour() -> None:
    found = distilled(TASK, LADDER, _walks("ABZ", "ABCBCBABZ"), QualityFilter(max_detour=1.0))
    assert _edges(found) == {"AB": 2, "BZ": 2}


def test_little_support_is_dropped_and_what_then_leads_nowhere() -> None:
    found = distilled(TASK, LADDER, _walks("ABCZ", "ABCZ", "ADCZ", "AEZ"), QualityFilter(min_support=2))
    assert _edges(found) == {"AB": 2, "BC": 2, "CZ": 3}
    assert found.dropped == {"support": 4}
    # AB and CZ keep their support, B-C and D-C do not: C is no longer reached
    crossing = distilled(TASK, LADDER, _walks("ABCZ", "ABDZ", "AECZ"), QualityFilter(min_support=2, max_detour=None))
    assert crossing.graph is None
    assert crossing.dropped == {"support": 5, "unconnected": 2}


def test_agreement_is_a_share_of_the_successes() -> None:
    walks = _walks("ABZ", "ABZ", "ACZ", "ADZ")
    assert set(_edges(distilled(TASK, LADDER, walks, QualityFilter(min_agreement=0.5)))) == {"AB", "BZ"}
    assert len(_edges(distilled(TASK, LADDER, walks, QualityFilter(min_agreement=0.25)))) == 6
    nothing = distilled(TASK, LADDER, walks, QualityFilter(min_agreement=0.75))
    assert (nothing.graph, nothing.dropped) == (None, {"agreement": 6})


def test_agreement_counts_only_what_the_longest_detour_left() -> None:
    walks = _walks("ABZ", "ABZ", "ACDEFZ", "ACDEFZ")
    found = distilled(TASK, LADDER, walks, QualityFilter(min_agreement=1.0))
    assert (_edges(found), found.dropped) == ({"AB": 2, "BZ": 2}, {"detour": 2})


def test_a_share_is_not_lost_to_rounding() -> None:
    walks = _walks(*["ABZ"] * 7, *["ACZ"] * 3)
    assert set(_edges(distilled(TASK, LADDER, walks, QualityFilter(min_agreement=0.7)))) == {"AB", "BZ"}


def test_steps_to_an_earlier_subgoal_never_enter() -> None:
    ladder = Ladder((Subgoal(0, "start"), Subgoal(1, "reach C", condition=(("at C",),)), Subgoal(2, "leave")))
    found = distilled(TASK, ladder, _walks("ACBZ", "ACZ"), EVERYTHING)
    assert _edges(found) == {"AC": 2, "CZ": 1}
    assert found.dropped == {"regress": 1, "unconnected": 1}


@pytest.mark.parametrize(
    "wrong",
    [
        {"max_detour": 0.5},
        {"max_detour": float("nan")},
        {"min_support": 0},
        {"min_agreement": 1.5},
        {"min_agreement": float("nan")},
        {"purification": "boiled"},
    ],
)
def test_thresholds_that_make_no_sense_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(UsageError):
        QualityFilter(**wrong)  # type: ignore[arg-type]


@given(
    walks=st.lists(st.text("BCDE", max_size=8), min_size=1, max_size=6),
    rule=st.builds(
        QualityFilter,
        purification=st.sampled_from(["paper", "loop_erased"]),
        max_detour=st.one_of(st.none(), st.floats(1, 3)),
        min_support=st.integers(1, 3),
        min_agreement=st.floats(0, 1),
    ),
)
def test_whatever_is_left_leads_from_the_start_to_the_goal(walks: list[str], rule: QualityFilter) -> None:
    successes = _walks(*(f"A{walk}Z" for walk in walks))
    found = distilled(TASK, LADDER, successes, rule)
    again = distilled(TASK, LADDER, successes[::-1], rule)
    assert (again.graph is None, again.dropped) == (found.graph is None, found.dropped)
    if found.graph is None:
        return
    edges = _edges(found)
    assert edges == _edges(again)
    assert all(rule.min_support <= support <= len(walks) for support in edges.values())
    reached, before = {"A"}, set[str]()
    while reached != before:
        before = set(reached)
        reached |= {edge[1] for edge in edges if edge[0] in reached}
    assert {edge[0] for edge in edges} <= reached
    assert "Z" in reached
