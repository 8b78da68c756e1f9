"""The dynamics: what applies, what it changes, and that nothing else changes. Parity has tests of its own."""

from __future__ import annotations

import json
import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from proas.envs.alfworld import NOTHING_HAPPENS, AlfWorldEngine, Game, find_plan, generate_trial, load_game
from proas.envs.alfworld.data import Trial, Wording
from proas.envs.alfworld.game import bits

GAMES = st.integers(0, 6)
SEEDS = st.integers(0, 10_000)
QUICK = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def wander(engine: AlfWorldEngine, rng: random.Random, steps: int) -> None:
    for _ in range(steps):
        engine.step(rng.choice(engine.admissible()))


@QUICK
@given(GAMES, SEEDS)
def test_admissible_is_exactly_what_is_valid(games: list[Game], which: int, seed: int) -> None:
    engine, rng = AlfWorldEngine(games[which]), random.Random(seed)
    wander(engine, rng, rng.randrange(25))
    game = engine.game
    commands = {f"go to {r}" for r in game.receptacles} | {
        f"{v} {r}" for v in ("open", "close", "examine") for r in game.receptacles
    }
    commands |= {f"{v} {o}" for v in ("use", "examine") for o in game.objects}
    commands |= {f"{v} {o} with {r}" for v in ("heat", "cool", "clean") for o in game.objects for r in game.receptacles}
    commands |= {f"take {o} from {r}" for o in game.objects for r in game.receptacles}
    commands |= {f"move {o} to {r}" for o in game.objects for r in game.receptacles}
    commands |= {f"put {o} in/on {r}" for o in game.objects for r in game.receptacles}
    commands |= {f"slice {a} with {b}" for a in game.objects for b in game.objects} | {"look", "inventory", "help"}
    assert sorted(c for c in commands if engine.valid(c)) == engine.admissible()


@QUICK
@given(GAMES, SEEDS)
def test_what_does_not_apply_changes_nothing(games: list[Game], which: int, seed: int) -> None:
    engine, rng = AlfWorldEngine(games[which]), random.Random(seed)
    wander(engine, rng, rng.randrange(25))
    before, name = engine.snapshot(), engine.game.receptacles[0]
    for command in (
        "",
        "win",
        "Look",
        "LOOK",
        f"go  to {name}",
        f"go to {name}s",
        f"put {name} in/on {name}",
        "\x00",
        "look\nlook",
    ):
        assert engine.step(command) == (NOTHING_HAPPENS, engine.won)
    assert engine.snapshot() == before


@QUICK
@given(GAMES, SEEDS)
def test_take_and_put_back_is_undone(games: list[Game], which: int, seed: int) -> None:
    engine, rng = AlfWorldEngine(games[which]), random.Random(seed)
    wander(engine, rng, rng.randrange(25))
    taking = [c for c in engine.admissible() if c.startswith("take ")]
    for command in taking:
        thing, receptacle = command.removeprefix("take ").split(" from ")
        before = engine.facts()
        start = engine.snapshot()
        engine.step(command)
        assert engine.facts().held == thing
        text, _won = engine.step(f"move {thing} to {receptacle}")
        if text != NOTHING_HAPPENS:  # some things lie where nothing may be put back
            after = engine.facts()
            assert (after.contents, after.held, after.opened) == (before.contents, None, before.opened)
        engine.restore(start)


@QUICK
@given(GAMES, SEEDS)
def test_restored_copied_and_reset_engines_go_on_alike(games: list[Game], which: int, seed: int) -> None:
    engine, rng = AlfWorldEngine(games[which]), random.Random(seed)
    introduction = engine.reset()
    wander(engine, rng, rng.randrange(15))
    kept, twin = engine.snapshot(), engine.copy()
    walk = []
    for _ in range(15):
        command = rng.choice(engine.admissible())
        walk.append((command, engine.step(command), engine.admissible()))
    for other in (twin, engine):
        other.restore(kept)
        assert [(c, other.step(c), other.admissible()) for c, _s, _a in walk] == walk
    assert engine.reset() == introduction
    assert engine.snapshot() == engine.game.initial


@QUICK
@given(GAMES, SEEDS)
def test_facts_hold_together(games: list[Game], which: int, seed: int) -> None:
    engine, rng = AlfWorldEngine(games[which]), random.Random(seed)
    wander(engine, rng, rng.randrange(40))
    facts = engine.facts()
    assert facts.opened <= facts.openable
    assert facts.attended is None or facts.attended in facts.standing
    where = [r for r, things in facts.contents.items() if facts.held in things]
    assert not where  # our games put each thing into one place
    assert not facts.hot & facts.cool
    reachable = {c.removeprefix("take ").split(" from ")[0] for c in engine.admissible() if c.startswith("take ")}
    pickupable = {engine.game.objects[o] for o in bits(engine.game.pickupable)}
    assert facts.held is not None or reachable == facts.within_reach() & pickupable
    assert ("holds", facts.held) in facts.as_tuples() or facts.held is None
    assert len(facts.as_tuples()) >= sum(len(t) for t in facts.contents.values())


@pytest.mark.parametrize("wording", ["move", "put"])
def test_a_game_from_start_to_end(wording: Wording) -> None:
    game = generate_trial("heat", seed=3).game(wording)
    engine = AlfWorldEngine(game)
    text = engine.reset()
    assert text.startswith(
        "-= Welcome to TextWorld, ALFRED! =-\n\nYou are in the middle of a room. Looking quickly around"
    )
    assert text.endswith(f"\n\n{game.task}")
    plan = find_plan(game)
    assert plan
    texts = [engine.step(command)[0] for command in plan]
    assert engine.won
    assert ("help" in engine.admissible()) == (wording == "move")
    arrivals = [t for t in texts if t.startswith("You arrive at ")]
    assert all(t.startswith("You arrive at loc ") for t in arrivals) == (wording == "put")
    assert any(t.startswith("You put " if wording == "put" else "You move ") for t in texts)


def test_looking_again_in_mid_room_shows_nothing(games: list[Game]) -> None:
    engine = AlfWorldEngine(games[0])
    assert engine.step("look")[0] == "You are in the middle of a room. Looking quickly around you, you see nothing."
    assert engine.step("inventory")[0] == "You are not carrying anything."


def test_an_object_is_examined_in_hand_only(games: list[Game]) -> None:
    engine = AlfWorldEngine(next(g for g in games if g.goal.kind == "heat" and not g.goal.sliced))
    plan = find_plan(engine.game) or ()
    thing = next(c for c in plan if c.startswith("take ")).removeprefix("take ").split(" from ")[0]
    seen = []
    for command in plan:
        assert engine.valid(f"examine {thing}") == (engine.facts().held == thing)
        engine.step(command)
        seen.append(engine.step(f"examine {thing}")[0])
    assert f"There's nothing special about {thing}." in seen
    assert f"This is a hot {thing}." in seen


def test_winning_ends_nothing_and_can_be_undone(games: list[Game]) -> None:
    engine = AlfWorldEngine(next(g for g in games if g.goal.kind == "pick"))
    plan = find_plan(engine.game) or ()
    assert [engine.step(c)[1] for c in plan] == [False] * (len(plan) - 1) + [True]
    thing, receptacle = plan[-1].removeprefix("move ").split(" to ")
    assert engine.step(f"take {thing} from {receptacle}")[1] is False
    assert engine.step(plan[-1])[1] is True


def test_everything_stays_small_and_is_kept(samples: list[Trial], games: list[Game]) -> None:
    for trial, game in zip(samples, games, strict=True):
        document = json.dumps(game.to_json())
        assert len(document) < 12_000
        assert Game.from_json(json.loads(document)) == game
        first = load_game(trial)
        assert load_game(trial) == first == game


def test_a_damaged_cache_is_read_over(samples: list[Trial], monkeypatch: pytest.MonkeyPatch) -> None:
    from proas.envs.alfworld import archive, load

    monkeypatch.setattr(load, "_recent", {})
    game = load_game(samples[0])
    monkeypatch.setattr(load, "_recent", {})
    files = list((archive.cache_root() / f"games-v{load.PARSER_VERSION}").glob("*.json"))
    assert files
    for file in files:
        file.write_bytes(file.read_bytes()[:100])
    assert load_game(samples[0]) == game
    assert all(json.loads(file.read_bytes()) for file in files)


def test_a_cache_that_cannot_be_written_is_no_fault(
    samples: list[Trial], monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    from proas.envs.alfworld import load

    blocked = tmp_path_factory.mktemp("blocked") / "file"
    blocked.write_text("in the way")
    monkeypatch.setenv("PROAS_CACHE_DIR", str(blocked))
    monkeypatch.setattr(load, "_recent", {})
    assert load_game(samples[0]).key == samples[0].key


def test_no_end_of_nonsense_does_not_fill_memory(games: list[Game]) -> None:
    engine = AlfWorldEngine(games[0])
    for number in range(10_000):
        engine.step(f"take apple {number} from nowhere {number}")
    assert len(engine._commands) <= 4096
