"""Where rollouts begin: nearest the goal first, further back as the task is solved from there."""

from __future__ import annotations

import json

import pytest

from proas.errors import UsageError
from proas.graph.ways import Way
from proas.rollouts import Rollout
from proas.training.config import TrainConfig, preset
from proas.training.start_settings import StartSettings
from proas.training.starts import Curriculum

RULE = StartSettings(share=0.5)
WAYS = {
    "far": Way(tuple("abcd"), tuple("1234")),
    "near": Way(tuple("xy"), tuple("12")),
    "next": Way(("z",), ("1",)),
}


def played(curriculum: Curriculum, task: str, own: list[bool], begun: list[bool]) -> dict[str, float]:
    """One iteration of one task."""
    given = curriculum.choose([task], WAYS)
    steps = len(given[task].actions) if task in given else 0
    won = [*own, *begun]
    rollouts = [Rollout(id=str(i), env="e", task=task, success=success) for i, success in enumerate(won)]
    return curriculum.learn(rollouts, [0] * len(own) + [steps] * len(begun))


def test_the_start_moves_back_as_the_task_is_solved() -> None:
    curriculum = Curriculum(RULE, 8)
    lost, won = [False] * 4, [True, True, False, False]
    lefts = []
    for _ in range(4):
        way = curriculum.choose(["far"], WAYS)["far"]
        assert way.actions == WAYS["far"].actions[: 4 - way.left]
        assert way.states == WAYS["far"].states[: 4 - way.left]
        assert way.count == 4
        lefts.append(way.left)
        told = played(curriculum, "far", lost, won)
        assert told["starts/success"] == 0.5
        assert told["starts/left"] == way.left
        assert told["starts/given"] == 4 - way.left
        assert told["starts/rollouts"] == 0.5
    assert lefts == [1, 2, 3, 3]  # from four left it would be the task's own start
    played(curriculum, "far", lost, lost)
    assert curriculum.choose(["far"], WAYS)["far"].left == 2


def test_tasks_that_are_solved_or_next_to_their_goal_have_no_start() -> None:
    curriculum = Curriculum(RULE, 4)
    assert set(curriculum.choose(["far", "near", "next", "unknown"], WAYS)) == {"far", "near"}
    played(curriculum, "near", [True, False], [False, False])
    assert not curriculum.fails("near")
    assert curriculum.choose(["near"], WAYS) == {}
    played(curriculum, "near", [False, False], [])
    assert curriculum.choose(["near"], WAYS)["near"].left == 1


def test_one_distance_for_all_tasks_of_a_run() -> None:
    curriculum = Curriculum(StartSettings(share=0.5, by="run"), 4)
    played(curriculum, "near", [False, False], [True, True])
    assert curriculum.choose(["far"], WAYS)["far"].left == 2
    assert curriculum.choose(["near"], WAYS)["near"].left == 1


def test_what_it_knows_survives_a_checkpoint() -> None:
    curriculum = Curriculum(RULE, 4)
    played(curriculum, "far", [False, False], [True, True])
    again = Curriculum(RULE, 4, json.loads(json.dumps(curriculum.to_json())))
    assert again.choose(WAYS, WAYS) == curriculum.choose(WAYS, WAYS)
    assert again.to_json() == curriculum.to_json()


def test_a_way_that_could_not_be_walked_is_told() -> None:
    curriculum = Curriculum(RULE, 4)
    assert set(curriculum.choose(["far"], WAYS)) == {"far"}
    rollouts = [Rollout(id=str(i), env="e", task="far", success=False) for i in range(4)]
    told = curriculum.learn(rollouts, [0] * 4)
    assert (told["starts/groups"], told["starts/not_walked"]) == (0, 1)
    assert curriculum.choose(["far"], WAYS)["far"].left == 1


@pytest.mark.parametrize(("share", "size"), [(0.1, 8), (0.8, 4), (0.5, 3)])
def test_a_baseline_takes_two_rollouts(share: float, size: int) -> None:
    with pytest.raises(UsageError, match="a baseline takes two"):
        preset("smoke").updated({"group_size": size, "starts.share": share})


def test_the_settings_have_names_and_an_arm() -> None:
    config = preset("tiny-alfworld").updated({"starts.share": "0.5", "starts.by": "run"})
    assert config.uses_graph
    assert config.arm == "grpo starts=0.5"
    assert config.updated({"starts.share": 1}).starts.count(8) == 8
    assert TrainConfig.from_dict(json.loads(json.dumps(config.to_dict()))) == config
    assert not config.updated({"starts.share": 0}).uses_graph
    with pytest.raises(UsageError, match=r"starts\.by"):
        config.updated({"starts.by": "whim"})
