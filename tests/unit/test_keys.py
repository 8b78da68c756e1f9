"""Keys: golden values that must never change silently, and what must and must not matter."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proas.keys import KEY_VERSION, digest, state_key, transition_key

FACTS = st.lists(st.text(max_size=30), max_size=8)
NASTY = [
    '"',
    "`",
    "\\",
    "\n",
    "') DETACH DELETE n //",
    "`}) MATCH (n)",
    "\x00",
    "\u2028",
    "\ud83d",
    "🍎",
    "é",
    "e\u0301",
]

GOLDEN = {
    (): "3cde464048e93062f07701f6a1204626",
    ("at fridge 1",): "f34e3dff12c3b8cfaf7e63efd6619f86",
    ("apple 1 is hot", "at fridge 1", "fridge 1 is open", "holding apple 1"): "405ef0feac7c7533e9959cf2d029b6d1",
    ("goal reached", 'said "x"', "naïve 🍎"): "660d31b1663554f8e30b5cdd2fc7fda7",
}


@pytest.mark.parametrize(("facts", "key"), GOLDEN.items())
def test_golden_state_keys(facts: tuple[str, ...], key: str) -> None:
    assert state_key("alfworld", "pick_heat_then_place_in_recep-Apple-None-Fridge-1/trial_T1", facts) == key


def test_golden_transition_key_and_version() -> None:
    assert transition_key("0" * 32, "go to fridge 1", "f" * 32) == "6572bfbdbcf76d9f2e2be46f68e2bf6e"
    assert KEY_VERSION == 1


@settings(deadline=None)
@given(facts=FACTS, data=st.data())
def test_order_and_repetition_of_facts_do_not_matter(facts: list[str], data: st.DataObject) -> None:
    shuffled = data.draw(st.permutations(facts + facts[:2]))
    assert state_key("e", "t", facts) == state_key("e", "t", shuffled) == state_key("e", "t", set(facts))


@settings(deadline=None)
@given(one=FACTS, other=FACTS)
def test_different_facts_have_different_keys(one: list[str], other: list[str]) -> None:
    assert (state_key("e", "t", one) == state_key("e", "t", other)) == (set(one) == set(other))


@settings(deadline=None)
@given(parts=st.lists(st.text(max_size=5), min_size=6, max_size=6))
def test_parts_do_not_run_into_each_other(parts: list[str]) -> None:
    one, other = tuple(parts[:3]), tuple(parts[3:])
    assert (transition_key(*one) == transition_key(*other)) == (one == other)
    assert digest("ab", "c") != digest("a", "bc")
    assert state_key("e", "t", ["a", "b"]) != state_key("e", "t", ['a","b'])
    assert state_key("e", "t", []) != state_key("e", "t", [""])


@settings(deadline=None)
@given(facts=st.lists(st.sampled_from(NASTY), max_size=4, unique=True))
def test_any_text_has_a_key(facts: list[str]) -> None:
    key = state_key("e", "t", facts)
    assert len(key) == 32
    assert int(key, 16) >= 0
    assert key == state_key("e", "t", facts[::-1])


def test_environment_and_task_are_part_of_the_key() -> None:
    keys = {state_key(env, task, ["a"]) for env in ("e", "f") for task in ("t", "u")}
    assert len(keys) == 4


def test_a_process_with_another_hash_seed_gives_the_same_keys() -> None:
    program = "from proas.keys import state_key; print(state_key('e', 't', {'b', 'a', 'c', 'ä'}))"
    keys = {
        subprocess.run(
            [sys.executable, "-c", program], env={"PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True
        ).stdout.strip()
        for seed in ("1", "2")
    }
    assert keys == {state_key("e", "t", ["ä", "c", "b", "a"])}
