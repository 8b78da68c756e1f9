"""New games from a seed: solvable by construction, annotated like the release, and written in its layout.

A game is a furnished room, things in it, a goal, the annotated plan that reaches it and three people's descriptions of
every step. Nothing in it comes from anyone else's data. The same seed gives the same bytes on any machine.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from proas.envs.alfworld.annotations import describe_plan, describe_task
from proas.envs.alfworld.data import Trial, Wording, trial_at
from proas.envs.alfworld.game import Game, build_game
from proas.envs.alfworld.goal import KINDS, TASK_TYPES, AlfWorldGoal, GoalKind, goal_sentence
from proas.envs.alfworld.pddl import read_problem
from proas.envs.alfworld.planner import find_plan
from proas.envs.alfworld.rooms import Furnished, GoalChoice, furnish
from proas.envs.alfworld.rules import default_rules
from proas.errors import UsageError

__all__ = ["GeneratedTrial", "generate", "generate_trial"]

_TYPE_OF: dict[GoalKind, str] = {kind: name for name, kind in TASK_TYPES.items()}
_ATTEMPTS = 200


@dataclass(frozen=True, slots=True)
class GeneratedTrial:
    """A new trial, not yet on disk.

    Attributes:
        key: Task key, ``<task>/<trial>``.
        goal: What wins.
        initial_state: Text of ``initial_state.pddl``.
        traj_data: Text of ``traj_data.json``.
    """

    key: str
    goal: AlfWorldGoal
    initial_state: str
    traj_data: str

    def game(self, wording: Wording = "move") -> Game:
        """The game itself, without going through files."""
        task = f"Your task is to: {goal_sentence(self.goal)}"
        return build_game(read_problem(self.initial_state), self.goal, task, default_rules(wording), self.key)

    def write(self, root: Path) -> Trial:
        """Write the trial's folder ``<root>/<task>/<trial>/``."""
        folder = root / self.key
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "initial_state.pddl").write_text(self.initial_state, encoding="utf-8")
        (folder / "traj_data.json").write_text(self.traj_data, encoding="utf-8")
        return trial_at(folder)


def generate(
    count: int, *, seed: int = 0, kinds: Sequence[GoalKind] = KINDS, sliced_share: float = 0.0
) -> Iterator[GeneratedTrial]:
    """A series of trials that goes through the kinds in turn.

    Args:
        count: How many.
        seed: Which series; the i-th trial of a series does not depend on ``count``.
        kinds: Kinds of task to go through.
        sliced_share: Share of the trials, of the kinds where it makes sense, that ask for a sliced object.

    Raises:
        UsageError: ``count`` is negative, ``kinds`` is empty or ``sliced_share`` is no share.
    """
    if count < 0 or not kinds or not 0.0 <= sliced_share <= 1.0:
        raise UsageError(f"cannot generate {count} trials of kinds {list(kinds)} with sliced share {sliced_share}")
    for index in range(count):
        kind = kinds[index % len(kinds)]
        wants_slice = _rng(f"slice {seed} {index}").random() < sliced_share
        yield generate_trial(kind, seed=seed, index=index, sliced=wants_slice and kind != "look")


def generate_trial(kind: GoalKind, *, seed: int = 0, index: int = 0, sliced: bool = False) -> GeneratedTrial:
    """One trial.

    Args:
        kind: Kind of task.
        seed: Which series.
        index: Which one of the series.
        sliced: Ask for a sliced object, which needs a knife first.

    Raises:
        UsageError: The kind is unknown, or a sliced object is asked for under a lamp.
    """
    if kind not in KINDS:
        raise UsageError(f"no kind of task {kind!r}", hint=f"known: {', '.join(KINDS)}")
    if sliced and kind == "look":
        raise UsageError("nothing that can be sliced lies under a lamp", hint="ask for another kind")
    name = f"{kind} {sliced} {seed} {index}"
    for attempt in range(_ATTEMPTS):
        rng = _rng(f"{name} {attempt}")
        furnished = furnish(kind, rng, sliced=sliced)
        if furnished is None:
            continue  # this room happens to have no place for the task
        trial = _compose(furnished, rng, f"trial_G{seed:06d}_{index:06d}")
        if find_plan(trial.game()):  # a plan, and not an empty one
            return trial
    raise AssertionError(f"no room in {_ATTEMPTS} suits {name}")


def _rng(name: str) -> random.Random:
    # Seeding with text goes through SHA-512, so it does not depend on the machine or on PYTHONHASHSEED.
    return random.Random(name)  # noqa: S311 - reproducible by intent, nothing secret


def _compose(room: Furnished, rng: random.Random, trial: str) -> GeneratedTrial:
    goal, choice = room.goal, room.choice
    sliced = "Sliced" if goal.sliced else ""
    task_type = _TYPE_OF[goal.kind]
    folder = f"{task_type}-{choice.object_kind}{sliced}-None-{choice.target_kind}-{room.scene}"
    document: dict[str, Any] = {
        "images": [],
        "pddl_params": {
            "mrecep_target": "",
            "object_sliced": goal.sliced,
            "object_target": choice.object_kind,
            "parent_target": "" if goal.kind == "look" else choice.target_kind,
            "toggle_target": choice.target_kind if goal.kind == "look" else "",
        },
        "plan": {"high_pddl": list(_high_pddl(choice)), "low_actions": []},
        "scene": {"floor_plan": f"FloorPlan{room.scene}", "scene_num": room.scene},
        "task_id": trial,
        "task_type": task_type,
        "turk_annotations": {"anns": _annotations(room, rng)},
    }
    return GeneratedTrial(
        key=f"{folder}/{trial}",
        goal=goal,
        initial_state=_problem(room, trial),
        traj_data=json.dumps(document, sort_keys=True, separators=(",", ":")) + "\n",
    )


def _annotations(room: Furnished, rng: random.Random) -> list[dict[str, Any]]:
    described = describe_plan(room.choice.steps, rng)
    tasks = describe_task(room.goal, room.choice.object_kind, room.choice.target_kind, rng)
    return [
        {"assignment_id": f"G{index}", "high_descs": words, "task_desc": task, "votes": [1, 1, 1]}
        for index, (words, task) in enumerate(zip(described, tasks, strict=True))
    ]


def _high_pddl(choice: GoalChoice) -> Iterator[dict[str, Any]]:
    for index, step in enumerate(choice.steps):
        planner: dict[str, Any] = {"action": step.action}
        object_kind, receptacle_kind = step.object_kind.lower(), step.receptacle_kind.lower()
        match step.action:
            case "GotoLocation":
                args = [receptacle_kind]
                planner["location"] = step.place
            case "PutObject":
                args = [object_kind, receptacle_kind]
                planner |= {"objectId": step.object_id, "receptacleObjectId": step.receptacle_id}
            case "HeatObject" | "CoolObject":
                args = [object_kind]
                planner["objectId"] = step.receptacle_id
            case "CleanObject":
                args = [object_kind]
                planner |= {"cleanObjectId": step.object_id, "objectId": step.receptacle_id}
            case _:
                args = [object_kind]
                planner["objectId"] = step.object_id
        yield {
            "discrete_action": {"action": step.action, "args": args},
            "high_idx": index,
            "planner_action": planner,
        }
    yield {
        "discrete_action": {"action": "NoOp", "args": []},
        "high_idx": len(choice.steps),
        "planner_action": {"action": "End", "value": 1},
    }


def _problem(room: Furnished, trial: str) -> str:
    """The PDDL problem, in the form of the release's ``initial_state.pddl``."""
    declared = "\n".join(f" {name} - {kind}" for kind, names in room.declared() for name in names)
    facts = "\n".join(f" ({' '.join(fact)})" for fact in room.facts())
    return (
        f"(define (problem plan_{trial})\n(:domain alfred)\n(:objects\n agent1 - agent\n{declared}\n)\n"
        f"(:init\n{facts}\n)\n(:goal\n{_goal_formula(room)}\n))\n"
    )


def _goal_formula(room: Furnished) -> str:
    goal, kind, target = room.goal, f"{room.choice.object_kind}Type", f"{room.choice.target_kind}Type"
    if goal.kind == "look":
        return (
            "    (and (exists (?ot - object ?r - receptacle ?a - agent ?l - location)\n"
            f"        (and (objectType ?ot {target}) (toggleable ?ot) (isToggled ?ot) (receptacleAtLocation ?r ?l)\n"
            "             (atLocation ?a ?l) (inReceptacle ?ot ?r)))\n"
            f"     (exists (?o - object ?a - agent) (and (objectType ?o {kind}) (holds ?a ?o))))"
        )
    treated = {"clean": "(cleanable {0}) (isClean {0}) ", "heat": "(heatable {0}) (isHot {0}) "}
    treated["cool"] = "(coolable {0}) (isCool {0}) "
    flags = treated.get(goal.kind, "") + ("(sliceable {0}) (isSliced {0}) " if goal.sliced else "")
    each = "(objectType {0} " + kind + ") (receptacleType ?r " + target + ") " + flags + "(inReceptacle {0} ?r)"
    if goal.kind == "two":
        second = f"(exists (?o2 - object) (and (not (= ?o1 ?o2)) {each.format('?o2')}))"
        inner = f"(exists (?o1 - object) (and {each.format('?o1')}\n            {second}))"
    else:
        inner = f"(exists (?o - object) (and {each.format('?o')}))"
    return f"    (and (exists (?r - receptacle)\n        {inner}))"
