"""The reference engine, textworld with alfworld's wrappers, for comparison only (extra ``envs``).

Nothing else in the package needs it. Domain and grammar of the games that it plays come from the user's own install.
"""

from __future__ import annotations

import importlib.util
import json
import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from proas.envs.alfworld.data import Trial, Wording, read_json, read_text
from proas.envs.alfworld.goal import AlfWorldGoal, goal_sentence
from proas.errors import DataError, EnvironmentFailure

__all__ = ["ReferenceEngine", "game_document", "reference_missing", "write_game_file"]

_NEEDED = ("textworld", "alfworld", "fast_downward")
_HINT = "pip install 'proas[envs]' and run alfworld-download once"


def reference_missing() -> str:
    """Why the reference engine cannot be used; empty when it can."""
    missing = [name for name in _NEEDED if importlib.util.find_spec(name) is None]
    return f"not installed: {', '.join(missing)}" if missing else ""


class ReferenceEngine:
    """The reference behind the few calls that ``AlfWorldEngine`` has.

    Raises:
        EnvironmentFailure: It is not installed.
    """

    def __init__(self) -> None:
        if reason := reference_missing():
            raise EnvironmentFailure(f"the reference engine is {reason}", hint=_HINT)
        import textworld
        from alfworld.agents.environment.alfred_tw_env import AlfredDemangler
        from textworld.envs import PddlEnv

        infos = textworld.EnvInfos(won=True, admissible_commands=True)
        self._env = AlfredDemangler(PddlEnv(infos), shuffle=False)
        self._state: Any = None

    def load(self, game_file: Path | Mapping[str, Any]) -> str:
        """Load a game, from its file or its parsed document, and start it; the introduction."""
        document = json.loads(game_file.read_text(encoding="utf-8")) if isinstance(game_file, Path) else game_file
        self._env.load(document)
        return self.reset()

    def reset(self) -> str:
        """Start the game again; the introduction."""
        self._state = self._env.reset()
        return str(self._state.feedback)

    def step(self, command: str) -> tuple[str, bool]:
        """Carry out a command: the answer, and whether the goal holds."""
        self._state, _score, _done = self._env.step(command)
        return str(self._state.feedback), self.won

    def admissible(self) -> list[str]:
        """All commands that apply now, in alphabetical order."""
        return list(self._state["admissible_commands"])

    @property
    def won(self) -> bool:
        """Whether the goal holds now."""
        return bool(self._state["won"])


@lru_cache(maxsize=1)
def _domain_and_grammar() -> tuple[str, str]:
    """Domain and grammar of the installed alfworld.

    Raises:
        EnvironmentFailure: alfworld is not installed or carries no logic files.
    """
    spec = importlib.util.find_spec("alfworld")
    if spec is None or spec.origin is None:
        raise EnvironmentFailure("alfworld is not installed, so there is no domain and grammar", hint=_HINT)
    root = Path(spec.origin).parent
    domain = sorted(root.rglob("alfred.pddl"))
    grammar = sorted(root.rglob("alfred.twl2"))
    if not domain or not grammar:
        raise EnvironmentFailure(f"alfworld at {root} carries no alfred.pddl or alfred.twl2", hint=_HINT)
    return domain[0].read_text(encoding="utf-8"), grammar[0].read_text(encoding="utf-8")


_OLDER_GRAMMAR = (
    ("You arrive at {r.name}", "You arrive at {lend.name}"),
    ("You move the {o.name} to the {r.name}.", "You put the {o.name} in/on the {r.name}."),
    ('"move {o} to {r}"', '"put {o} in/on {r}"'),
)


def _older(domain: str, grammar: str) -> tuple[str, str]:
    """The same domain and grammar as the release 2.1.1 has them: sinks clean, the older wording, no help."""
    domain = domain.replace(";(receptacleType ?r SinkType)", "(receptacleType ?r SinkType)")
    domain = re.sub(r"\(:action help\b.*?\n\)\n", "", domain, flags=re.DOTALL)
    for now, then in _OLDER_GRAMMAR:
        grammar = grammar.replace(now, then)
    return domain, re.sub(r"\naction help \{.*?\n\}\n", "\n", grammar, flags=re.DOTALL)


def game_document(trial: Trial, wording: Wording = "move") -> dict[str, Any]:
    """What a ``game.tw-pddl`` of a trial holds, with the installed alfworld's domain and grammar.

    Args:
        trial: The trial.
        wording: ``put`` for the form that release 2.1.1 has.

    Raises:
        EnvironmentFailure: alfworld is not installed.
        TrialError: The trial lacks its initial state or its parameters.
    """
    domain, grammar = _domain_and_grammar()
    if wording == "put":
        domain, grammar = _older(domain, grammar)
    if trial.initial_state is None or trial.traj_data is None:
        raise DataError(f"{trial.key}: a game file needs initial_state.pddl and traj_data.json")
    document = read_json(trial.key, trial.traj_data)
    goal = AlfWorldGoal.from_params(str(document.get("task_type")), document.get("pddl_params") or {})
    task = goal_sentence(goal)
    return {
        "pddl_domain": domain,
        "grammar": grammar.replace("UNKNOWN GOAL", task.removesuffix(".") if "UNKNOWN GOAL." in grammar else task),
        "pddl_problem": read_text(trial.key, trial.initial_state),
        "solvable": True,
    }


def write_game_file(trial: Trial, wording: Wording = "move") -> Path:
    """Write ``game.tw-pddl`` into a trial's folder, so that the reference engine can play it.

    Raises:
        EnvironmentFailure: alfworld is not installed.
        TrialError: The trial lacks its initial state or its parameters.
    """
    path = trial.path / "game.tw-pddl"
    path.write_text(json.dumps(game_document(trial, wording)), encoding="utf-8")
    return path
