"""Descriptions of plans in the manner of crowd workers, in words of our own."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from proas.envs.alfworld.furniture import spoken
from proas.envs.alfworld.goal import AlfWorldGoal

__all__ = ["PlanStep", "describe_plan", "describe_task"]


@dataclass(frozen=True, slots=True)
class PlanStep:
    """One step of a generated plan.

    Attributes:
        action: As in ``plan.high_pddl``.
        object_kind, object_id: What is handled; empty for going somewhere.
        receptacle_kind, receptacle_id: Where.
        place: The simulator's position of the receptacle, for example ``loc|-3|5|2|60``.
        inside: The receptacle has to be opened.
    """

    action: str
    object_kind: str
    object_id: str
    receptacle_kind: str
    receptacle_id: str
    place: str
    inside: bool = False


_GO = (
    "Walk over to the {r}.",
    "Turn around and go to the {r}.",
    "Head across the room to the {r}.",
    "Make your way to the {r}.",
    "Go forward, then turn to face the {r}.",
    "Take a few steps and stop in front of the {r}.",
    "Turn left and walk until you reach the {r}.",
    "Turn right and step up to the {r}.",
    "Move to the {r} by the wall.",
)
_PICK = (
    "Pick up the {o} from the {r}.",
    "Take the {o} that is on the {r}.",
    "Grab the {o}.",
    "Lift the {o} off the {r}.",
    "Get hold of the {o} on the {r}.",
)
_PICK_INSIDE = (
    "Open the {r} and take the {o} out.",
    "Take the {o} out of the {r}.",
    "Open the {r} door and pick up the {o} inside.",
    "Look in the {r} and get the {o}.",
)
_PUT = (
    "Put the {o} on the {r}.",
    "Place the {o} on the {r}.",
    "Set the {o} down on the {r}.",
    "Leave the {o} on the {r}.",
    "Drop the {o} off at the {r}.",
)
_PUT_INSIDE = (
    "Open the {r} and put the {o} inside.",
    "Place the {o} in the {r}.",
    "Store the {o} in the {r} and close it.",
    "Put the {o} away in the {r}.",
)
_DEEDS = {
    "HeatObject": (
        "Heat the {o} in the {r}.",
        "Put the {o} in the {r}, warm it up, and take it out again.",
        "Cook the {o} for a few seconds with the {r}.",
        "Use the {r} to make the {o} hot.",
    ),
    "CoolObject": (
        "Chill the {o} in the {r}.",
        "Put the {o} in the {r} for a moment, then take it back out.",
        "Use the {r} to cool the {o} down.",
        "Let the {o} get cold in the {r}.",
    ),
    "CleanObject": (
        "Wash the {o} in the {r}.",
        "Rinse the {o} under the tap.",
        "Clean the {o} with water in the {r}.",
        "Put the {o} in the {r}, run the water, and pick it up again.",
    ),
    "SliceObject": (
        "Slice the {o} on the {r}.",
        "Cut the {o} into pieces.",
        "Use the knife to cut up the {o}.",
    ),
    "ToggleObject": (
        "Turn on the {o}.",
        "Switch the {o} on.",
        "Flip the switch of the {o}.",
        "Turn the {o} on to light up the room.",
    ),
}


def describe_plan(steps: Sequence[PlanStep], rng: random.Random, annotators: int = 3) -> list[list[str]]:
    """Descriptions of every step by several annotators, none of whom words a step as another does.

    Returns:
        One list for each annotator, aligned with the steps.
    """
    by_step = [_phrasings(step, rng, annotators) for step in steps]
    return [[words[a] for words in by_step] for a in range(annotators)]


def _phrasings(step: PlanStep, rng: random.Random, count: int) -> list[str]:
    templates = _templates(step)
    chosen = rng.sample(templates, min(count, len(templates)))
    while len(chosen) < count:
        chosen.append(rng.choice(templates))
    return [
        words.format(
            o=rng.choice(spoken(step.object_kind)) if step.object_kind else "",
            r=rng.choice(spoken(step.receptacle_kind)),
        )
        for words in chosen
    ]


def _templates(step: PlanStep) -> tuple[str, ...]:
    match step.action:
        case "GotoLocation":
            return _GO
        case "PickupObject":
            return _PICK_INSIDE if step.inside else _PICK
        case "PutObject":
            return _PUT_INSIDE if step.inside else _PUT
    return _DEEDS[step.action]


def describe_task(
    goal: AlfWorldGoal, object_kind: str, target_kind: str, rng: random.Random, annotators: int = 3
) -> list[str]:
    """The whole task in a sentence, by several annotators."""
    o, r = spoken(object_kind)[0], spoken(target_kind)[0]
    sliced = "sliced " if goal.sliced else ""
    sentences: dict[str, tuple[str, ...]] = {
        "pick": ("Put a {s}{o} in the {r}.", "Move the {s}{o} to the {r}.", "Bring a {s}{o} over to the {r}."),
        "two": ("Put two {s}{o} items in the {r}.", "Move a pair of {s}{o} to the {r}.",
                "Collect two {s}{o} at the {r}."),
        "look": ("Look at the {s}{o} by the light of the {r}.", "Turn on the {r} while holding the {s}{o}.",
                 "Examine the {s}{o} under the {r}."),
        "clean": ("Put a washed {s}{o} in the {r}.", "Rinse the {s}{o} and bring it to the {r}.",
                  "Clean a {s}{o} and leave it at the {r}."),
        "heat": ("Put a warm {s}{o} in the {r}.", "Heat the {s}{o} and take it to the {r}.",
                 "Warm up a {s}{o}, then place it at the {r}."),
        "cool": ("Put a chilled {s}{o} in the {r}.", "Cool the {s}{o} and move it to the {r}.",
                 "Chill a {s}{o}, then set it at the {r}."),
    }  # fmt: skip
    templates = list(sentences[goal.kind])
    rng.shuffle(templates)
    return [templates[a % len(templates)].format(s=sliced, o=o, r=r) for a in range(annotators)]
