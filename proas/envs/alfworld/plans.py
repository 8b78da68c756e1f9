"""Carries out the annotated plan of a trial in the text game.

``traj_data.json`` holds ``plan.high_pddl``, a list of steps such as ``PickupObject apple`` with the simulator's object
ids, and crowd workers described each of them in words. The simulator and the text game do not agree in everything:
the text game goes to receptacles where the simulator goes to positions, and some objects lie where the text game has
no receptacle. So a step becomes the text actions that bring it about, and some plans do not carry over.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from proas.envs.alfworld.data import Trial, TrialError, read_traj_data
from proas.envs.alfworld.engine import AlfWorldEngine
from proas.envs.alfworld.game import NOWHERE, Game, bits
from proas.envs.alfworld.names import pddl_name

__all__ = ["CarriedStep", "ExecutedPlan", "HighStep", "carry_out", "high_steps"]

_END = frozenset({"NoOp", "End"})


@dataclass(frozen=True, slots=True)
class HighStep:
    """One step of the annotated plan.

    Attributes:
        index: Position in the plan.
        action: ``GotoLocation``, ``PickupObject``, ``PutObject``, ``HeatObject``, ``CoolObject``, ``CleanObject``,
            ``ToggleObject`` or ``SliceObject``.
        args: Its arguments as kinds, lower case.
        thing: PDDL name of the object or, for a treatment, of what treats it; empty where the step names none.
        receptacle: PDDL name of the receptacle to put into; empty where the step names none.
        phrases: How each annotator described the step.
    """

    index: int
    action: str
    args: tuple[str, ...]
    thing: str
    receptacle: str
    phrases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CarriedStep:
    """A step and the text actions that it became.

    Attributes:
        step: The step.
        actions: Commands that were executed for it, each of them valid; empty where nothing was left to do.
        failed: Why the step could not be carried out; empty where it was.
    """

    step: HighStep
    actions: tuple[str, ...]
    failed: str = ""


@dataclass(frozen=True, slots=True)
class ExecutedPlan:
    """The whole plan, carried out from the start of the game.

    Attributes:
        steps: Each step with its actions, in order. Steps after the first failure have none.
        won: Whether the goal holds at the end.
    """

    steps: tuple[CarriedStep, ...]
    won: bool

    @property
    def actions(self) -> tuple[str, ...]:
        """All commands in order."""
        return tuple(action for step in self.steps for action in step.actions)

    @property
    def failed(self) -> str:
        """Why the plan does not win; empty where it does."""
        for step in self.steps:
            if step.failed:
                return f"step {step.step.index} ({step.step.action} {' '.join(step.step.args)}): {step.failed}"
        return "" if self.won else "the plan ends without reaching the goal"


def high_steps(trial: Trial) -> tuple[HighStep, ...]:
    """The annotated plan of a trial without its closing ``NoOp``, each step with its descriptions.

    Descriptions align with the steps one to one in the release; an annotation of another length is left out.

    Raises:
        TrialError: The trial has no plan, or a malformed one.
    """
    document = read_traj_data(trial)
    try:
        raw = [step for step in document["plan"]["high_pddl"] if step["discrete_action"]["action"] not in _END]
        described = _aligned(document.get("turk_annotations"), len(raw))
        return tuple(
            _high_step(index, step, tuple(words[index].strip() for words in described))
            for index, step in enumerate(raw)
        )
    except (KeyError, TypeError, AttributeError, IndexError) as error:
        raise TrialError(
            trial.key, "bad_json", f"traj_data.json holds no readable plan.high_pddl ({error!r})"
        ) from error


def _aligned(crowd: object, count: int) -> list[list[str]]:
    """The annotations that describe each of ``count`` steps; whatever else people left there is passed over."""
    given = crowd.get("anns") if isinstance(crowd, dict) else None
    found: list[list[str]] = []
    for annotation in given if isinstance(given, list) else []:
        words = annotation.get("high_descs") if isinstance(annotation, dict) else None
        if isinstance(words, list) and len(words) == count and all(isinstance(word, str) for word in words):
            found.append(words)
    return found


def _high_step(index: int, step: dict[str, Any], phrases: tuple[str, ...]) -> HighStep:
    discrete, planner = step["discrete_action"], step["planner_action"]
    return HighStep(
        index=index,
        action=str(discrete["action"]),
        args=tuple(str(a).lower() for a in discrete["args"]),
        thing=pddl_name(str(planner.get("objectId") or "")),
        receptacle=pddl_name(str(planner.get("receptacleObjectId") or "")),
        phrases=phrases,
    )


def carry_out(game: Game, steps: Sequence[HighStep]) -> ExecutedPlan:
    """Carry a plan out from the start of a game.

    A ``GotoLocation`` names a position of the simulator, which the text game does not know; it becomes the ``go to``
    of the receptacle that the next step needs. Closed receptacles are opened where something must be taken or put.

    Args:
        game: The game.
        steps: The plan, see ``high_steps``.

    Returns:
        The steps with their text actions, and whether the goal holds at the end.
    """
    carrier = _Carrier(game)
    carried: list[CarriedStep] = []
    for position, step in enumerate(steps):
        carrier.actions = []
        try:
            if step.action == "GotoLocation":
                following = steps[position + 1] if position + 1 < len(steps) else None
                if following is not None and following.action != "GotoLocation":
                    carrier.approach(following)
            else:
                carrier.perform(step)
        except _Stuck as stuck:
            carried.append(CarriedStep(step, tuple(carrier.actions), str(stuck)))
            carried.extend(CarriedStep(rest, ()) for rest in steps[position + 1 :])
            return ExecutedPlan(tuple(carried), carrier.engine.won)
        carried.append(CarriedStep(step, tuple(carrier.actions)))
    return ExecutedPlan(tuple(carried), carrier.engine.won)


class _Stuck(Exception):
    """A step that the text game does not allow."""


_TREATERS = {
    "HeatObject": ("heat", "microwave"),
    "CoolObject": ("cool", "fridge"),
    "CleanObject": ("clean", "sinkbasin"),
}


@dataclass
class _Carrier:
    game: Game
    actions: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.engine = AlfWorldEngine(self.game)
        self.receptacles = {name: r for r, name in enumerate(self.game.receptacle_ids)}
        self.objects = {name: o for o, name in enumerate(self.game.object_ids)}

    def approach(self, step: HighStep) -> None:
        """Stand where a step can be done, and open what it needs open."""
        if step.action in ("PickupObject", "SliceObject", "ToggleObject"):
            receptacle = self._holder(self._object(step))
        elif step.action == "PutObject":
            receptacle = self._target(step)
        else:
            receptacle = self._treater(step)
        self._go(receptacle)
        if step.action in ("PickupObject", "PutObject"):
            self._open(receptacle)

    def perform(self, step: HighStep) -> None:
        """Do one step, going and opening where the plan did not say so."""
        self.approach(step)
        game = self.game
        if step.action == "PickupObject":
            o = self._object(step)
            self._do(f"take {game.objects[o]} from {game.receptacles[self._holder(o)]}")
        elif step.action == "PutObject":
            name = game.receptacles[self._target(step)]
            thing = self._held()
            self._do(f"move {thing} to {name}" if game.rules.wording == "move" else f"put {thing} in/on {name}")
        elif step.action == "ToggleObject":
            self._do(f"use {game.objects[self._object(step)]}")
        elif step.action == "SliceObject":
            self._do(f"slice {game.objects[self._object(step)]} with {self._held()}")
        else:
            verb, _kind = _TREATERS[step.action]
            self._do(f"{verb} {self._held()} with {game.receptacles[self._treater(step)]}")

    def _do(self, command: str) -> None:
        if not self.engine.valid(command):
            raise _Stuck(f"{command!r} does not apply in the text game")
        self.engine.step(command)
        self.actions.append(command)

    def _go(self, receptacle: int) -> None:
        if self.game.receptacle_places[receptacle] != self.engine.place:
            self._do(f"go to {self.game.receptacles[receptacle]}")

    def _open(self, receptacle: int) -> None:
        if self.game.openable >> receptacle & 1 and not self.engine.opened >> receptacle & 1:
            self._do(f"open {self.game.receptacles[receptacle]}")

    def _held(self) -> str:
        if self.engine.held == NOWHERE:
            raise _Stuck("nothing is in hand")
        return self.game.objects[self.engine.held]

    def _object(self, step: HighStep) -> int:
        if step.thing not in self.objects:
            raise _Stuck(f"the text game has no object {step.thing!r}")
        return self.objects[step.thing]

    def _holder(self, thing: int) -> int:
        """The receptacle that an object is in; one within reach first, then one that needs no opening."""
        holders = [r for r, mask in enumerate(self.engine.contents) if mask >> thing & 1]
        holders = [r for r in holders if self.game.receptacle_places[r] != NOWHERE]
        if not holders:
            raise _Stuck(f"no receptacle of the text game holds {self.game.objects[thing]}")
        return min(holders, key=lambda r: (self.game.receptacle_places[r] != self.engine.place, r in self._shut(), r))

    def _shut(self) -> list[int]:
        return bits(self.game.openable & ~self.engine.opened)

    def _target(self, step: HighStep) -> int:
        if step.receptacle not in self.receptacles:
            raise _Stuck(f"the text game has no receptacle {step.receptacle!r}")
        return self.receptacles[step.receptacle]

    def _treater(self, step: HighStep) -> int:
        """What treats: the receptacle that the step names, else the nearest of its kind."""
        if step.action not in _TREATERS:
            raise _Stuck(f"the text game has no action {step.action}")
        if step.thing in self.receptacles:
            return self.receptacles[step.thing]
        kind = _TREATERS[step.action][1]
        fitting = [r for r, k in enumerate(self.game.receptacle_kinds) if k == kind]
        if not fitting:
            raise _Stuck(f"the text game has no {kind}")
        return min(fitting, key=lambda r: (self.game.receptacle_places[r] != self.engine.place, r))
