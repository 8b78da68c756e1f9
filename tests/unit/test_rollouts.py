"""The record that all parts pass along: what it refuses, keeps and derives."""

from __future__ import annotations

import copy
import json
import pickle
from typing import Any

import pytest
from pydantic import ValidationError

from proas.keys import state_key, transition_key
from proas.rollouts import Label, Reject, Rollout, RolloutBatch, State, Step


def state(*facts: str) -> State:
    return State.of("e", "t", facts)


def rollout(id: str = "r", **fields: Any) -> Rollout:  # noqa: A002 (the field's own name)
    return Rollout(**{"id": id, "env": "e", "task": "t", "success": False, **fields})


WALK = rollout(
    start=state(),
    steps=(
        Step(action="Go to A", canonical="go to a", state=state("at a"), valid=True),
        Step(action="hop", canonical="hop", state=state("at a"), valid=False),
    ),
)


def test_a_state_sorts_and_joins_its_facts() -> None:
    assert state("b", "a", "b") == state("a", "b")
    assert state("b", "a").facts == ("a", "b")
    assert state("a").key == state_key("e", "t", ["a"])


def test_keys_of_a_walk() -> None:
    keys = (state().key, state("at a").key, state("at a").key)
    assert WALK.state_keys == keys
    assert WALK.transition_keys == (
        transition_key(keys[0], "go to a", keys[1]),
        transition_key(keys[1], "hop", keys[2]),
    )
    assert WALK.has_states


def test_an_empty_rollout_is_legal() -> None:
    empty = rollout(start=state())
    assert empty.has_states
    assert (empty.state_keys, empty.transition_keys) == ((state().key,), ())
    assert not rollout().has_states


@pytest.mark.parametrize("missing", ["start", "state"])
def test_keys_need_states(missing: str) -> None:
    bare = (
        WALK.model_copy(update={"start": None})
        if missing == "start"
        else WALK.model_copy(update={"steps": (WALK.steps[0], WALK.steps[1].model_copy(update={"state": None}))})
    )
    assert not bare.has_states
    with pytest.raises(ValueError, match="'r' carries no states yet"):
        _ = bare.transition_keys


def test_a_copy_with_other_states_has_their_keys() -> None:
    walk = rollout(start=state(), steps=(Step(action="a", canonical="a", state=state("x")),))
    before = walk.transition_keys
    moved = walk.model_copy(update={"start": state("y")})
    assert moved.state_keys == (state("y").key, state("x").key)
    assert moved.transition_keys == (transition_key(state("y").key, "a", state("x").key),)
    assert walk.transition_keys == before


def test_states_of_another_task_are_refused() -> None:
    foreign = State.of("e", "another", ["at a"])
    with pytest.raises(ValidationError, match=r"steps\.0\.state\.key is not the key of its facts"):
        rollout(start=state(), steps=(Step(action="a", state=foreign),))
    with pytest.raises(ValidationError, match=r"start\.key is not the key of its facts"):
        rollout(start=State(key="0" * 32, facts=()))


@pytest.mark.parametrize("key", ["", "0" * 31, "0" * 33, "0" * 32 + "\n", "G" * 32, "A" * 32])
def test_malformed_keys_are_refused(key: str) -> None:
    with pytest.raises(ValidationError, match="key"):
        State(key=key, facts=())


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("id", ""),
        ("id", 7),
        ("task", "x" * 513),
        ("env", None),
        ("success", 1),
        ("success", "true"),
        ("reward", "1.0"),
        ("reward", float("nan")),
        ("reward", float("inf")),
        ("reward", True),
        ("ended", "won"),
        ("schema_version", 2),
        ("steps", ({"action": 3},)),
        ("steps", ({"action": "a", "tokens": -1},)),
        ("steps", ({"action": "a", "label": {"reasonable": True, "progress": True, "drift": -1}},)),
        ("steps", ({},)),
        ("version", 1.5),
    ],
)
def test_wrong_types_and_values_are_refused(field: str, value: object) -> None:
    with pytest.raises(ValidationError, match=field):
        rollout(**{field: value})


def test_unknown_fields_are_kept() -> None:
    given = {
        "id": "r",
        "env": "e",
        "task": "t",
        "success": True,
        "mine": {"a": None},
        "steps": [{"action": "a", "x": 1}],
    }
    back = json.loads(Rollout.model_validate_json(json.dumps(given)).model_dump_json())
    assert back["mine"] == {"a": None}
    assert back["steps"][0]["x"] == 1


def test_records_do_not_change() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        WALK.success = True  # type: ignore[misc]


@pytest.mark.parametrize("derived", [False, True])
def test_records_survive_pickling_and_copying(derived: bool) -> None:
    walk = rollout(start=state(), steps=WALK.steps)
    if derived:
        assert len(walk.transition_keys) == 2
    for other in (pickle.loads(pickle.dumps(walk)), copy.deepcopy(walk), copy.copy(walk)):
        assert other == walk
        assert other.transition_keys == WALK.transition_keys
        assert other.model_dump_json() == WALK.model_dump_json()


def test_actions_with_quotes_and_cypher_are_just_text() -> None:
    action = "'\"`}) DETACH DELETE n // \\ \n\t"
    walk = rollout(start=state(), steps=(Step(action=action, canonical=action, state=state(action)),))
    again = Rollout.model_validate_json(walk.model_dump_json())
    assert again == walk
    assert again.transition_keys == walk.transition_keys


def test_a_batch_keeps_its_order_and_groups() -> None:
    a, b, c = rollout("a", task="t2"), rollout("b", group="g"), rollout("c", task="t2", steps=WALK.steps[:0])
    batch = RolloutBatch((a, b, c), (Reject("bad", line=4),))
    assert [r.id for r in batch] == ["a", "b", "c"]
    assert {k: [r.id for r in v] for k, v in batch.by_task().items()} == {"t2": ["a", "c"], "t": ["b"]}
    assert list(batch.by_group()) == ["t2", "g"]
    assert (len(batch), batch.steps) == (3, 0)
    assert RolloutBatch((WALK,)).steps == 2
    assert pickle.loads(pickle.dumps(batch)) == batch


def test_a_batch_refuses_repeated_ids() -> None:
    with pytest.raises(ValueError, match="'r' occurs twice"):
        RolloutBatch((rollout(), rollout()))


def test_labels_of_a_step() -> None:
    label = Label(reasonable=True, progress=False, drift=3)
    assert Step.model_validate_json(Step(action="a", label=label).model_dump_json()).label == label
