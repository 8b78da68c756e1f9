"""How episodes of ALFWorld read."""

from __future__ import annotations

import re
from typing import Any

from proas.envs.alfworld.goal import AlfWorldGoal
from proas.errors import DataError
from proas.graph_builders.trajectories.dialects.alfworld_goal import missing
from proas.graph_builders.trajectories.dialects.base import Dialect
from proas.graph_builders.trajectories.episodes import Call
from proas.rollouts import Rollout
from proas.states.alfworld.answers import Answer, read_answer
from proas.states.alfworld.commands import is_thought, spoken_command
from proas.states.alfworld.text import goal_of

__all__ = ["AlfWorldDialect"]

_KEY = re.compile(r"([a-z_]+(?:-[A-Za-z]+){3}-\d+)/([A-Za-z0-9_.-]+)")
_ROOM = re.compile(r"you are in the middle of a room", re.IGNORECASE)
_WELCOME = re.compile(r"-=[^\n]*=-\s*\Z")
_SEEN = re.compile(r"looking quickly around you, you see ([^.]*)\.", re.IGNORECASE)
_NAMED = re.compile(r"\ban? ([a-z][a-z_'-]* [0-9]+)", re.IGNORECASE)
_TASK = re.compile(r"your task is to:[ \t]*([^\n]+)", re.IGNORECASE)

_FUNCTIONS = {"goto": "go to", "go": "go to", "go_to": "go to", "toggle": "use", "pick_up": "take", "pick": "take"}
_JOINTS = {
    "take": "from",
    "put": "in/on",
    "move": "to",
    "heat": "with",
    "cool": "with",
    "clean": "with",
    "slice": "with",
}


class AlfWorldDialect(Dialect):
    """Both wordings, prompts around the first observation, and keys in paths of game files."""

    def key_in(self, words: str) -> str:
        """Task and trial, ``<task>/<trial>``, as in the path of a ``game.tw-pddl``."""
        found = list(_KEY.finditer(words))
        if not found or found[-1].group(2) in ("game.tw-pddl", "traj_data.json"):
            return ""
        key = f"{found[-1].group(1)}/{found[-1].group(2)}"
        try:
            AlfWorldGoal.from_task_key(key)
        except DataError:
            return ""
        return key

    def first_observation(self, observation: str, context: str) -> str:
        """From the last description of a room on: what stands before it in a prompt are instructions and examples."""
        told = observation if _ROOM.search(observation) else context
        rooms = list(_ROOM.finditer(told))
        if not rooms:
            return observation
        begin = rooms[-1].start()
        welcome = _WELCOME.search(told[:begin])
        text = told[welcome.start() if welcome else begin :].strip()
        stated = list(_TASK.finditer(told))
        return text if _TASK.search(text) or not stated else f"{text}\nYour task is to: {stated[-1].group(1).strip()}"

    def signature(self, goal: str, observation: str) -> tuple[object, ...] | None:
        """The goal, in either template, and what stands in the room."""
        seen = _SEEN.search(observation)
        furniture = [] if seen is None else sorted(name.lower() for name in _NAMED.findall(seen.group(1)))
        if not furniture:  # "you see nothing": a look in mid-room, which is no first observation
            return None
        try:
            wanted = AlfWorldGoal.from_text(goal)
        except DataError:
            return None
        told = (wanted.kind, wanted.object, wanted.receptacle, wanted.lamp, wanted.sliced)
        return (*told, furniture)

    def worded(self, call: Call) -> str:
        """``take`` of two arguments as ``take a from b``, by AgentGym's names of functions too."""
        values = [str(value).strip() for value in call.arguments.values() if isinstance(value, str | int)]
        verb = _FUNCTIONS.get(call.name.lower(), call.name.lower())
        if verb in _JOINTS and len(values) == 2:
            return f"{verb} {values[0]} {_JOINTS[verb]} {values[1]}"
        if verb in ("go to", "open", "close", "use", "examine", "look", "inventory", "help"):
            return " ".join((verb, *values[:1]))
        return super().worded(call)

    def doubt(self, rollout: Rollout, *, least: float) -> str:
        """The goal as far as text shows it: the object treated and put where it belongs, or held under the lamp."""
        del least
        goal = goal_of(rollout.task, rollout.goal, rollout.observation)
        return "" if goal is None else missing(goal, rollout)

    def says_nothing(self, observation: str) -> bool:
        """None of the game's sentences."""
        return read_answer(observation).reply == "unknown"

    def command(self, env: Any, action: str, answer: str) -> str | None:
        """The command in the wording of the game that is played; words that were refused as they are.

        What was refused may have been in the wording of another release, and would be taken in the right one.
        """
        command = spoken_command(action)
        if command is None:
            return None if is_thought(action) else action
        if read_answer(answer).reply == "refused":
            return action
        if command.verb == "move" and env.game.rules.wording == "put":
            return f"put {command.object} in/on {command.target}"
        return command.canonical

    def difference(self, recorded: str, ours: str, task: str) -> str:
        """What was carried out, what it showed, and of a first observation the furniture; never the wording."""
        room, mine = _SEEN.search(recorded), _SEEN.search(ours)
        if room is not None and mine is not None:
            there, here = (set(_NAMED.findall(seen.group(1).lower())) for seen in (room, mine))
            return "" if there == here else f"another room: only one of them has {', '.join(sorted(there ^ here)[:4])}"
        theirs, told = read_answer(recorded), read_answer(ours)
        if _told(theirs) == _told(told) or (
            theirs.reply == "sight" and not theirs.receptacle and told.reply != "refused"
        ):
            return ""
        return super().difference(recorded, ours, task)


def _told(answer: Answer) -> tuple[object, ...]:
    """What an answer tells, the same in both wordings and with or without the words of an arrival."""
    if answer.reply in ("refused", "noted", "unknown"):
        return (answer.reply,)
    shown = (answer.receptacle, answer.opened, tuple(sorted(answer.contents)))
    command = answer.command
    if command is None or command.verb in ("go", "examine"):
        return ("sees", *(shown if answer.receptacle or command is None else (command.object, None, ())))
    return ("done", command.canonical, answer.off, *(shown if command.verb == "open" else ()))
