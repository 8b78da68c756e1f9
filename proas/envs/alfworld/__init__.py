"""ALFWorld's text games in pure Python: data, dynamics, goals, plans, policies and a generator of new games."""

from proas.envs.alfworld.data import Trial, TrialError, iter_trials, read_traj_data, sample_root, trial_at
from proas.envs.alfworld.engine import NOTHING_HAPPENS, AlfWorldEngine
from proas.envs.alfworld.env import DEFAULT_STEP_LIMIT, AlfWorldEnv
from proas.envs.alfworld.facts import AlfWorldFacts
from proas.envs.alfworld.game import Game, Snapshot
from proas.envs.alfworld.generator import GeneratedTrial, generate, generate_trial
from proas.envs.alfworld.goal import KINDS, TASK_TYPES, AlfWorldGoal, GoalKind, goal_sentence
from proas.envs.alfworld.load import iter_games, load_game
from proas.envs.alfworld.planner import ShortestPlans, all_shortest, find_plan
from proas.envs.alfworld.plans import ExecutedPlan, HighStep, carry_out, high_steps
from proas.envs.alfworld.policies import POLICIES, ExpertPolicy, NoisyPolicy, Policy, RandomPolicy, make_policy

__all__ = [
    "DEFAULT_STEP_LIMIT",
    "KINDS",
    "NOTHING_HAPPENS",
    "POLICIES",
    "TASK_TYPES",
    "AlfWorldEngine",
    "AlfWorldEnv",
    "AlfWorldFacts",
    "AlfWorldGoal",
    "ExecutedPlan",
    "ExpertPolicy",
    "Game",
    "GeneratedTrial",
    "GoalKind",
    "HighStep",
    "NoisyPolicy",
    "Policy",
    "RandomPolicy",
    "ShortestPlans",
    "Snapshot",
    "Trial",
    "TrialError",
    "all_shortest",
    "carry_out",
    "find_plan",
    "generate",
    "generate_trial",
    "goal_sentence",
    "high_steps",
    "iter_games",
    "iter_trials",
    "load_game",
    "make_policy",
    "read_traj_data",
    "sample_root",
    "trial_at",
]
