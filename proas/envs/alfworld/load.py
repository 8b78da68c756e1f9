"""Loads games: each is parsed once and kept compact, on disk and in memory."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

from proas.envs.alfworld.archive import cache_root
from proas.envs.alfworld.data import (
    Trial,
    TrialError,
    TrialProblem,
    Wording,
    iter_trials,
    read_json,
    read_text,
    trial_at,
)
from proas.envs.alfworld.game import Game, build_game
from proas.envs.alfworld.goal import TASK_TYPES, AlfWorldGoal, goal_sentence
from proas.envs.alfworld.pddl import PddlError, UnsupportedGoal, goal_of, read_problem
from proas.envs.alfworld.rules import UnsupportedDomain, default_rules, rules_of, task_of
from proas.errors import DataError

__all__ = ["PARSER_VERSION", "forget_recent", "game_from_document", "iter_games", "load_game"]

PARSER_VERSION = 1
"""Part of every cache key; raised whenever the parsed form or its meaning changes."""


def load_game(trial: Trial | Path | str, *, wording: Wording | None = None, cached: bool = True) -> Game:
    """The game of a trial.

    A game file decides everything itself. Without one the initial state is used, its goal is checked against
    ``pddl_params``, and the task is stated in the first of the release's two templates.

    Args:
        trial: A trial, or the path of one.
        wording: Wording to use where there is no game file; by default that of the release folder, else ``move``.
        cached: Use the parsed form on disk and keep it there.

    Raises:
        TrialError: The trial cannot be played; ``problem`` says why.
    """
    found = trial if isinstance(trial, Trial) else trial_at(trial)
    if found.game_file is not None:
        text = read_text(found.key, found.game_file)
        return _cached(_Source(found.key, "game", text, "", ""), cached=cached)
    if found.withheld:
        raise TrialError(found.key, "no_game", "the release has no game for this trial")
    if found.initial_state is None:
        raise TrialError(found.key, "no_game", "neither game.tw-pddl nor initial_state.pddl")
    params = _params(found)
    text = read_text(found.key, found.initial_state)
    return _cached(_Source(found.key, wording or found.wording, text, *params), cached=cached)


def iter_games(
    path: Path | str | None = None, *, wording: Wording | None = None
) -> Iterator[tuple[Trial, Game | TrialError]]:
    """Every trial under a path with its game, or with the reason why it has none.

    Raises:
        DataError: As ``iter_trials`` does.
    """
    for trial in iter_trials(path):
        try:
            yield trial, load_game(trial, wording=wording)
        except TrialError as error:
            yield trial, error


class _Source(NamedTuple):
    """All that determines a game; ``kind`` is ``game`` or a wording."""

    key: str
    kind: str
    text: str
    task_type: str
    params: str

    @property
    def digest(self) -> str:
        """Content hash, the parser's version included."""
        whole = json.dumps([PARSER_VERSION, *self], ensure_ascii=False)
        return blake2b(whole.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def _params(trial: Trial) -> tuple[str, str]:
    """Task type and, as JSON, parameters of a trial's ``traj_data.json``; empty where there is none."""
    if trial.traj_data is None:
        return "", ""
    document = read_json(trial.key, trial.traj_data)
    task_type, params = document.get("task_type"), document.get("pddl_params")
    if not isinstance(task_type, str) or not isinstance(params, dict):
        raise TrialError(trial.key, "bad_json", "traj_data.json lacks task_type or pddl_params")
    return task_type, json.dumps(params, sort_keys=True)


_recent: dict[str, Game] = {}
_RECENT_LIMIT = 512


def forget_recent() -> None:
    """Drop the games kept in memory; those on disk stay."""
    _recent.clear()


def _cached(source: _Source, *, cached: bool) -> Game:
    digest = source.digest
    game = _recent.pop(digest, None)
    if game is None and cached:
        game = _read_cache(digest)
    if game is None:
        game = _parse(source)
        if cached:
            _write_cache(digest, game)
    _recent[digest] = game
    while len(_recent) > _RECENT_LIMIT:
        _recent.pop(next(iter(_recent)), None)
    return game


def _parse(source: _Source) -> Game:
    key, kind, text, task_type, params = source
    with _problems_of(key):
        if kind == "game":
            return _from_game_file(key, text)
        wording: Wording = "put" if kind == "put" else "move"
        return _from_initial_state(key, text, wording, task_type, params)


@contextmanager
def _problems_of(key: str) -> Iterator[None]:
    """Turn what the readers raise into the trial's own problem."""
    try:
        yield
    except UnsupportedDomain as error:
        raise TrialError(key, "unsupported_domain", error.message) from error
    except PddlError as error:
        problem: TrialProblem = "unsupported_task" if isinstance(error, UnsupportedGoal) else "bad_pddl"
        raise TrialError(key, problem, error.message) from error


def _from_game_file(key: str, text: str) -> Game:
    return _from_document(key, read_json(key, Path("game.tw-pddl"), text))


def game_from_document(key: str, document: dict[str, Any]) -> Game:
    """The game of a parsed ``game.tw-pddl``, wherever it came from.

    Raises:
        TrialError: It cannot be played.
    """
    with _problems_of(key):
        return _from_document(key, document)


def _from_document(key: str, document: dict[str, Any]) -> Game:
    parts = [document.get(name) for name in ("pddl_domain", "grammar", "pddl_problem")]
    domain, grammar, problem_text = (part if isinstance(part, str) else None for part in parts)
    if domain is None or grammar is None or problem_text is None:
        raise TrialError(key, "bad_json", "game.tw-pddl lacks pddl_domain, grammar or pddl_problem")
    if not document.get("solvable", True):
        raise TrialError(key, "unsolvable", "marked unsolvable by the release")
    problem = read_problem(problem_text)
    if problem.goal is None:
        raise PddlError("has no goal")
    return build_game(problem, goal_of(problem.goal), task_of(grammar), rules_of(domain, grammar), key)


def _from_initial_state(key: str, text: str, wording: Wording, task_type: str, params: str) -> Game:
    problem = read_problem(text)
    stated = _stated_goal(key, task_type, params)
    goal = stated if problem.goal is None else goal_of(problem.goal)
    if goal is None:
        raise PddlError("neither initial_state.pddl nor traj_data.json states a goal")
    if stated is not None and stated != goal:
        raise PddlError(f"the goal in initial_state.pddl is {goal}, the one in pddl_params {stated}")
    return build_game(problem, goal, f"Your task is to: {goal_sentence(goal)}", default_rules(wording), key)


def _stated_goal(key: str, task_type: str, params: str) -> AlfWorldGoal | None:
    if not task_type:
        return None
    if task_type not in TASK_TYPES:
        raise TrialError(key, "unsupported_task", f"task type {task_type!r} is not one of the six of the benchmark")
    try:
        return AlfWorldGoal.from_params(task_type, json.loads(params))
    except DataError as error:
        raise TrialError(key, "bad_json", error.message) from error


@lru_cache(maxsize=1)
def _cache_folder(root: Path) -> Path | None:
    folder = root / f"games-v{PARSER_VERSION}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return None
    return folder


def _read_cache(digest: str) -> Game | None:
    folder = _cache_folder(cache_root())
    if folder is None:
        return None
    try:
        return Game.from_json(json.loads((folder / f"{digest}.json").read_bytes()))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, DataError):
        return None  # absent, or half-written by a killed run: parse again


def _write_cache(digest: str, game: Game) -> None:
    folder = _cache_folder(cache_root())
    if folder is None:
        return
    with suppress(OSError):  # a cache that cannot be written costs time, nothing else
        handle, scratch = tempfile.mkstemp(prefix=".partial-", dir=folder)
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as stream:
                json.dump(game.to_json(), stream, separators=(",", ":"))
            Path(scratch).replace(folder / f"{digest}.json")
        except OSError:
            Path(scratch).unlink(missing_ok=True)
