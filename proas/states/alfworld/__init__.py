"""State identity in ALFWorld, from text and from the engine (DESIGN: facts are readable strings)."""

from proas.states.alfworld.commands import Command, parse_command, spoken_command
from proas.states.alfworld.engine import EngineObserver, Playing
from proas.states.alfworld.knowledge import FACTS, KNOWLEDGE, Knowledge, Mind, Noting
from proas.states.alfworld.ladders import PlanRung, goal_ladder, plan_ladder, without_falls
from proas.states.alfworld.memory import Memory
from proas.states.alfworld.text import ENV, TextObserver, goal_of, stated_goal

__all__ = [
    "ENV",
    "FACTS",
    "KNOWLEDGE",
    "Command",
    "EngineObserver",
    "Knowledge",
    "Memory",
    "Mind",
    "Noting",
    "PlanRung",
    "Playing",
    "TextObserver",
    "goal_ladder",
    "goal_of",
    "parse_command",
    "plan_ladder",
    "spoken_command",
    "stated_goal",
    "without_falls",
]
