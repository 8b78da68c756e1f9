"""States of what is known: by hand, by both sources, and as a kind beside the usual one."""

from __future__ import annotations

import random

import pytest

from proas.envs import EnvSpec, open_world
from proas.envs.alfworld import AlfWorldEngine, Game, generate
from proas.envs.alfworld.goal import AlfWorldGoal
from proas.envs.collect import CollectSettings, collect
from proas.rollouts import Rollout, RolloutBatch, State
from proas.states import attach_states, follower_for, state_names
from proas.states.alfworld import KNOWLEDGE, EngineObserver, Knowledge, TextObserver
from proas.states.alfworld.commands import Command
from proas.subgoals import SEARCHING

MUG = AlfWorldGoal.from_text("put a mug in desk.")


def _go(place):
    return Command("go", place)


def test_by_hand():
    known = Knowledge(MUG)
    assert set(known.facts()) == {SEARCHING}
    drawer = known.after(_go("drawer 1"), "drawer 1", ["pen 1"])
    assert set(drawer.facts()) == {SEARCHING, "looked into drawer 1"}
    assert drawer.after(_go("fridge 1"), "", []) == drawer  # shut: nothing was seen
    assert drawer.after(_go("drawer 1"), "drawer 1", ["pen 1"]) == drawer
    other = known.after(_go("shelf 1"), "shelf 1", []).after(_go("drawer 1"), "drawer 1", ["pen 1"])
    assert other == drawer.after(_go("shelf 1"), "shelf 1", [])  # in whichever order
    found = other.after(_go("bed 1"), "bed 1", ["mug 2", "mug 1", "pen 2"])
    assert set(found.facts()) == {"seen mug 1 at bed 1", "seen mug 2 at bed 1"}
    assert found == known.after(_go("bed 1"), "bed 1", ["mug 1", "mug 2"])  # the search is over and leaves no trace
    assert found.after(_go("sofa 1"), "sofa 1", ["mug 3"]) == found


def test_two_are_needed():
    two = AlfWorldGoal.from_text("put two mug in desk.")
    one = Knowledge(two).after(_go("bed 1"), "bed 1", ["mug 1"])
    assert set(one.facts()) == {"seen mug 1 at bed 1", SEARCHING, "looked into bed 1"}
    taken = one.after(Command("take", "mug 1", "bed 1"), "", [])
    assert taken == one
    assert set(taken.after(_go("sofa 1"), "sofa 1", ["mug 2"]).facts()) == {
        "seen mug 1 at bed 1",
        "seen mug 2 at sofa 1",
    }


def test_what_is_taken_has_been_seen():
    assert set(Knowledge(MUG).after(Command("take", "mug 1", "bed 1"), "", []).facts()) == {"seen mug 1 at bed 1"}


@pytest.fixture(scope="module")
def made() -> list[Game]:
    """Games of our own, of all kinds and both wordings, some of them with a slice to cut."""
    trials = generate(24, seed=5, sliced_share=0.4)
    return [trial.game("put" if number % 2 else "move") for number, trial in enumerate(trials)]


def test_both_sources_agree(made):
    """Random play of games of every kind: text alone and the engine's hidden state tell the same."""
    searched = found = 0
    for number, game in enumerate(made):
        engine, rng = AlfWorldEngine(game), random.Random(number)
        text, hidden = TextObserver(game.key, None, KNOWLEDGE), EngineObserver(game.key, game.goal, KNOWLEDGE)
        assert text.begin(engine.reset()) == hidden.begin(engine)
        for _ in range(80):
            command = rng.choice(engine.admissible())
            answer, won = engine.step(command)
            seen = hidden.observe(command, engine, valid=True, won=won)
            assert text.observe(command, answer, won=won) == seen
            searched += SEARCHING in seen.state.facts
            found += SEARCHING not in seen.state.facts
            if won:
                break
    assert searched
    assert found


def test_a_step_that_shows_something_new_leads_to_a_new_state(made):
    """So information is sought by transitions, which a graph holds like any other."""
    told = 0
    for number, game in enumerate(made):
        engine, rng = AlfWorldEngine(game), random.Random(number)
        observer = EngineObserver(game.key, game.goal, KNOWLEDGE)
        engine.reset()
        state, visited = observer.begin(engine), set()
        for _ in range(60):
            visited.add(state.key)
            command = rng.choice(engine.admissible())
            _answer, won = engine.step(command)
            seen = observer.observe(command, engine, valid=True, won=won)
            shown = {fact for fact in seen.state.facts if fact.startswith(("seen ", "looked "))}
            if shown - set(state.facts):
                assert seen.state.key not in visited
                told += 1
            state = seen.state
            if won:
                break
    assert told > 50


def test_the_environment_records_them_and_text_reads_them_back(tmp_path):
    for trial in generate(6, seed=3):
        trial.write(tmp_path)
    world = open_world(EnvSpec("alfworld-knowledge", tmp_path))
    rows = collect(world, list(world.tasks), CollectSettings(policy="noisy", group_size=2, seed=1), follower_for)
    played = [row for row in rows if isinstance(row, Rollout)]
    assert "alfworld-knowledge" in state_names()
    assert len(RolloutBatch(tuple(played)).by_task()) == 6
    for rollout in played:
        assert rollout.env == "alfworld-knowledge"
        blank = tuple(s.model_copy(update={"state": None, "canonical": None}) for s in rollout.steps)
        again = attach_states(rollout.model_copy(update={"start": None, "steps": blank}))
        assert again.state_keys == rollout.state_keys
        assert again.transition_keys == rollout.transition_keys


def test_the_usual_states_are_what_they_were():
    task = "pick_and_place_simple-Mug-None-Desk-308/trial_T20190909_210238_431966"
    text = TextObserver(task)
    assert text.begin("Your task is to: put a mug in desk.") == State.of("alfworld", task, ())
    step = text.observe("go to bed 1", "You arrive at bed 1. On the bed 1, you see a mug 1.")
    assert step.state == State.of("alfworld", task, ("at bed 1",))
