"""Shortest ways through given transitions: the shortest there is, and always the same one."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from proas.graph.ways import Way, shortest_way

EDGES = [("s", "b", "1"), ("s", "a", "2"), ("1", "x", "g"), ("2", "y", "g"), ("s", "z", "3"), ("3", "z", "4")]


def test_the_shortest_way_is_found_and_ties_are_broken_by_action() -> None:
    assert shortest_way("s", {"g"}, EDGES) == Way(("a", "y"), ("2", "g"))
    assert shortest_way("s", {"g", "4"}, [*EDGES, ("1", "x", "4")]) == Way(("a", "y"), ("2", "g"))
    assert shortest_way("s", {"g"}, [*EDGES, ("s", "go", "g")]) == Way(("go",), ("g",))


def test_where_no_way_leads_there_is_none() -> None:
    assert shortest_way("s", {"g"}, [("s", "a", "1"), ("g", "b", "1")]) is None
    assert shortest_way("s", set(), EDGES) is None
    assert shortest_way("g", {"g"}, EDGES) == Way((), ())


@given(
    edges=st.lists(st.tuples(st.sampled_from("stuvwg"), st.sampled_from("ab"), st.sampled_from("stuvwg")), max_size=25),
    seed=st.integers(0, 9),
)
def test_a_way_walks_along_transitions_and_order_does_not_matter(edges: list[tuple[str, str, str]], seed: int) -> None:
    way = shortest_way("s", {"g"}, edges)
    mixed = [*edges, *edges]
    random.Random(seed).shuffle(mixed)
    assert shortest_way("s", {"g"}, mixed) == way
    reached, rounds = {"s"}, 0
    while "g" not in reached and rounds <= len(edges):
        reached |= {target for source, _, target in edges if source in reached}
        rounds += 1
    assert (way is not None) == ("g" in reached)
    if way is not None:
        here = "s"
        for action, there in zip(way.actions, way.states, strict=True):
            assert (here, action, there) in edges
            here = there
        assert here == "g"
        assert len(way) == rounds
