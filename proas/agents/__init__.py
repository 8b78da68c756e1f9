"""Language models as players: prompts, replies, endpoints and engines."""

from proas.agents.address import Address, api_key
from proas.agents.budget import BudgetSpent, Meter
from proas.agents.endpoint import ChatEndpoint, EndpointSettings
from proas.agents.model import Completion, LanguageModel, Message, Sampling, Usage
from proas.agents.opening import ModelChoice
from proas.agents.patience import Patience, Patient
from proas.agents.play import UNFINISHED, EpisodeSettings, Job, play_all, play_episode
from proas.agents.prompts import Prompter, PromptSettings, Turn
from proas.agents.replies import NO_ACTION, Reply, full_text, parse_reply
from proas.agents.words import EnvWords, register, words_for

__all__ = [
    "NO_ACTION",
    "UNFINISHED",
    "Address",
    "BudgetSpent",
    "ChatEndpoint",
    "Completion",
    "EndpointSettings",
    "EnvWords",
    "EpisodeSettings",
    "Job",
    "LanguageModel",
    "Message",
    "Meter",
    "ModelChoice",
    "Patience",
    "Patient",
    "PromptSettings",
    "Prompter",
    "Reply",
    "Sampling",
    "Turn",
    "Usage",
    "api_key",
    "full_text",
    "parse_reply",
    "play_all",
    "play_episode",
    "register",
    "words_for",
]
