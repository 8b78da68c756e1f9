"""The small PDDL reader, and the goals it knows."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proas.envs.alfworld.goal import AlfWorldGoal
from proas.envs.alfworld.names import kind_of_name, numbered_names, object_id, pddl_name
from proas.envs.alfworld.pddl import PddlError, UnsupportedGoal, goal_of, read_expression, read_problem

HEAT = """(and (exists (?r - receptacle) (exists (?o - object) (and (heatable ?o) (objectType ?o AppleType)
    (receptacleType ?r FridgeType) (isHot ?o) (inReceptacle ?o ?r)))))"""
TWO = """(and (exists (?r - receptacle) (exists (?o1 - object) (and (objectType ?o1 CdType)
    (receptacleType ?r SafeType) (inReceptacle ?o1 ?r) (exists (?o2 - object) (and (not (= ?o1 ?o2))
    (objectType ?o2 CdType) (receptacleType ?r SafeType) (inReceptacle ?o2 ?r)))))))"""
LOOK = """(and (exists (?ot - object ?r - receptacle ?a - agent ?l - location) (and (objectType ?ot DeskLampType)
    (toggleable ?ot) (isToggled ?ot) (receptacleAtLocation ?r ?l) (atLocation ?a ?l) (inReceptacle ?ot ?r)))
    (exists (?o - object ?a - agent) (and (objectType ?o CdType) (holds ?a ?o))))"""
SLICED = """(and (exists (?r - receptacle) (exists (?o - object ?ko - object) (and (sliceable ?o) (isSliced ?o)
    (objectType ?o TomatoType) (inReceptacle ?o ?r) (receptacleType ?r SideTableType)))))"""

GOALS = [
    (HEAT, AlfWorldGoal("heat", "apple", "fridge")),
    (TWO, AlfWorldGoal("two", "cd", "safe")),
    (LOOK, AlfWorldGoal("look", "cd", lamp="desklamp")),
    (SLICED, AlfWorldGoal("pick", "tomato", "sidetable", sliced=True)),
]


def test_nesting_case_and_comments() -> None:
    assert read_expression("(a (B c) ; not ) this\n ((d)))") == ["a", ["b", "c"], [["d"]]]


@pytest.mark.parametrize("text", ["", "(", ")", "(a))", "(a) (b)", "((a)"])
def test_unbalanced_text_is_refused(text: str) -> None:
    with pytest.raises(PddlError):
        read_expression(text)


def test_deep_nesting_is_refused_before_it_overflows() -> None:
    with pytest.raises(PddlError, match="nested more than"):
        read_expression("(" * 50_000 + ")" * 50_000)


@given(st.recursive(st.sampled_from(["a", "b-1", "?x"]), lambda inner: st.lists(inner, max_size=4), max_leaves=30))
def test_what_is_written_is_read_back(tree: object) -> None:
    def written(node: object) -> str:
        return node if isinstance(node, str) else f"({' '.join(map(written, node))})"  # type: ignore[call-overload]

    assert read_expression(written(tree)) == tree


def test_problem_facts_and_entities() -> None:
    problem = read_problem(
        "(define (problem p) (:init (at a B) (at c d) (= (total-cost) 0) (= (dist x y) 3)) (:goal (g)))"
    )
    assert problem.facts == {"at": (("a", "b"), ("c", "d"))}
    assert problem.entities == {"a", "b", "c", "d", "x", "y"}
    assert (problem.name, problem.goal) == ("p", ["g"])


@pytest.mark.parametrize(
    "text", ["(define)", "(problem)", "(define (:init a))", "(define (:init ((a))))", "(define (:init (not (a b))))"]
)
def test_problems_without_plain_facts_are_refused(text: str) -> None:
    with pytest.raises(PddlError):
        read_problem(text)


@pytest.mark.parametrize(("formula", "goal"), GOALS)
def test_goals_of_the_library(formula: str, goal: AlfWorldGoal) -> None:
    assert goal_of(read_expression(formula)) == goal


def test_names_of_variables_and_order_do_not_matter() -> None:
    atoms = [
        "(heatable ?x)",
        "(objecttype ?x appletype)",
        "(receptacletype ?y fridgetype)",
        "(ishot ?x)",
        "(inreceptacle ?x ?y)",
    ]
    for order in itertools.permutations(atoms):
        assert goal_of(read_expression(f"(exists (?x ?y) (and {' '.join(order)}))")) == GOALS[0][1]


@pytest.mark.parametrize(
    "formula",
    ["(and)", "(holds ?a ?o)", HEAT.replace("(isHot ?o)", ""), HEAT.replace("heatable", "coolable"),
     TWO.replace("(not (= ?o1 ?o2))", ""), "(forall (?o) (p ?o))", "(or (a ?o) (b ?o))",
     HEAT.replace("(isHot ?o)", "(isHot ?o) (isClean ?o)"), LOOK.replace("(inReceptacle ?ot ?r)", "")],
)  # fmt: skip
def test_other_goals_are_refused(formula: str) -> None:
    with pytest.raises(UnsupportedGoal):
        goal_of(read_expression(formula))


def test_numbers_descend_in_the_order_of_raw_names() -> None:
    raw = [
        pddl_name(i)
        for i in ("Cup|+01.00|+00.90|-01.00", "Cup|-01.00|+00.90|-01.00", "Sink|+00.00|+00.90|+00.00|SinkBasin")
    ]
    names = numbered_names([*raw, "agent1"])
    assert [names[r] for r in sorted(raw)] == ["cup 2", "cup 1", "sinkbasin 1"]
    assert names["agent1"] == "agent1 "
    assert kind_of_name(raw[2]) == "sinkbasin"


@given(st.from_regex(r"[A-Z][a-z]+(\|[+-][0-9]{2}\.[0-9]{2}){3}", fullmatch=True))
def test_object_ids_survive_pddl(identifier: str) -> None:
    assert object_id(pddl_name(identifier)) == identifier.lower()
