"""The text observer: what a state is, step by step."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proas.errors import StateError
from proas.rollouts import State
from proas.states import Observed, observer_for
from proas.states.alfworld import TextObserver

TASK = "some task"
ROOM = (
    "-= Welcome to TextWorld, ALFRED! =-\n\n"
    "You are in the middle of a room. Looking quickly around you, you see a {}.\n\n"
)


def facts(*given_facts: str) -> tuple[str, ...]:
    return State.of("alfworld", TASK, given_facts).facts


class Walk:
    """A rollout told in short: each call is one step, and answers what came of it."""

    def __init__(self, goal: str) -> None:
        self.observer = TextObserver(TASK)
        self.start = self.observer.begin(f"{ROOM.format('desk 1')}Your task is to: {goal}")

    def __call__(self, action: str, answer: str, *, valid: bool | None = None, won: bool = False) -> Observed:
        return self.observer.observe(action, answer, valid=valid, won=won)

    def go(self, place: str, sight: str = "") -> Observed:
        return self(f"go to {place}", f"You arrive at {place}. {sight or f'On the {place}, you see nothing.'}")

    def take(self, thing: str, place: str) -> Observed:
        return self(f"take {thing} from {place}", f"You pick up the {thing} from the {place}.")

    def put(self, thing: str, place: str, *, won: bool = False) -> Observed:
        return self(f"move {thing} to {place}", f"You move the {thing} to the {place}.", won=won)


def test_the_start_is_the_middle_of_the_room_with_nothing_held() -> None:
    walk = Walk("put a apple in fridge.")
    assert walk.start == State.of("alfworld", TASK, ())


def test_where_the_agent_attends_and_whether_it_is_open() -> None:
    walk = Walk("put a apple in fridge.")
    assert walk.go("fridge 1", "The fridge 1 is closed.").state.facts == facts("at fridge 1")
    opened = walk("open fridge 1", "You open the fridge 1. The fridge 1 is open. In it, you see a egg 1.")
    assert opened.state.facts == facts("at fridge 1", "fridge 1 is open")
    assert walk("close fridge 1", "You close the fridge 1.").state.facts == facts("at fridge 1")
    assert walk.go("desk 1").state.facts == facts("at desk 1")


def test_a_drawer_left_open_does_not_split_states() -> None:
    walk = Walk("put a apple in fridge.")
    before = walk.go("desk 1").state
    walk.go("drawer 1", "The drawer 1 is closed.")
    walk("open drawer 1", "You open the drawer 1. The drawer 1 is open. In it, you see nothing.")
    assert walk.go("desk 1").state == before
    back = walk.go("drawer 1", "The drawer 1 is open. In it, you see nothing.")
    assert back.state.facts == facts("at drawer 1", "drawer 1 is open")


def test_attention_moves_among_receptacles_on_one_spot() -> None:
    walk = Walk("put a pan in cabinet.")
    walk.go("drawer 1", "The drawer 1 is closed.")
    walk("open drawer 1", "You open the drawer 1. The drawer 1 is open. In it, you see nothing.")
    other = walk("open drawer 2", "You open the drawer 2. The drawer 2 is open. In it, you see a pan 1.")
    assert other.state.facts == facts("at drawer 2", "drawer 2 is open")
    assert walk.take("pen 1", "shelf 1").state.facts == facts("at shelf 1", "holding pen 1")
    assert walk.put("pen 1", "shelf 2").state.facts == facts("at shelf 2")
    for action, answer in (
        ("examine drawer 2", "The drawer 2 is open. In it, you see a pan 1."),
        ("look", "You are facing the drawer 1, and shelf 2. Next to it, you see nothing."),
        ("clean pen 1 with sinkbasin 1", "You clean the pen 1 using the sinkbasin 1."),
        ("use desklamp 1", "You turn on the desklamp 1."),
    ):
        assert walk(action, answer).state.facts == facts("at shelf 2")


@pytest.mark.parametrize("thing", ["apple 1", "pen 1"])
def test_taking_and_putting_back_returns_to_the_same_state(thing: str) -> None:
    walk = Walk("put a apple in fridge.")
    before = walk.go("desk 1", f"On the desk 1, you see a {thing}.").state
    held = walk.take(thing, "desk 1").state
    assert held.facts == facts("at desk 1", f"holding {thing}")
    assert walk.put(thing, "desk 1").state == before
    assert walk.take(thing, "desk 1").state == held


def test_only_goal_objects_laid_elsewhere_are_facts() -> None:
    walk = Walk("put a apple in fridge.")
    walk.take("pen 1", "desk 1")
    assert walk.put("pen 1", "bed 1").state.facts == facts("at bed 1")
    walk.take("apple 1", "desk 1")
    assert walk.put("apple 1", "bed 1").state.facts == facts("apple 1 in bed 1", "at bed 1")
    assert walk.take("apple 1", "bed 1").state.facts == facts("at bed 1", "holding apple 1")
    assert walk.put("apple 1", "desk 1").state.facts == facts("at desk 1")  # where it first lay


def test_treatments_of_goal_objects() -> None:
    walk = Walk("put a hot apple in fridge.")
    walk.take("apple 1", "desk 1")
    hot = walk("heat apple 1 with microwave 1", "You heat the apple 1 using the microwave 1.")
    assert hot.state.facts == facts("apple 1 is hot", "at desk 1", "holding apple 1")
    cool = walk("cool apple 1 with fridge 1", "You cool the apple 1 using the fridge 1.")
    assert cool.state.facts == facts("apple 1 is cool", "at desk 1", "holding apple 1")
    clean = walk("clean apple 1 with sinkbasin 1", "You clean the apple 1 using the sinkbasin 1.")
    assert "apple 1 is clean" in clean.state.facts
    sliced = walk("slice apple 1 with knife 1", "You sliced the apple 1 with the knife 1.")
    assert "apple 1 is sliced" in sliced.state.facts
    assert walk("heat egg 1 with microwave 1", "You heat the egg 1 using the microwave 1.").state == sliced.state


def test_lamps_of_the_goal() -> None:
    walk = Walk("look at bowl under the desklamp.")
    assert walk("use desklamp 1", "You turn on the desklamp 1.").state.facts == facts("desklamp 1 is on")
    assert walk("use floorlamp 1", "You turn on the floorlamp 1.").state.facts == facts("desklamp 1 is on")
    assert walk("use desklamp 1", "You turn off the desklamp 1.").state.facts == facts()


def test_the_goal_is_reached_when_the_environment_says_so() -> None:
    walk = Walk("put a apple in fridge.")
    walk.take("apple 1", "desk 1")
    won = walk.put("apple 1", "fridge 1", won=True)
    assert won.state.facts == facts("apple 1 in fridge 1", "at fridge 1", "goal reached")
    assert walk("go to moon", "Nothing happens.", won=True).state == won.state


@pytest.mark.parametrize(
    ("action", "answer", "valid"),
    [
        ("go to bed 1", "Nothing happens.", None),
        ("go to bed 1", "Nothing happens.", True),
        ("go to bed 1", "You arrive at bed 1. On the bed 1, you see nothing.", False),
        ("go to bed 1", "Invalid action.", None),
        ("fly", "", None),
        ("", "", None),
        ("'; DROP ` }) DETACH DELETE n //", "Nothing happens.", None),
        ("go to bed 1" * 1000, "Nothing happens.", None),
    ],
)
def test_an_invalid_step_leaves_the_state(action: str, answer: str, valid: bool | None) -> None:
    walk = Walk("put a apple in fridge.")
    before = walk.go("desk 1").state
    seen = walk(action, answer, valid=valid)
    assert (seen.state, seen.valid, seen.seeks) == (before, False, False)


@pytest.mark.parametrize("action", ["think: I should go to bed 1.", "Think: hm", "> think: hm", "hm"])
def test_a_thought_is_valid_and_changes_nothing(action: str) -> None:
    walk = Walk("put a apple in fridge.")
    before = walk.go("desk 1").state
    assert walk(action, "OK.") == Observed(before, "think", valid=True, seeks=False)


def test_a_thought_that_the_game_refuses_is_invalid() -> None:
    walk = Walk("put a apple in fridge.")
    assert not walk("think: hm", "Nothing happens.").valid
    assert walk("think: hm", "").valid


def test_what_the_environment_carried_out_is_the_canonical_action() -> None:
    walk = Walk("put a apple in fridge.")
    said = "think: open safe 7 first.\n> go to desk 1"
    assert walk(said, "You arrive at loc 5. On the desk 1, you see a apple 1.").canonical == "go to desk 1"
    assert walk("Examine Desk 1!", "On the desk 1, you see a apple 1.").canonical == "examine desk 1"
    assert walk("???", "On the bed 1, you see nothing.").canonical == "go to bed 1"
    assert walk("???", "On the bed 1, you see nothing.").canonical == "examine bed 1"
    assert walk("PUT apple 1 on bed 1", "Nothing happens.").canonical == "move apple 1 to bed 1"


def test_an_arrival_without_a_sight_is_where_the_agent_meant_to_go() -> None:
    walk = Walk("put a apple in fridge.")
    assert walk("go to desk 1", "You arrive at loc 5.").state.facts == facts("at desk 1")
    assert not walk("???", "You arrive at loc 5.").valid


def test_an_environment_may_vouch_for_a_step_that_it_words_in_its_own_way() -> None:
    walk = Walk("put a apple in fridge.")
    assert walk("go to desk 1", "Done!", valid=True).state.facts == facts("at desk 1")
    assert walk("take apple 1 from desk 1", "").state.facts == facts("at desk 1", "holding apple 1")
    dance = walk("dance", "You dance.", valid=True)
    assert (dance.valid, dance.canonical, dance.state.facts) == (True, "dance", facts("at desk 1", "holding apple 1"))
    won = walk("put apple 1 in fridge 1", "You win!", won=True)
    assert won.state.facts == facts("apple 1 in fridge 1", "at fridge 1", "goal reached")


def test_seeking_is_looking_somewhere_new_while_something_is_unseen() -> None:
    walk = Walk("put two cup in fridge.")
    assert walk.go("desk 1", "On the desk 1, you see a cup 1.").seeks
    assert not walk("examine desk 1", "On the desk 1, you see a cup 1.").seeks
    assert walk.go("drawer 1", "The drawer 1 is closed.").seeks
    inside = "The drawer 1 is open. In it, you see a cup 1."
    assert walk("open drawer 1", f"You open the drawer 1. {inside}").seeks
    assert not walk("close drawer 1", "You close the drawer 1.").seeks
    assert not walk("open drawer 1", f"You open the drawer 1. {inside}").seeks
    assert walk("examine drawer 2", "On the drawer 2, you see nothing.").seeks
    assert not walk("look", "You are facing the drawer 1. Next to it, you see nothing.").seeks
    assert not walk("go to shelf 1", "Nothing happens.").seeks
    assert walk.go("shelf 1", "On the shelf 1, you see a cup 2.").seeks  # the step that shows the second
    assert not walk.go("shelf 2").seeks


def test_what_is_needed_depends_on_the_goal() -> None:
    lamp = Walk("look at bowl under the desklamp.")
    lamp.go("desk 1", "On the desk 1, you see a bowl 1.")
    assert lamp.go("desk 2", "On the desk 2, you see a desklamp 1.").seeks
    assert not lamp.go("desk 3").seeks
    knife = Walk("put sliced apple in fridge.")
    knife.go("desk 1", "On the desk 1, you see a apple 1.")
    assert knife.go("desk 2", "On the desk 2, you see a butterknife 1.").seeks
    assert not knife.go("desk 3").seeks
    pick = Walk("put a apple in fridge.")
    pick.take("apple 2", "desk 1")
    assert not pick.go("desk 3").seeks


def test_both_wordings_give_the_same_states() -> None:
    old, new = Walk("put a apple in fridge."), Walk("put a apple in fridge.")
    sight = "On the desk 1, you see a apple 1."
    pairs = [
        (("go to desk 1", f"You arrive at loc 5. {sight}"), ("go to desk 1", f"You arrive at desk 1. {sight}")),
        (("take apple 1 from desk 1", "You pick up the apple 1 from the desk 1."),) * 2,
        (
            ("put apple 1 in/on bed 1", "You put the apple 1 in/on the bed 1."),
            ("move apple 1 to bed 1", "You move the apple 1 to the bed 1."),
        ),
    ]
    for (words, answer), (other_words, other_answer) in pairs:
        assert old(words, answer) == new(other_words, other_answer)


def test_the_goal_comes_from_the_key_the_text_or_the_first_observation() -> None:
    key = "look_at_obj_in_light-Bowl-None-DeskLamp-301/trial_T20190909_150930_414414"
    for task, text, first in (
        (key, "", ""),
        (key, "Light up my bowl please", ""),
        ("t", "look at bowl under the desklamp.", ""),
        ("t", "Your task is to: look at bowl under the desklamp.", ""),
        ("t", "do it", "Your task is to: examine the bowl with the desklamp."),
    ):
        observer = observer_for("alfworld", task, text)
        observer.begin(first)
        lit = observer.observe("use desklamp 1", "You turn on the desklamp 1.")
        assert lit.state.facts == ("desklamp 1 is on",)
        assert lit.state == State.of("alfworld", task, ["desklamp 1 is on"])


def test_without_a_goal_there_is_no_state() -> None:
    observer = observer_for("alfworld", "t", "make me happy")
    with pytest.raises(StateError, match="not one of ALFWorld's"):
        observer.begin("You are in a room.")
    with pytest.raises(StateError, match="begin"):
        observer.observe("look", "")


def test_an_unknown_environment_says_what_to_do() -> None:
    with pytest.raises(StateError, match=r"environment 'chess' .*known: alfworld"):
        observer_for("chess", "t")


def test_beginning_again_forgets_the_last_rollout() -> None:
    walk = Walk("put a apple in fridge.")
    first = walk.go("desk 1")
    walk.take("apple 1", "desk 1")
    assert walk.observer.begin("Your task is to: put a apple in fridge.") == walk.start
    assert walk.go("desk 1") == first


@settings(deadline=None, max_examples=60)
@given(steps=st.lists(st.tuples(st.text(max_size=40), st.text(max_size=40), st.none() | st.booleans()), max_size=6))
def test_garbage_never_raises_and_never_moves(steps: list[tuple[str, str, bool | None]]) -> None:
    walk = Walk("put a apple in fridge.")
    for action, answer, valid in steps:
        seen = walk(action, answer, valid=valid)
        assert seen.state == walk.start
        assert not seen.seeks
