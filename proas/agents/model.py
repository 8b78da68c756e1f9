"""What a language model offers to whoever plays with it: messages in, one reply out, with its cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

from proas.errors import UsageError

__all__ = [
    "Completion",
    "LanguageModel",
    "Message",
    "Role",
    "Sampling",
    "Usage",
    "estimated_tokens",
    "most_tokens",
    "whole_text",
]

Role = Literal["system", "user", "assistant"]

_CHARACTERS_A_TOKEN = 4
"""English text under the usual vocabularies; only used where a server does not say what a call cost."""
_TOKENS_A_MESSAGE = 16
"""What a chat template adds to a message at most: role, marks, line breaks; templates at hand add 3 to 8."""


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation.

    Attributes:
        role: Who speaks.
        content: The words.
    """

    role: Role
    content: str


@dataclass(frozen=True, slots=True)
class Sampling:
    """How a reply is drawn.

    Attributes:
        temperature: 0 takes the likeliest token each time.
        top_p: Draw from the smallest set of tokens with this probability.
        max_tokens: Longest reply; a longer one is cut.
        stop: Texts at which the reply ends.
        seed: Seed of the draw where the server takes one; ``None`` sends none.

    Raises:
        UsageError: A value makes no sense.
    """

    temperature: float = 1.0
    top_p: float = 1.0
    max_tokens: int = 512
    stop: tuple[str, ...] = ()
    seed: int | None = None

    def __post_init__(self) -> None:
        """Refuse values that every server would refuse."""
        if not 0.0 <= self.temperature <= 10.0:
            raise UsageError(f"temperature {self.temperature} makes no sense", hint="usual values are 0 to 1.5")
        if not 0.0 < self.top_p <= 1.0:
            raise UsageError(f"top-p {self.top_p} is not in (0, 1]")
        if self.max_tokens < 1:
            raise UsageError(f"a reply needs at least one token, not {self.max_tokens}")


@dataclass(frozen=True, slots=True)
class Usage:
    """Cost of calls in tokens.

    Attributes:
        prompt: Tokens read.
        completion: Tokens written.
        estimated: Whether they were estimated from the text because the server did not say.
    """

    prompt: int = 0
    completion: int = 0
    estimated: bool = False

    @property
    def total(self) -> int:
        """All tokens."""
        return self.prompt + self.completion

    def __add__(self, other: Usage) -> Usage:
        """Both together; estimated as soon as one of them is."""
        return Usage(self.prompt + other.prompt, self.completion + other.completion, self.estimated or other.estimated)


@dataclass(frozen=True, slots=True)
class Completion:
    """One reply.

    Attributes:
        text: What was written. Empty where the server sent none.
        usage: What the call cost.
        finish: Why it ended, in the server's words: ``stop``, ``length``, ``content_filter``, ...
        reasoning: Thoughts that the server sends apart from the text (``reasoning_content``), else empty.
        wasted: Tokens that failed tries at the same call are believed to have cost.
        calls: Number of tries.
    """

    text: str
    usage: Usage
    finish: str = "stop"
    reasoning: str = ""
    wasted: int = 0
    calls: int = 1


@runtime_checkable
class LanguageModel(Protocol):
    """A model that continues conversations; any number of calls may be under way at once."""

    @property
    def name(self) -> str:
        """Name of the model."""
        ...

    async def complete(self, messages: Sequence[Message], sampling: Sampling) -> Completion:
        """The reply to a conversation.

        Raises:
            ModelUnavailable: No reply came; another try may bring one.
            ModelRefused: The request is refused and would be again.
        """
        ...

    async def check(self) -> tuple[str, ...] | None:
        """Look whether the model can be asked, at no cost.

        Returns:
            Names of the models that are there; ``None`` where nobody says.

        Raises:
            ModelError: It cannot.
        """
        ...

    async def aclose(self) -> None:
        """Let go of connections or of the engine."""
        ...


def estimated_tokens(text: str) -> int:
    """About how many tokens a text has, where nobody counted: a token for four characters."""
    return -(-len(text) // _CHARACTERS_A_TOKEN)


def most_tokens(messages: Sequence[Message]) -> int:
    """A bound on the tokens of a conversation: one for each byte, and the marks that a chat template adds."""
    bytes_ = sum(len(m.content.encode("utf-8", "replace")) + _TOKENS_A_MESSAGE for m in messages)
    return bytes_ + _TOKENS_A_MESSAGE  # the marks that ask for the reply


def whole_text(text: str) -> str:
    """The text without halves of characters, which JSON and Python can hold and UTF-8 cannot."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
