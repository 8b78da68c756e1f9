"""ScienceWorld's states: from the simulator's hidden state, and from text alone."""

from proas.states.scienceworld.engine import SimulatorObserver
from proas.states.scienceworld.kind import SCIENCEWORLD, SimulatorFollower
from proas.states.scienceworld.ladders import task_ladder
from proas.states.scienceworld.text import TIME_PASSES, TextObserver

__all__ = [
    "SCIENCEWORLD",
    "TIME_PASSES",
    "SimulatorFollower",
    "SimulatorObserver",
    "TextObserver",
    "task_ladder",
]
