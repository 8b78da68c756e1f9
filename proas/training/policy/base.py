"""What the trainer asks of a language model that acts in an environment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from torch import Tensor, nn

__all__ = ["LanguagePolicy", "Session"]


class Session(Protocol):
    """B conversations under way, one a row, with all that was said so far."""

    def say(self, tokens: Sequence[Sequence[int]]) -> tuple[Tensor, Tensor]:
        """Append tokens to the rows.

        Args:
            tokens: Tokens of each row; where there are none, the row waits and its answer means nothing.

        Returns:
            Scores of each row's next token, ``(B, V)``, those that must not be said at minus infinity; and the
            critic's value of each row, ``(B,)``, zeros where there is no critic.
        """
        ...

    def keep(self, rows: Sequence[int]) -> None:
        """Go on with these rows alone, in this order."""
        ...


class LanguagePolicy(Protocol):
    """A causal language model with its tokenizer."""

    @property
    def module(self) -> nn.Module:
        """The weights."""
        ...

    @property
    def end(self) -> int:
        """Token that ends an action."""
        ...

    def read(self, text: str, limit: int) -> tuple[int, ...]:
        """Tokens of what the environment says, at most ``limit``; never none."""
        ...

    def read_action(self, action: str) -> tuple[int, ...]:
        """Tokens of an action, its end included."""
        ...

    def write(self, tokens: Sequence[int]) -> str:
        """The action that tokens spell."""
        ...

    def begin(self, prompts: Sequence[Sequence[int]]) -> tuple[Session, Tensor, Tensor]:
        """Open a conversation for each prompt; equal prompts are read once. Answers as :meth:`Session.say`."""
        ...

    def score(self, tokens: Tensor, rows: Tensor, places: Tensor) -> tuple[Tensor, Tensor]:
        """Score whole sequences at some of their places.

        Args:
            tokens: ``(B, T)``, filled up on the right.
            rows: Sequence of each place, ``(N,)``.
            places: Place whose next token is scored, ``(N,)``.

        Returns:
            Scores ``(N, V)`` and the critic's values ``(N,)``, as in :meth:`Session.say`.
        """
        ...

    def describe(self) -> dict[str, Any]:
        """What is needed to make the same model again, as plain JSON values; weights aside."""
        ...
