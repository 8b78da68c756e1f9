"""What a prompt says of each environment: who the agent is, what it can do, and by which rules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from proas.envs import env_kind
from proas.errors import UsageError
from proas.plugins import load_plugins

__all__ = ["EnvWords", "register", "words_for"]


def _as_they_are(admissible: Sequence[str]) -> tuple[str, ...]:
    return tuple(admissible)


@dataclass(frozen=True, slots=True)
class EnvWords:
    """What a prompt says of one environment.

    Attributes:
        name: Name of the environment.
        role: Who the agent is and where, in a sentence or two.
        rules: What it should know of the actions, a line each.
        example: An action as it is written, for the form of the answer.
        offered: What is listed as admissible, from what the environment lists.
    """

    name: str
    role: str
    rules: tuple[str, ...] = ()
    example: str = "look"
    offered: Callable[[Sequence[str]], tuple[str, ...]] = _as_they_are


def _shop_offers(admissible: Sequence[str]) -> tuple[str, ...]:
    """The clicks; for the search bar the form of a search, not the one search that the environment names for all."""
    clicks = tuple(action for action in admissible if not action.startswith("search["))
    return clicks if len(clicks) == len(admissible) else (*clicks, "search[your own words]")


_ALFWORLD = EnvWords(
    name="alfworld",
    role="You are an agent in a household. You move between pieces of furniture, look into them, and handle objects "
    "by text commands until the task is done.",
    rules=(
        "You carry at most one object at a time.",
        "Closed furniture must be opened before you see or take what is in it.",
        "To clean, heat or cool an object, carry it to a sinkbasin, microwave or fridge and name both in the command.",
        "To look at an object under a lamp, hold it and use the lamp.",
        "'Nothing happens.' means that the command does not apply: do something else.",
    ),
    example="go to desk 1",
)
_KNOWING = replace(_ALFWORLD, name="alfworld-knowledge")  # the same games
_WEBSHOP = EnvWords(
    name="webshop",
    role="You are an agent that shops on a web site. You search, open products, choose options and buy the one "
    "product that fits the instruction in everything: its kind, its features, its options and its price.",
    rules=(
        "Write search[words] to search.",
        "Write click[name] to follow a link or button, open a product by its number, or choose an option by its value.",
        "Choose every option that the instruction names before click[buy now].",
        "Buying ends the task, and it cannot be undone.",
    ),
    example="search[red cotton shirt]",
    offered=_shop_offers,
)
_SCIENCEWORLD = EnvWords(
    name="scienceworld",
    role="You are an agent in a small world of rooms, tools and substances, and carry out a scientific task by text "
    "commands.",
    rules=(
        "Doors must be open before you go through them.",
        "Some tasks ask you to focus on an object: focus only on what the task asks for, since a wrong focus ends it.",
        "Some changes take time: wait, and look again.",
    ),
    example="open door to kitchen",
)

_WORDS: dict[str, EnvWords] = {words.name: words for words in (_ALFWORLD, _KNOWING, _WEBSHOP, _SCIENCEWORLD)}


def register(words: EnvWords) -> None:
    """Make the words for an environment known. Registering the same ones again changes nothing.

    Raises:
        UsageError: Others are registered for it already.
    """
    if _WORDS.setdefault(words.name, words) != words:
        raise UsageError(f"words for environment {words.name!r} are registered already")


def words_for(env: str) -> EnvWords:
    """The words for an environment; plain ones from its summary where none are registered.

    Raises:
        UsageError: There is no such environment.
    """
    load_plugins()
    known = _WORDS.get(env)
    if known is not None:
        return known
    summary = env_kind(env).summary.rstrip(".")
    return EnvWords(env, f"You are an agent that solves tasks by text commands ({summary}).")
