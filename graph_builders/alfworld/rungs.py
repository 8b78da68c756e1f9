"""Subgoals of a trial: its annotated plan as the rungs of a ladder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from proas.envs.alfworld.game import NOWHERE, Game
from proas.envs.alfworld.plans import HighStep
from proas.graph_builders.alfworld.solutions import Move
from proas.states.alfworld import PlanRung, goal_ladder, plan_ladder, without_falls
from proas.states.alfworld.ladders import RungKind
from proas.subgoals import Ladder

__all__ = ["ladder_of"]

_KINDS: Mapping[str, RungKind] = {
    "GotoLocation": "goto",
    "PickupObject": "pickup",
    "PutObject": "put",
    "CleanObject": "clean",
    "HeatObject": "heat",
    "CoolObject": "cool",
    "SliceObject": "slice",
    "ToggleObject": "toggle",
}
_APPLIANCES: Mapping[RungKind, str] = {"clean": "sinkbasin", "heat": "microwave", "cool": "fridge"}


def ladder_of(game: Game, steps: Sequence[HighStep], path: Sequence[Move], others: Sequence[Move] = ()) -> Ladder:
    """The subgoals of a game.

    Args:
        game: The game.
        steps: Its annotated plan; the goal alone decides where there is none or a step is of no known kind.
        path: A solution, along which no subgoal may fall.
        others: More moves on which none may fall.
    """
    rungs = [_rung(game, steps, position) for position in range(len(steps))]
    known = [rung for rung in rungs if rung is not None]
    ladder = plan_ladder(game.goal, known) if known and len(known) == len(rungs) else goal_ladder(game.goal)
    walk = [move.before.facts for move in path[:1]] + [move.after.facts for move in path]
    return without_falls(ladder, [walk, *([move.before.facts, move.after.facts] for move in others)])


def _rung(game: Game, steps: Sequence[HighStep], position: int) -> PlanRung | None:
    step = steps[position]
    kind = _KINDS.get(step.action)
    if kind is None:
        return None
    if kind != "goto":
        thing = step.args[0] if step.args else ""
        if kind in _APPLIANCES:
            thing = thing or game.goal.object  # some plans of the release leave it out; nothing else is ever treated
        places = step.args[1:2] if kind == "put" else ()
        return PlanRung(kind, thing, places, phrases=step.phrases) if thing else None
    following = next((s for s in steps[position + 1 :] if s.action != "GotoLocation"), None)
    then = _KINDS.get(following.action) if following is not None else None
    if following is None or then is None or not following.args:
        return None
    if then in _APPLIANCES:
        target, places = _APPLIANCES[then], (_APPLIANCES[then],)
    elif then == "put":
        target, places = following.args[-1], following.args[-1:]
    else:
        target, places = following.args[0], _holders(game, following.args[0])
    return PlanRung(kind, places=places, description=f"go to the {target}", phrases=step.phrases)


def _holders(game: Game, kind: str) -> tuple[str, ...]:
    """Receptacles that hold things of a kind at the start, by number."""
    wanted = 0
    for o, name in enumerate(game.objects):
        if name.rsplit(" ", 1)[0] == kind:
            wanted |= 1 << o
    return tuple(
        game.receptacles[r]
        for r, inside in enumerate(game.initial.contents)
        if inside & wanted and game.receptacle_places[r] != NOWHERE
    )
