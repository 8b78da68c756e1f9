"""The suite passes what is sound, and catches what is not: the right check, with a counterexample that can be read."""

from __future__ import annotations

import json
import re
from types import ModuleType
from unittest import SkipTest

import pytest

from proas.conformance import CHECKS, Conformance, NonConformant, check
from proas.envs import EnvSpec
from proas.errors import UsageError

CAUGHT = {
    "list-facts": ("order", r"\['carrying (\w+), (\w+)(, \w+)?'\] here and \['carrying \w+, \w+(, \w+)?'\] there"),
    "leaking-observer": ("fresh", r"the state is .*visited \w+"),
    "text-disagrees": ("agreement", r"by hidden state and by text: \['unlocked'\] here and \[\] there.*You unlock"),
    "falling-milestones": (
        "subgoals",
        r"subgoal 1, 'leave the hall', is lost again: .*'in study'\] and then .*'in hall'\]",
    ),
    "silent-goal": ("subgoals", r"the end is at subgoal 2, not at the last, 3: \['holding key', 'holding pearl'"),
    "salted-facts": ("process", r"hand \d+.* here and .*hand \d+.* in another process"),
    "failing-observer": ("episodes", r"AttributeError: .* raised at .*broken_vaults\.py:\d+ in facts"),
    "own-keys": ("keys", r"the key of \['in hall'\] is not that of its facts"),
    "unsettled-reset": ("replay", r"played again, the answer differs: (valid|observation|admissible)"),
    "answers-by-chance": ("replay", r"played again, the answer differs: observation 'You \w+ \w+\..* \(\d+\)'"),
    "opening-by-chance": ("reset", r"reset in another environment differs: observation 'Welcome, visitor \d+\."),
    "admissible-lies": ("admissible", r"'dance' is listed as admissible and does not apply: 'Nothing happens\.'"),
    "unwritable-words": ("record", r"surrogate|cannot|no record can be made|utf-8"),
    "valid-lies": ("outside", r"'qwxz plugh 7' is none of the \d+ admissible actions and counts as valid"),
    "invalid-changes": ("invalid", r"an invalid step changes the facts: \[.*'held'.*\] gone"),
    "own-rewards": ("rewards", r"a step pays 0\.0, not -0\.015625: valid True, won False"),
    "endless": ("limits", r"a step limit of 2 does not end the episode"),
    "shared-situation": ("isolated", r"beside another episode, the answer differs"),
    "new-keys": ("tasks", r"opened again, the tasks are others: 'vault-\d+' before, 'vault-\d+' now"),
}


def test_a_sound_environment_passes_every_check(broken: ModuleType) -> None:
    report = check("sound-vault", tasks=3)
    assert [str(made) for made in report.checks if made.outcome != "passed"] == []
    assert report.ok
    assert tuple(made.name for made in report.checks) == CHECKS
    assert all(made.compared >= 9 for made in report.checks)
    assert (report.episodes, len(report.tasks)) == (27, 3)
    assert json.loads(json.dumps(report.as_json()))["ok"] is True


@pytest.mark.parametrize("name", CAUGHT)
def test_what_is_broken_is_caught_by_the_check_that_is_meant_for_it(broken: ModuleType, name: str) -> None:
    meant, told = CAUGHT[name]
    with Conformance(name, tasks=2) as suite, pytest.raises(NonConformant) as caught:
        suite.require(meant)
    example = caught.value.check.counterexamples[0]
    assert re.search(told, str(example), re.DOTALL), str(caught.value)
    assert len(str(example)) < 1500
    if meant != "tasks":
        assert example.where.task in broken.TASKS or not example.where.task


def test_every_check_is_seen_failing_or_is_an_advice() -> None:
    assert set(CHECKS) - {meant for meant, _told in CAUGHT.values()} == {"text_alone"}


def test_an_advice_warns_and_fails_nothing(broken: ModuleType) -> None:
    report = check("mute", tasks=2)
    assert report.ok
    made = report.of("text_alone")
    assert made.outcome == "warned"
    assert "validity not told, the state is" in str(made.counterexamples[0])
    assert {other.outcome for other in report.checks if other is not made} == {"passed"}


def test_a_counterexample_can_be_played_again(broken: ModuleType) -> None:
    """The place that is told leads to what is told."""
    with Conformance("admissible-lies", tasks=1) as suite:
        place = suite.run("admissible").counterexamples[0].where
    world = broken.envs.open_world(EnvSpec("admissible-lies"))
    env = world.environment()
    env.reset(place.task, seed=place.seed)
    results = [env.step(action) for action in place.actions]
    assert place.actions[-1] == "dance"
    assert not results[-1].info.valid


def test_a_goal_that_no_state_tells_is_caught_by_two(broken: ModuleType) -> None:
    with Conformance("silent-goal", tasks=1) as suite:
        assert re.search(r"won is True, but the state is", str(suite.run("keys")))


def test_an_unsettled_reset_is_caught_by_what_compares_resets(broken: ModuleType) -> None:
    with Conformance("shared-situation", tasks=2) as suite:
        assert suite.run("reset").outcome == "passed"  # its resets are sound; only side by side it fails
    report = check("unsettled-reset", tasks=2)
    assert not report.ok
    assert {"replay", "process"} <= {made.name for made in report.checks if made.outcome == "failed"}


def test_the_suite_draws_the_same_every_time(broken: ModuleType) -> None:
    first, second = (check("list-facts", tasks=2, policies=["noisy"]) for _ in range(2))
    assert first == second


def test_nothing_to_compare_is_no_pass(broken: ModuleType) -> None:
    with Conformance("sound-vault", tasks=1, policies=["random"], group_size=1) as suite:
        made = suite.run("subgoals")
        assert made.outcome == "not exercised"
        assert "no policy 'expert'" in made.note
        with pytest.raises(SkipTest, match="no policy 'expert'"):
            suite.require("subgoals")


def test_an_environment_without_states_or_tasks_does_not_pass(broken: ModuleType) -> None:
    report = check("without-states", tasks=1)
    assert [made.name for made in report.checks if made.outcome == "failed"] == ["keys"]
    assert "no states are registered for 'without-states'" in str(report.of("keys"))
    assert report.of("replay").outcome == "passed"
    empty = check("without-tasks")
    assert "the world has no tasks" in str(empty.of("tasks"))
    assert not empty.ok


def test_what_does_not_exist_is_told(broken: ModuleType) -> None:
    with pytest.raises(UsageError, match="no environment is called"):
        check("nothing-of-the-kind")
    with pytest.raises(UsageError, match="no policy 'genius'"):
        check("sound-vault", policies=["genius"])
