"""ALFWorld's text games in pure Python: data, dynamics, goals, plans, policies and a generator of new games."""

from proas.envs.alfworld.data import Trial, TrialError, iter_trials, read_traj_data, trial_at
from proas.envs.alfworld.engine import NOTHING_HAPPENS, AlfWorldEngine
from proas.envs.alfworld.facts import AlfWorldFacts
from proas.envs.alfworld.game import Game, Snapshot
from proas.envs.alfworld.goal import AlfWorldGoal, goal_sentence
from proas.envs.alfworld.load import iter_games, load_game

__all__ = [
    "NOTHING_HAPPENS",
    "AlfWorldEngine",
    "AlfWorldFacts",
    "AlfWorldGoal",
    "Game",
    "Snapshot",
    "Trial",
    "TrialError",
    "goal_sentence",
    "iter_games",
    "iter_trials",
    "load_game",
    "read_traj_data",
    "trial_at",
]
