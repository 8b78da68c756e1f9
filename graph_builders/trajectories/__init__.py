"""Reference graphs from logged episodes: AgentGym, TRL, ATIF, verl, ReAct, and rollouts of our own."""

from proas.graph_builders.trajectories.builder import TrajectoriesBuilder
from proas.graph_builders.trajectories.episodes import Aside, Episode, Turn
from proas.graph_builders.trajectories.formats import AUTO, FORMATS
from proas.graph_builders.trajectories.intake import Settings
from proas.graph_builders.trajectories.reading import find_files, read_episodes

__all__ = [
    "AUTO",
    "FORMATS",
    "Aside",
    "Episode",
    "Settings",
    "TrajectoriesBuilder",
    "Turn",
    "find_files",
    "read_episodes",
]
