"""Roles in place of names: fine enough for two objects, the same from a graph and from what rollouts are shown."""

from __future__ import annotations

import random

import pytest

from proas.envs.alfworld.env import AlfWorldEnv
from proas.envs.alfworld.generator import generate
from proas.envs.alfworld.goal import KINDS, AlfWorldGoal
from proas.envs.alfworld.policies import ExpertPolicy, NoisyPolicy
from proas.envs.collect import play
from proas.errors import UsageError
from proas.rollouts import Rollout
from proas.states import follower_for
from proas.states.alfworld.lifting import AlfWorldLifting, family_of
from proas.states.lifting import Move, lift_rollouts, lifting_for, require_lifting
from proas.subgoals import GOAL_REACHED

TWO = AlfWorldGoal("two", "candle", "drawer")
HEAT = AlfWorldGoal("heat", "apple", "fridge")


def test_the_two_objects_are_told_apart() -> None:
    lifting = AlfWorldLifting(TWO)
    moves = [
        Move(("at shelf 1",), "take candle 1 from shelf 1", ("at shelf 1", "holding candle 1")),
        Move(("at bed 1",), "take candle 2 from bed 1", ("at bed 1", "holding candle 2")),
    ]
    lifting.learn(moves)
    told = [
        ("at shelf 1",),
        ("at shelf 1", "holding candle 1"),
        ("at drawer 2", "drawer 2 is open", "holding candle 1"),
        ("at drawer 2", "drawer 2 is open", "candle 1 in drawer 2"),
        ("at shelf 1", "candle 1 in drawer 2"),
        ("at bed 1", "candle 1 in drawer 2"),
        ("at drawer 2", "candle 1 in drawer 2", "holding candle 2"),
        ("at drawer 3", "candle 1 in drawer 2", "holding candle 2"),
    ]
    assert [lifting.facts(facts) for facts in told] == [
        ("at a place with an object",),
        ("at another place", "holding an object"),
        ("at a target receptacle", "holding an object", "it is open"),
        ("at the target receptacle in use", "it is open", "one object placed"),
        ("at another place", "one object placed"),  # its object is gone
        ("at a place with an object", "one object placed"),
        ("at the target receptacle in use", "holding an object", "one object placed"),
        ("at another target receptacle", "holding an object", "one object placed"),
    ]
    index = family_of("two", sliced=False).ladder.index
    assert [index(lifting.facts(facts)) for facts in told] == [0, 1, 1, 2, 2, 2, 3, 3]


def test_only_marks_that_the_goal_asks_for_are_kept() -> None:
    lifting = AlfWorldLifting(HEAT)
    facts = ("apple 1 is clean", "apple 1 is hot", "at microwave 1", "holding apple 1")
    assert lifting.facts(facts) == ("at the tool", "holding an object", "the held object is hot")
    assert lifting.facts(("apple 1 is clean", "at fridge 1", "holding apple 1")) == (
        "at a target receptacle",
        "holding an object",
    )


def test_an_object_laid_down_untreated_is_not_placed() -> None:
    lifting = AlfWorldLifting(HEAT)
    assert lifting.facts(("apple 1 in fridge 1", "at fridge 1")) == (
        "at a place with an object",
        "at a target receptacle",
    )
    assert lifting.facts(("apple 1 in fridge 1", "apple 1 is hot", "at fridge 1", GOAL_REACHED)) == (
        "at the target receptacle in use",
        GOAL_REACHED,
        "one object placed",
    )


def test_names_and_kinds_are_gone() -> None:
    lifting = AlfWorldLifting(HEAT)
    lifting.learn([Move(("at bed 1",), "take apple 1 from bed 1", ("at bed 1", "holding apple 1"))])
    told = {
        "go to bed 1": (("at fridge 1",), ("at bed 1",)),
        "take apple 1 from bed 1": (("at bed 1",), ("at bed 1", "holding apple 1")),
        "heat apple 1 with microwave 1": (("at microwave 1", "holding apple 1"), ("apple 1 is hot", "at microwave 1")),
        "move apple 1 to fridge 1": (("at fridge 1", "holding apple 1"), ("apple 1 in fridge 1", "at fridge 1")),
        "open fridge 1": (("at fridge 1",), ("at fridge 1", "fridge 1 is open")),
        "think": ((), ()),
        "dance with bed 1": ((), ()),
    }
    said = [lifting.action(Move(before, action, after)) for action, (before, after) in told.items()]
    assert said == [
        "go to a place with an object",
        "take an object",
        "heat an object",
        "put an object down",
        "open a target receptacle",
        "think",
        "say something else",
    ]


@pytest.fixture(scope="module")
def rollouts() -> list[Rollout]:
    """Three walks of a noisy expert in each of fourteen games of all kinds, sliced goals included."""
    made: list[Rollout] = []
    for trial in generate(14, seed=71, kinds=KINDS, sliced_share=0.4):
        game = trial.game()
        env = AlfWorldEnv({game.key: game}, step_limit=60)
        for number in range(3):
            policy = NoisyPolicy(random.Random(f"{game.key} {number}"), skill=0.7)
            made.append(play(env, policy, game.key, number, follower_for(env)))
    return made


def test_lifted_rollouts_are_rollouts_of_their_family(rollouts: list[Rollout]) -> None:
    assert sum(rollout.success for rollout in rollouts) > 20
    lifted = lift_rollouts(rollouts)
    assert [lifted.origin[one.id] for one in lifted.batch] == [rollout.id for rollout in rollouts]
    goals = {rollout.task: AlfWorldGoal.from_task_key(rollout.task) for rollout in rollouts}
    for one, rollout in zip(lifted.batch, rollouts, strict=True):
        goal = goals[rollout.task]
        assert one.task == family_of(goal.kind, sliced=goal.sliced).key
        again = Rollout.model_validate(one.model_dump())  # its keys are those of its facts
        assert again.state_keys == one.state_keys
        assert [step.observation for step in one.steps] == [step.observation for step in rollout.steps]
        numbered = [f for s in one.steps if s.state for f in s.state.facts if any(c.isdigit() for c in f)]
        assert not numbered


def test_lifting_keeps_walks(rollouts: list[Rollout]) -> None:
    """The same state of a task is lifted to one state, so every loop of a walk is one of the lifted walk."""
    lifted = lift_rollouts(rollouts)
    for one, rollout in zip(lifted.batch, rollouts, strict=True):
        seen: dict[str, str] = {}
        for ground, roles in zip(rollout.state_keys, one.state_keys, strict=True):
            assert seen.setdefault(ground, roles) == roles
        assert not any(
            one.state_keys[t] != one.state_keys[t + 1]
            for t in range(len(rollout.steps))
            if rollout.state_keys[t] == rollout.state_keys[t + 1]
        )


def test_the_ladder_does_not_fall_on_a_shortest_way(rollouts: list[Rollout]) -> None:
    for trial in generate(18, seed=72, kinds=KINDS, sliced_share=0.3):
        game = trial.game()
        env = AlfWorldEnv({game.key: game}, step_limit=60)
        walk = play(env, ExpertPolicy(), game.key, 0, follower_for(env))
        assert walk.success
        lifted = lift_rollouts([walk]).batch.rollouts[0]
        index = family_of(env.goal.kind, sliced=env.goal.sliced).ladder.index
        assert lifted.start is not None
        states = [lifted.start, *(step.state for step in lifted.steps if step.state is not None)]
        climbed = [index(state.facts) for state in states]
        assert climbed == sorted(climbed), lifted.goal
        assert climbed[-1] == family_of(env.goal.kind, sliced=env.goal.sliced).ladder.last


def test_a_group_shares_what_one_of_it_was_shown() -> None:
    game = next(generate(1, seed=71, kinds=("pick",))).game()
    env = AlfWorldEnv({game.key: game}, step_limit=60)
    walk = play(env, ExpertPolicy(), game.key, 0, follower_for(env))
    # It went to the object's place and no further, so that alone it never saw a thing taken.
    taken = next(t for t, step in enumerate(walk.steps) if (step.canonical or "").startswith("take"))
    short = walk.model_copy(update={"id": "short", "steps": walk.steps[:1], "success": False})
    blind = tuple(step.model_copy(update={"observation": ""}) for step in short.steps)
    unseen = short.model_copy(update={"steps": blind})
    assert taken >= 1

    def place(rollouts: list[Rollout]) -> tuple[str, ...]:
        state = lift_rollouts(rollouts).batch.rollouts[0].steps[0].state
        assert state is not None
        return state.facts

    assert place([unseen]) == ("at another place",)
    assert "at a place with an object" in place([unseen, walk])


def test_what_cannot_be_lifted_is_left_out(rollouts: list[Rollout]) -> None:
    one = rollouts[0]
    bare = one.model_copy(update={"id": "bare", "start": None})
    shop = one.model_copy(update={"id": "shop", "env": "webshop"})
    odd = one.model_copy(update={"id": "odd", "task": "odd", "goal": "dance"})
    again = lift_rollouts([one]).batch.rollouts[0]
    lifted = lift_rollouts([bare, shop, odd, again, one])
    assert list(lifted.origin.values()) == [one.id]
    assert lifting_for("nowhere", "task") is None
    with pytest.raises(UsageError, match="cannot be lifted"):
        require_lifting("webshop")
    require_lifting("alfworld")
