"""Generated games: reproducible, solvable, unsolved at the start, annotated, in the release's form."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from proas.envs.alfworld import (
    KINDS,
    TASK_TYPES,
    AlfWorldEngine,
    AlfWorldGoal,
    GoalKind,
    Trial,
    carry_out,
    find_plan,
    generate,
    generate_trial,
    high_steps,
    load_game,
)
from proas.envs.alfworld.game import bits
from proas.errors import UsageError


def test_the_samples_are_what_the_generator_makes(samples: list[Trial]) -> None:
    made = [*generate(6, seed=64), generate_trial("heat", seed=64, index=6, sliced=True)]
    assert sorted(m.key for m in made) == [t.key for t in samples]
    by_key = {t.key: t for t in samples}
    for m in made:
        assert (by_key[m.key].path / "initial_state.pddl").read_text() == m.initial_state
        assert (by_key[m.key].path / "traj_data.json").read_text() == m.traj_data


def test_the_same_bytes_in_another_process_with_another_hash_seed() -> None:
    code = "from proas.envs.alfworld import generate; print(list(generate(4, seed=8)))"
    here = Path(__file__).parents[3]
    texts = set()
    for hash_seed in ("1", "2"):
        process = subprocess.run(
            [sys.executable, "-c", code], check=True, capture_output=True, cwd=here, env={"PYTHONHASHSEED": hash_seed}
        )
        texts.add(process.stdout)
    assert len(texts) == 1


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(KINDS), st.integers(0, 10**9), st.booleans())
def test_every_game_is_to_be_solved_and_can_be(tmp_path: Path, kind: GoalKind, seed: int, sliced: bool) -> None:
    made = generate_trial(kind, seed=seed, sliced=sliced and kind != "look")
    trial = made.write(tmp_path)
    game = load_game(trial)
    assert game == made.game()
    assert game.goal == trial.goal == AlfWorldGoal.from_task_key(made.key)
    assert not AlfWorldEngine(game).won
    executed = carry_out(game, high_steps(trial))
    assert executed.won, executed.failed
    plan = find_plan(game)
    assert plan is not None
    assert 0 < len(plan) <= len(executed.actions)


def test_files_are_in_the_release_s_form() -> None:
    for made in generate(12, seed=31):
        document = json.loads(made.traj_data)
        assert TASK_TYPES[document["task_type"]] == made.goal.kind
        assert document["task_id"] == made.key.split("/")[1]
        plan = document["plan"]["high_pddl"]
        assert [s["high_idx"] for s in plan] == list(range(len(plan)))
        assert plan[-1]["planner_action"] == {"action": "End", "value": 1}
        annotations = document["turk_annotations"]["anns"]
        assert len(annotations) == 3
        assert all(len(a["high_descs"]) == len(plan) - 1 and a["task_desc"] for a in annotations)
        words = [w for a in annotations for w in (*a["high_descs"], a["task_desc"])]
        assert all(w[0].isupper() and w.endswith(".") and "{" not in w for w in words)


def test_rooms_have_what_makes_the_game_hard() -> None:
    games = [made.game() for made in generate(60, seed=41)]
    assert any(len(rs) > 1 for g in games for rs in g.at_place), "receptacles that share a spot"
    assert any(g.openable & 1 << r and m for g in games for r, m in enumerate(g.initial.contents)), (
        "things behind doors"
    )
    assert any(g.inner for g in games), "things in containers"
    assert any(g.initial.cool for g in games), "things already cold"
    assert any(len(bits(g.goal_objects)) > g.goal.count for g in games), "more than one object that would do"
    assert len({g.key.split("-")[-1][0] for g in games}) == 4, "all four kinds of room"


def test_a_series_does_not_depend_on_its_length() -> None:
    assert list(generate(3, seed=5)) == list(generate(6, seed=5))[:3]
    assert len({made.key for made in generate(30, seed=6)}) == 30


@pytest.mark.parametrize(
    "call",
    [lambda: list(generate(-1)), lambda: list(generate(1, kinds=())), lambda: list(generate(1, sliced_share=2.0)),
     lambda: generate_trial("fly"), lambda: generate_trial("look", sliced=True)],  # type: ignore[arg-type]
)  # fmt: skip
def test_senseless_requests_are_refused(call: object) -> None:
    with pytest.raises(UsageError):
        call()  # type: ignore[operator]
