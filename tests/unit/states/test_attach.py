"""States for whole rollouts and batches."""

from __future__ import annotations

import doctest
from pathlib import Path
from typing import Any

import pytest

from proas.errors import StateError
from proas.rollouts import Reject, Rollout, RolloutBatch, State, Step
from proas.states import attach_all, attach_states, ladder_for

INTRO = "You are in the middle of a room. Looking quickly around you, you see a desk 1.\nYour task is to: "
GO = Step(action="go to desk 1", observation="You arrive at desk 1. On the desk 1, you see a apple 1.")
TAKE = Step(action="take apple 1 from desk 1", observation="You pick up the apple 1 from the desk 1.")
PUT = Step(action="move apple 1 to bed 1", observation="You move the apple 1 to the bed 1.")
LOOK = Step(action="look", observation="You are facing the bed 1. Next to it, you see nothing.")
NO = Step(action="eat apple 1", observation="Nothing happens.")
TALK = Step(action="think: done!", observation="OK.")


def rollout(*steps: Step, id: str = "r", success: bool = False, **fields: Any) -> Rollout:  # noqa: A002
    known = {"env": "alfworld", "task": "t", "observation": f"{INTRO}put a apple in bed.", **fields}
    return Rollout(id=id, success=success, steps=steps, **known)


def facts(attached: Rollout) -> list[tuple[str, ...]]:
    assert attached.start is not None
    return [attached.start.facts, *(step.state.facts for step in attached.steps if step.state is not None)]


def test_everything_a_stage_of_states_fills_in() -> None:
    before = rollout(GO, NO, TAKE, reward=1.5)
    attached = attach_states(before)
    assert facts(attached) == [(), ("at desk 1",), ("at desk 1",), ("at desk 1", "holding apple 1")]
    assert [s.canonical for s in attached.steps] == ["go to desk 1", "eat apple 1", "take apple 1 from desk 1"]
    assert [s.valid for s in attached.steps] == [True, False, True]
    assert [s.seeks for s in attached.steps] == [True, False, False]
    assert attached.has_states
    assert before.start is None
    cleared = [
        s.model_copy(update={"canonical": None, "state": None, "valid": None, "seeks": False}) for s in attached.steps
    ]
    assert attached.model_copy(update={"start": None, "goal": "", "steps": tuple(cleared)}) == before
    assert Rollout.model_validate_json(attached.model_dump_json()) == attached


def test_the_goal_is_filled_in_where_it_is_empty() -> None:
    assert attach_states(rollout(GO)).goal == "put a apple in bed."
    assert attach_states(rollout(GO, goal="put some apple on bed.")).goal == "put some apple on bed."
    key = "pick_and_place_simple-Apple-None-Bed-301/trial_T20190909_150930_414414"
    assert attach_states(rollout(task=key, observation="You wake up.")).goal == ""


def test_what_the_environment_said_of_validity_stays() -> None:
    steps = (GO.model_copy(update={"valid": False}), TAKE, NO.model_copy(update={"valid": True}))
    attached = attach_states(rollout(*steps))
    assert [s.valid for s in attached.steps] == [False, True, True]
    assert attached.steps[0].state == attached.start


def test_an_empty_rollout_gets_its_start() -> None:
    for success in (False, True):
        attached = attach_states(rollout(success=success))
        assert attached.has_states
        assert facts(attached) == [()]


@pytest.mark.parametrize("after", [(), (TALK,), (NO,), (LOOK, TALK, NO)])
def test_the_goal_is_reached_by_the_step_that_won(after: tuple[Step, ...]) -> None:
    attached = attach_states(rollout(GO, TAKE, PUT, *after, success=True))
    won = ("apple 1 in bed 1", "at bed 1", "goal reached")
    assert facts(attached)[:3] == [(), ("at desk 1",), ("at desk 1", "holding apple 1")]
    assert facts(attached)[3:] == [won] * (1 + len(after))


def test_a_win_without_any_change_is_the_last_valid_step() -> None:
    assert facts(attach_states(rollout(TALK, TALK, NO, success=True)))[1:] == [(), ("goal reached",), ("goal reached",)]
    assert facts(attach_states(rollout(NO, NO, success=True))) == [(), (), ()]


def test_a_win_in_words_of_the_trainer_counts() -> None:
    last = Step(action="put apple 1 in bed 1", observation="Congratulations!")
    assert facts(attach_states(rollout(GO, TAKE, last, success=True)))[-1][-1] == "goal reached"
    lost = attach_states(rollout(GO, TAKE, last))
    assert (lost.steps[-1].valid, lost.steps[-1].state) == (False, lost.steps[1].state)


def test_a_failed_rollout_never_reaches_the_goal() -> None:
    for ended in ("step_limit", "stopped", "error"):
        attached = attach_states(rollout(GO, TAKE, PUT, ended=ended))
        assert all("goal reached" not in f for f in facts(attached))


def test_states_that_are_there_are_left_alone() -> None:
    attached = attach_states(rollout(GO, TAKE))
    assert attach_states(attached) is attached
    chess = Rollout(
        id="r", env="chess", task="t", success=True, start=State.of("chess", "t", ["e2"]),
        steps=(Step(action="e4", canonical="e4", state=State.of("chess", "t", ["e4"])),),
    )  # fmt: skip
    assert attach_states(chess) is chess


def test_states_that_are_there_are_checked() -> None:
    attached = attach_states(rollout(GO, TAKE))
    wrong = attached.steps[1].model_copy(update={"state": State.of("alfworld", "another", ["x"])})
    with pytest.raises(StateError, match=r"rollout 'r', step 1: the state's key"):
        attach_states(attached.model_copy(update={"steps": (attached.steps[0], wrong)}))


def test_states_that_only_some_steps_carry_must_agree_with_the_text() -> None:
    attached = attach_states(rollout(GO, TAKE))
    some = attached.model_copy(update={"steps": (attached.steps[0], TAKE)})
    assert attach_states(some) == attached
    moved = GO.model_copy(update={"state": State.of("alfworld", "t", ["at bed 1"])})
    with pytest.raises(StateError, match=r"rollout 'r', step 0: the given state \['at bed 1'\] .* \['at desk 1'\]"):
        attach_states(rollout(moved, TAKE))
    with pytest.raises(StateError, match=r"rollout 'r', start: "):
        attach_states(rollout(GO, start=State.of("alfworld", "t", ["at bed 1"])))


def test_failures_name_the_rollout() -> None:
    with pytest.raises(StateError, match=r"rollout 'r': task 't': the goal is not one of ALFWorld's"):
        attach_states(rollout(GO, observation="Hello."))
    with pytest.raises(StateError, match=r"rollout 'r': no states are known for environment 'chess'"):
        attach_states(rollout(GO, env="chess"))


def test_a_batch_sets_failures_aside_and_keeps_earlier_ones() -> None:
    good, bad = rollout(GO, id="good"), rollout(GO, id="bad", observation="Hello.")
    batch = attach_all(RolloutBatch((good, bad, good.model_copy(update={"id": "good 2"})), (Reject("early", line=3),)))
    assert [r.id for r in batch] == ["good", "good 2"]
    assert all(r.has_states for r in batch)
    assert [(r.id, r.line) for r in batch.rejects] == [("", 3), ("bad", 0)]
    assert "goal is not one of ALFWorld's" in batch.rejects[1].reason
    assert attach_all(batch) == batch


@pytest.mark.parametrize(
    "action", ["'; MATCH (n) DETACH DELETE n //", "`x`", '"', "\\", "go to `desk 1`", "{}", "$x", "\u2028"]
)
def test_actions_with_quotes_back_ticks_and_cypher_survive(action: str) -> None:
    attached = attach_states(rollout(GO, Step(action=action, observation="Nothing happens.")))
    again = Rollout.model_validate_json(attached.model_dump_json())
    assert again == attached
    assert again.steps[1].action == action
    assert len(again.transition_keys) == 2


def test_the_same_walk_in_other_words_has_the_same_keys() -> None:
    plain = attach_states(rollout(GO, TAKE, PUT, success=True))
    dressed = attach_states(
        rollout(
            GO.model_copy(update={"action": "<think>hm</think><action>Go to desk 1</action>"}),
            TAKE.model_copy(update={"action": "think: there.\n> take apple 1 from desk 1"}),
            Step(action="Act 3: put apple 1 in/on bed 1.", observation="You put the apple 1 in/on the bed 1."),
            success=True,
        )
    )
    assert dressed.transition_keys == plain.transition_keys


def test_ladders_for_tasks_that_no_graph_knows() -> None:
    assert [s.description for s in ladder_for("alfworld", "t", "put a hot apple in fridge.").subgoals] == [
        "start: find the apple",
        "take the apple",
        "make the apple hot with the microwave",
        "put the apple in/on the fridge",
    ]
    assert ladder_for("alfworld", "t", "make me happy").last == 1
    assert ladder_for("chess", "t", "mate").subgoals[1].description == "mate"


def test_the_examples_in_the_documentation_hold() -> None:
    page = Path(__file__).resolve().parents[3] / "docs" / "states.md"
    outcome = doctest.testfile(str(page), module_relative=False)
    assert outcome.attempted > 5
    assert outcome.failed == 0
