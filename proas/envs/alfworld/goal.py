"""The goal of an ALFWorld task, from its key, its parameters or its sentence.

Three sources say the same thing and must agree: the task folder's name, ``pddl_params`` of ``traj_data.json``, and the
sentence after "Your task is to:". An agent sees only the sentence, so this module reads it with nothing but the
standard library.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Self, get_args

from proas.errors import DataError

__all__ = ["KINDS", "TASK_TYPES", "AlfWorldGoal", "GoalKind", "goal_sentence"]

GoalKind = Literal["pick", "look", "clean", "heat", "cool", "two"]
"""The six kinds of task that the benchmark plays."""

KINDS: tuple[GoalKind, ...] = get_args(GoalKind)

TASK_TYPES: Mapping[str, GoalKind] = {
    "pick_and_place_simple": "pick",
    "look_at_obj_in_light": "look",
    "pick_clean_then_place_in_recep": "clean",
    "pick_heat_then_place_in_recep": "heat",
    "pick_cool_then_place_in_recep": "cool",
    "pick_two_obj_and_place": "two",
}
"""Name of a task type in the release, and our short name for it."""

_TREATMENT: Mapping[GoalKind, str] = {"clean": "clean", "heat": "hot", "cool": "cool"}

# Sentences of the release, both wordings, most specific first. ``o`` object, ``r`` receptacle, ``l`` lamp.
_IN = r"(?:in/on|in|on|into|onto)"
_ART = r"(?:an?|some|the|one)"
_PLACE = rf"{_IN}(?: {_ART})? (?P<r>\S+)"
_SLICE = r"(?P<s>(?:slices? of|sliced) )?"
_TEMPLATES: tuple[tuple[GoalKind | Literal["treated"], str], ...] = (
    ("look", rf"(?:look at|examine)(?: {_ART})? {_SLICE}(?P<o>\S+) (?:under|with|in) (?:the|an?) (?P<l>\S+)"),
    ("two", rf"find two {_SLICE}(?P<o>\S+) and put (?:them|it) {_PLACE}"),
    ("two", rf"put two {_SLICE}(?P<o>\S+) {_PLACE}"),
    ("treated", rf"(?P<v>clean|heat|cool) {_ART} {_SLICE}(?P<o>\S+) and put (?:it|them) {_PLACE}"),
    ("treated", rf"put {_ART} (?P<v>clean|hot|cool|cold) {_SLICE}(?P<o>\S+) {_PLACE}"),
    ("pick", rf"(?P<s>slice) (?:{_ART} )?(?P<o>\S+) and put (?:it |them )?{_PLACE}"),
    ("pick", rf"put (?:{_ART} )?{_SLICE}(?P<o>\S+) {_PLACE}"),
    ("pick", rf"find {_ART} {_SLICE}(?P<o>\S+) and put (?:it|them) {_PLACE}"),  # in the earliest recorded episodes
)
_SENTENCES = tuple((kind, re.compile(pattern)) for kind, pattern in _TEMPLATES)
_WORD_KIND: Mapping[str, GoalKind] = {
    "clean": "clean",
    "heat": "heat",
    "hot": "heat",
    "cool": "cool",
    "cold": "cool",
}
_INTRO = re.compile(r"your task is to:\s*([^\n]*)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class AlfWorldGoal:
    """What has to be brought about.

    Attributes:
        kind: Which of the six kinds of task.
        object: Kind of the object to find, lower case as in the text (``alarmclock``).
        receptacle: Kind of the receptacle that takes it; empty for ``look``.
        lamp: Kind of the lamp to switch on; empty for all but ``look``.
        sliced: The object must be sliced as well.
    """

    kind: GoalKind
    object: str
    receptacle: str = ""
    lamp: str = ""
    sliced: bool = False

    def __post_init__(self) -> None:
        """Refuse a goal that lacks its second half or has both."""
        if not self.object or bool(self.lamp) != (self.kind == "look") or bool(self.receptacle) == bool(self.lamp):
            raise DataError(
                f"incomplete ALFWorld goal: kind {self.kind!r}, object {self.object!r}, "
                f"receptacle {self.receptacle!r}, lamp {self.lamp!r}"
            )

    @property
    def count(self) -> int:
        """How many objects of the kind are needed."""
        return 2 if self.kind == "two" else 1

    @property
    def treatment(self) -> str:
        """``clean``, ``hot`` or ``cool`` where the object must be treated, else empty."""
        return _TREATMENT.get(self.kind, "")

    @classmethod
    def from_task_key(cls, key: str) -> Self:
        """Goal of a task by its folder name, with or without the trial after it.

        Args:
            key: For example ``pick_heat_then_place_in_recep-Apple-None-DiningTable-26/trial_T20190907_060234_011675``.

        Raises:
            DataError: The name does not have the release's form, or its task type is not one of the six.
        """
        folder = key.strip("/").split("/")[0]
        parts = folder.split("-")
        if len(parts) != 5:
            raise DataError(f"{folder!r} is not the name of an ALFWorld task", hint=_KEY_HINT)
        task_type, obj, movable, target, _scene = parts
        if movable != "None":
            raise DataError(f"{folder!r}: movable receptacles are not part of the benchmark", hint=_KEY_HINT)
        sliced = obj.endswith("Sliced")
        return cls._of(task_type, obj.removesuffix("Sliced"), target, sliced=sliced)

    @classmethod
    def from_params(cls, task_type: str, params: Mapping[str, Any]) -> Self:
        """Goal of a trial by ``task_type`` and ``pddl_params`` of its ``traj_data.json``.

        Raises:
            DataError: A parameter is missing or of the wrong type, or the task type is not one of the six.
        """
        if task_type not in TASK_TYPES:
            raise DataError(f"task type {task_type!r} is not one of the six of the benchmark", hint=_KEY_HINT)
        target = params.get("toggle_target" if TASK_TYPES[task_type] == "look" else "parent_target")
        obj = params.get("object_target")
        if not isinstance(obj, str) or not isinstance(target, str) or not obj or not target:
            raise DataError(f"pddl_params of a {task_type} task name no object or no target: {dict(params)!r}")
        if params.get("mrecep_target"):
            raise DataError("pddl_params name a movable receptacle, which is not part of the benchmark")
        return cls._of(task_type, obj, target, sliced=bool(params.get("object_sliced", False)))

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Goal from its sentence, alone or inside an observation that says "Your task is to: ...".

        Every template of both wordings is understood, sliced ones included.

        Raises:
            DataError: No known sentence is found.
        """
        found = _INTRO.search(text)
        sentence = re.sub(r"\s+", " ", (found.group(1) if found else text).strip().lower()).rstrip(" .!")
        for kind, pattern in _SENTENCES:
            match = pattern.fullmatch(sentence)
            if match is None:
                continue
            part = match.groupdict()
            return cls(
                _WORD_KIND[part["v"]] if kind == "treated" else kind,
                part["o"],
                part.get("r") or "",
                part.get("l") or "",
                sliced=bool(part.get("s")),
            )
        raise DataError(f"not a goal of ALFWorld: {sentence[:200]!r}", hint='for example "put a hot apple in fridge"')

    @classmethod
    def _of(cls, task_type: str, obj: str, target: str, *, sliced: bool) -> Self:
        kind = TASK_TYPES.get(task_type)
        if kind is None:
            raise DataError(f"task type {task_type!r} is not one of the six of the benchmark", hint=_KEY_HINT)
        if kind == "look":
            return cls(kind, obj.lower(), lamp=target.lower(), sliced=sliced)
        return cls(kind, obj.lower(), target.lower(), sliced=sliced)


_KEY_HINT = "known: " + ", ".join(TASK_TYPES)


def goal_sentence(goal: AlfWorldGoal) -> str:
    """The sentence that states a goal: the first of the release's two templates, with a full stop.

    The release draws one of its two templates at random when it writes a game file; where there is no game file this
    one is used.
    """
    o, r = goal.object, goal.receptacle
    if goal.kind == "look":
        return f"look at {'sliced ' if goal.sliced else ''}{o} under the {goal.lamp}."
    if goal.kind == "two":
        return f"put two {'sliced ' if goal.sliced else ''}{o} in {r}."
    if goal.kind == "pick":
        return f"put sliced {o} in {r}." if goal.sliced else f"put a {o} in {r}."
    return f"put a {goal.treatment} {'slice of ' if goal.sliced else ''}{o} in {r}."
