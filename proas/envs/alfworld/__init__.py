"""ALFWorld's text games in pure Python: data, dynamics, goals, plans, policies and a generator of new games."""

from proas.envs.alfworld.data import Trial, TrialError, iter_trials, read_traj_data, trial_at
from proas.envs.alfworld.goal import AlfWorldGoal, goal_sentence

__all__ = ["AlfWorldGoal", "Trial", "TrialError", "goal_sentence", "iter_trials", "read_traj_data", "trial_at"]
