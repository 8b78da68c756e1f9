"""Plans win, none is shorter, and all of the shortest are found."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace

import pytest

from proas.envs.alfworld import KINDS, AlfWorldEngine, Game, GoalKind, all_shortest, find_plan, generate_trial
from proas.envs.alfworld.estimate import Estimate
from proas.envs.alfworld.game import NOWHERE, Snapshot, bits


def wins(game: Game, plan: tuple[str, ...], start: Snapshot | None = None) -> bool:
    engine = AlfWorldEngine(game)
    if start is not None:
        engine.restore(start)
    for command in plan:
        assert engine.valid(command), (command, plan)
        engine.step(command)
    return engine.won


def changing(engine: AlfWorldEngine) -> Iterator[str]:
    """Every command that can change anything, nothing left out."""
    return (c for c in engine.admissible() if c.split(" ")[0] not in ("look", "inventory", "help", "examine"))


def distances(game: Game, depth: int) -> dict[Snapshot, int]:
    """Length of the shortest plan from every situation within ``depth`` of the start, by trying everything."""
    plain = lambda s: s._replace(removed=(0,) * len(s.removed), attended=NOWHERE)  # noqa: E731
    engine = AlfWorldEngine(game)
    start = plain(game.initial)
    layer, onward = [start], {}
    for _ in range(depth):
        following: dict[Snapshot, None] = {}
        for situation in layer:
            engine.restore(situation)
            onward[situation] = []
            for command in list(changing(engine)):
                engine.restore(situation)
                engine.step(command)
                after = plain(engine.snapshot())
                onward[situation].append(after)
                if after not in onward:
                    following[after] = None
        layer = list(following)
    left: dict[Snapshot, int] = {}
    for situation in {*onward, *(a for after in onward.values() for a in after)}:
        engine.restore(situation)
        if engine.won:
            left[situation] = 0
    for _ in range(depth):
        for situation, afters in onward.items():
            nearest = min((left[a] + 1 for a in afters if a in left), default=None)
            if nearest is not None and nearest < left.get(situation, 1 << 20):
                left[situation] = nearest
    return left


def small(kind: GoalKind, seed: int, sliced: bool = False) -> Game:
    """A game with few places, so that everything can be tried."""
    best = min(
        (generate_trial(kind, seed=seed, index=i, sliced=sliced).game() for i in range(12)), key=lambda g: len(g.places)
    )
    assert isinstance(best, Game)
    return best


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("sliced", [False, True])
def test_plans_win_and_are_deterministic(kind: GoalKind, sliced: bool) -> None:
    if sliced and kind == "look":
        pytest.skip("nothing that can be sliced lies under a lamp")
    for index in range(6):
        game = generate_trial(kind, seed=11, index=index, sliced=sliced).game()
        plan = find_plan(game)
        assert plan is not None
        assert wins(game, plan)
        assert plan == find_plan(game)


@pytest.mark.parametrize(("kind", "depth"), [("pick", 4), ("look", 4), ("clean", 6)])
def test_no_plan_is_shorter(kind: GoalKind, depth: int) -> None:
    """Against breadth-first search with every command there is, from every situation on the way."""
    game = small(kind, 5)
    plan = find_plan(game)
    assert plan is not None
    assert len(plan) <= depth
    left = distances(game, depth)
    assert left[game.initial] == len(plan)
    estimate = Estimate(game)
    for situation, length in left.items():
        # Situations at the rim may have a shorter plan than what was tried; those inside have none.
        found = find_plan(game, start=situation)
        assert found is not None
        assert len(found) <= length
        assert estimate(situation) <= len(found)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("sliced", [False, True])
def test_the_estimate_never_overstates(kind: GoalKind, sliced: bool) -> None:
    """On random walks: one command changes the length of the shortest plan by at most one, and never below it."""
    if sliced and kind == "look":
        pytest.skip("nothing that can be sliced lies under a lamp")
    rng = random.Random(f"{kind} {sliced}")
    for index in range(3):
        game = generate_trial(kind, seed=12, index=index, sliced=sliced).game()
        engine, estimate = AlfWorldEngine(game), Estimate(game)
        before: int | None = None
        for _ in range(12):
            plan = find_plan(game, start=engine.snapshot())
            if plan is None:
                break  # a thing in hand that nothing takes back
            assert estimate(engine.snapshot()) <= len(plan)
            assert wins(game, plan, engine.snapshot())
            assert before is None or len(plan) >= before - 1
            before = len(plan)
            engine.step(rng.choice(list(changing(engine))))


def lying_twice(kind: GoalKind, index: int, sliced: bool = False) -> Game:
    """A game whose object lies in a receptacle of the goal as well as where it is, as in one of twenty real games."""
    trial = generate_trial(kind, seed=6021, index=index, sliced=sliced)
    game = trial.game()
    thing = bits(game.goal_objects)[0]
    target = next(r for r in game.goal_receptacles if not game.initial.contents[r] >> thing & 1)
    fact = f"(inReceptacle {game.object_ids[thing]} {game.receptacle_ids[target]})"
    return replace(
        trial, initial_state=trial.initial_state.replace("(inReceptacle ", f"{fact} (inReceptacle ", 1)
    ).game()


@pytest.mark.parametrize("kind", ["heat", "cool", "clean"])
def test_what_lies_in_two_receptacles_stays_placed_in_one(kind: GoalKind) -> None:
    """Taken from the one it still counts as placed in the other: treating it wins, and no put is needed."""
    plans = {index: find_plan(lying_twice(kind, index)) or () for index in range(12)}
    index = min(plans, key=lambda i: len(plans[i]))
    game, plan = lying_twice(kind, index), plans[index]
    assert [command.split(" ")[0] for command in plan] == ["go", "take", "go", kind]
    assert wins(game, plan)
    assert distances(game, 4)[game.initial] == 4
    found = all_shortest(game)
    assert found is not None
    assert all(wins(game, p) for p in found.plans())


@pytest.mark.parametrize("kind", KINDS)
def test_all_shortest_plans(kind: GoalKind) -> None:
    for index in range(4):
        game = generate_trial(kind, seed=13, index=index).game()
        plan, every = find_plan(game), all_shortest(game)
        assert plan is not None
        assert every is not None
        assert every.complete
        assert every.length == len(plan)
        plans = list(every.plans(5_000))
        assert plan in plans
        assert len(set(plans)) == len(plans) == every.count
        assert all(len(p) == every.length and wins(game, p) for p in plans[:200])
        assert every == all_shortest(game)


def test_independent_steps_come_in_every_order() -> None:
    """Two objects can be fetched in either order: both orders are among the plans."""
    for index in range(20):
        every = all_shortest(generate_trial("two", seed=14, index=index).game())
        assert every is not None
        orders = {tuple(c.split(" from ")[0] for c in p if c.startswith("take ")) for p in every.plans(2_000)}
        assert all(tuple(reversed(order)) in orders for order in orders if len(order) == 2)


def test_limits_are_kept() -> None:
    game = generate_trial("two", seed=15, sliced=True).game()
    assert find_plan(game, limit=3) is None
    full = all_shortest(game)
    assert full is not None
    plan = find_plan(game)
    assert plan is not None


def test_a_goal_out_of_reach_has_no_plan() -> None:
    game = generate_trial("heat", seed=16).game()
    engine = AlfWorldEngine(game)
    stripped = game.initial._replace(contents=tuple(m & ~game.goal_objects for m in game.initial.contents))
    assert find_plan(game, start=stripped) is None
    assert all_shortest(game, start=stripped) is None
    for command in find_plan(game) or ():
        engine.step(command)
    assert find_plan(game, start=engine.snapshot()) == ()
