"""The hidden state and the text give one state; the simulator's sub-goals are the milestones."""

from __future__ import annotations

import random

import pytest

from proas.envs.collect import play
from proas.envs.scienceworld import ScienceWorldGoal, ScienceWorldWorld
from proas.errors import EnvironmentFailure, StateError
from proas.rollouts import State
from proas.states import attach_states, ladder_for, observer_for
from proas.states.observer import Observed
from proas.states.scienceworld import TIME_PASSES, SimulatorFollower, TextObserver, task_ladder
from proas.states.scienceworld.told import plain_name, spoken_words, told_by

QUICK = (
    "find-plant/0", "grow-plant/0", "identify-life-stages-2/0", "lifespan-longest-lived-then-shortest-lived/1",
    "power-component/0", "test-conductivity/0", "use-thermometer/0",
)  # fmt: skip
LONGER = (
    "freeze/1", "chemistry-mix-paint-tertiary-color/0", "inclined-plane-determine-angle/0",
    "measure-melting-point-known-substance/0", "boil/2",
)  # fmt: skip
"""With these, one task of each kind."""


def _follow(
    world: ScienceWorldWorld, key: str, policy: str, seed: int = 0
) -> tuple[list[tuple[State, Observed]], list[int]]:
    """Play an episode; both sources' answers, and the simulator's count of milestones before and after each step."""
    env, player = world.environment(step_limit=200), world.policy(policy, random.Random(seed))
    observation, _info = env.reset(key)
    follower, reader = SimulatorFollower(), TextObserver(key, env.goal_text)
    assert follower.begin(env, observation) == reader.begin(observation)
    seen: list[tuple[Observed, Observed]] = []
    reached = [0]
    while True:
        try:
            action = player.act(env)
        except EnvironmentFailure:
            break
        result = env.step(action)
        info = result.info
        seen.append(
            (
                follower.observe(env, action, result.observation, valid=info.valid, won=info.won),
                reader.observe(action, result.observation, won=info.won),
            )
        )
        reached.append(sum(done for _told, done in info.facts.milestones))
        if result.done:
            break
    return seen, reached  # type: ignore[return-value]


@pytest.mark.parametrize("key", [*QUICK, *(pytest.param(key, marks=pytest.mark.slow) for key in LONGER)])
def test_hidden_state_and_text_agree_along_planned_solutions(world: ScienceWorldWorld, key: str) -> None:
    seen, reached = _follow(world, key, "expert")
    assert [ours for ours, _theirs in seen] == [theirs for _ours, theirs in seen]
    ladder = ladder_for("scienceworld", key, "")
    indices = [0, *(ladder.index(ours.state.facts) for ours, _theirs in seen)]  # type: ignore[union-attr]
    assert indices == sorted(indices)
    assert indices[-1] == ladder.last
    assert all(index <= count for index, count in zip(indices, reached, strict=True)) or ladder.last <= reached[-1]


@pytest.mark.parametrize(
    ("key", "policy"),
    [
        ("find-animal/2", "noisy"),
        ("test-conductivity/2", "noisy"),
        ("melt/2", "random"),
        ("chemistry-mix/1", "random"),
    ],
)
def test_hidden_state_and_text_agree_when_agents_err(world: ScienceWorldWorld, key: str, policy: str) -> None:
    seen, _reached = _follow(world, key, policy)
    assert [ours for ours, _theirs in seen] == [theirs for _ours, theirs in seen]


def test_rollouts_without_states_get_the_same_from_text(world: ScienceWorldWorld) -> None:
    env = world.environment()
    key = "use-thermometer/1"
    with_states = play(env, world.policy("expert", random.Random(0)), key, 0, SimulatorFollower())
    bare = play(env, world.policy("expert", random.Random(0)), key)
    assert bare.goal.startswith("Your task is to measure")
    read = attach_states(bare.model_copy(update={"goal": ""}))
    assert read.goal == bare.goal
    assert read.state_keys == with_states.state_keys
    assert read.transition_keys == with_states.transition_keys


HALL = (
    "Task description:\nYour task is to boil water.\n\nThis room is called the hallway. In it, you see: \n\tthe agent"
)


def _read(*told: tuple[str, str]) -> list[Observed]:
    observer = observer_for("scienceworld", "boil/0")
    observer.begin(HALL)
    return [observer.observe(action, answer) for action, answer in told]


def test_a_door_left_behind_is_forgotten() -> None:
    opened, gone, back = _read(
        ("open door to kitchen", "The door is now open."),
        ("go to kitchen", "You move to the kitchen."),
        ("walk through door to hallway", "You move to the hallway."),
    )
    assert opened.state.facts == ("door to kitchen is open", "in hallway")
    assert gone.state.facts == ("in kitchen",)
    assert back.state.facts == ("in hallway",)
    assert back.canonical == "go to hallway"


def test_what_the_task_does_not_need_does_not_count() -> None:
    apple, pot, refused = _read(
        ("pick up apple", "You move the apple to the inventory."),
        ("pick up metal pot", "You move the metal pot to the inventory."),
        ("eat pot", "The metal pot is not edible."),
    )
    assert apple.state.facts == ("in hallway",)
    assert pot.state.facts == refused.state.facts == ("holding metal pot", "in hallway")
    assert (apple.valid, refused.valid) == (True, False)


def test_order_does_not_matter() -> None:
    pot = ("pick up metal pot", "You move the metal pot to the inventory.")
    gauge = ("pick up thermometer", "You move the thermometer to the inventory.")
    assert _read(pot, gauge)[-1].state.key == _read(gauge, pot)[-1].state.key


def test_time_counts_only_while_something_goes_on() -> None:
    idle, _put, hot, first, second, third = _read(
        ("wait1", "You decide to wait for 1 iterations."),
        ("move metal pot to stove", "You move the metal pot to the stove."),
        ("activate stove", "The stove is now activated."),
        ("wait1", "You decide to wait for 1 iterations."),
        ("examine stove", "a stove, which is turned on. On the stove is: a metal pot."),
        ("look around", "This room is called the hallway. In it, you see: nothing"),
    )
    assert idle.canonical == "wait1"
    assert "waited 1" not in idle.state.facts
    assert (first.canonical, second.canonical) == (TIME_PASSES, TIME_PASSES)
    assert set(second.state.facts) - set(hot.state.facts) == {"waited 2"}
    assert third.state == second.state


def test_a_room_seen_through_a_door_is_not_where_the_agent_is() -> None:
    (seen,) = _read(("look at bathroom", "This room is called the bathroom. In it, you see: a bathtub"))
    assert seen.state.facts == ("in hallway",)


@pytest.mark.parametrize("words", ["", "???", "\x00", "a" * 5000, "go to", "Action:", "<action></action>"])
def test_words_that_make_no_sense(words: str) -> None:
    (seen,) = _read((words, "No known action matches that input."))
    assert not seen.valid
    assert seen.state.facts == ("in hallway",)


def test_a_step_needs_a_beginning() -> None:
    with pytest.raises(StateError, match="begin"):
        observer_for("scienceworld", "boil/0").observe("look around", "")


def test_names_and_commands() -> None:
    assert plain_name("a substance called liquid chocolate") == "chocolate"
    assert plain_name("Ice") == plain_name("steam") == plain_name("water")
    assert spoken_words("Thought: hot.\nAction: Go To  kitchen") == "go to kitchen"
    assert spoken_words("<think>x</think><action>look around</action>") == "look around"
    told = told_by(
        "move block to inclined plane c", "(disconnecting wood block)You move the wood block to the inclined plane."
    )
    assert (told.kind, told.thing, told.place, told.where) == (
        "put",
        "wood block",
        "inclined plane",
        "inclined plane c",
    )
    assert told.loosened == ("wood block",)
    assert told_by("move x to y", "You move the red apple to the inventory.").canonical == "pick up red apple"


def test_unknown_tasks_have_two_classes_and_every_fact() -> None:
    assert ladder_for("scienceworld", "no key", "do it").last == 1
    observer = observer_for("scienceworld", "no key")
    observer.begin(HALL)
    seen = observer.observe("pick up apple", "You move the apple to the inventory.")
    assert seen.state.facts == ("holding apple", "in hallway")


def test_the_simulators_own_sub_goals_are_the_milestones(world: ScienceWorldWorld) -> None:
    """Every ladder has at most as many rungs as the simulator has sequential sub-goals, and those left out are told."""
    lacking = {}
    session = world._simulator.session()
    for name in world.counts:
        goal = ScienceWorldGoal(name, 0)
        session.load(goal)
        sequential = session.progress().partition("Unordered")[0].count("\tfalse\t")
        ladder = task_ladder(goal, session.task())
        assert ladder.last <= sequential
        if ladder.last < sequential:
            lacking[name] = sequential - ladder.last
    # Which state of matter it is when the agent first focuses on it; and which source of power it was.
    assert lacking == {"change-the-state-of-matter-of": 1, "power-component-renewable-vs-nonrenewable-energy": 1}
