"""From what a user names to a model: an endpoint's address, or an engine in this process."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import SecretStr

from proas.agents.address import Address, api_key
from proas.agents.endpoint import ChatEndpoint, EndpointSettings
from proas.agents.model import LanguageModel
from proas.errors import UsageError

__all__ = ["ENGINES", "ModelChoice"]

ENGINES = ("vllm",)


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """Which model, and where it runs.

    Attributes:
        model: Its name, as the endpoint or engine knows it.
        endpoint: Address of an OpenAI-compatible endpoint.
        engine: Name of an engine in this process. Exactly one of the two is given.
        timeout: Seconds until a reply of an endpoint is there as a whole.
        options: Further fields of each request, or further arguments of the engine.
        key: The endpoint's key; ``None`` takes the one that the environment holds.
        connections: Most calls at once.

    Raises:
        UsageError: Neither or both of endpoint and engine are given, or one of them is not known.
    """

    model: str
    endpoint: str = ""
    engine: str = ""
    timeout: float = 180.0
    options: Mapping[str, Any] = field(default_factory=dict)
    key: SecretStr | None = None
    connections: int = 64

    def __post_init__(self) -> None:
        """Refuse what names no model."""
        if not self.model.strip():
            raise UsageError("no model is named", hint="give its name by --model")
        if bool(self.endpoint) == bool(self.engine):
            both = "both an endpoint and an engine are" if self.endpoint else "neither an endpoint nor an engine is"
            raise UsageError(f"{both} given", hint="give --endpoint URL or --engine vllm")
        if self.engine and self.engine not in ENGINES:
            raise UsageError(f"no engine is called {self.engine!r}", hint="known: " + ", ".join(ENGINES))
        if self.endpoint:
            Address.of(self.endpoint)
        if not self.timeout > 0:
            raise UsageError("the time-out must be positive")

    def open(self) -> LanguageModel:
        """The model, for one event loop; nothing is asked or loaded yet.

        Raises:
            UsageError: The environment's key cannot be read.
        """
        if self.engine:
            from proas.agents.vllm_engine import VllmEngine

            return VllmEngine(self.model, self.options)
        settings = EndpointSettings(
            self.model,
            Address.of(self.endpoint),
            key=self.key or api_key(),
            timeout=self.timeout,
            extra=self.options or None,
        )
        return ChatEndpoint(settings, connections=self.connections)
