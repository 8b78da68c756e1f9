"""What is wrong with a trainer's settings, told alike whoever asks."""

from __future__ import annotations

from pydantic import BaseModel, ValidationError

from proas.errors import UsageError

__all__ = ["setting_fault"]


def setting_fault(error: ValidationError, settings: type[BaseModel], called: str) -> UsageError:
    """The first fault of settings, as an error of the user's.

    Args:
        error: What pydantic found.
        settings: The settings that were asked for; their names are the hint.
        called: Words before the name of the faulty one.
    """
    first = error.errors(include_url=False, include_context=False)[0]
    name = ".".join(str(part) for part in first["loc"])
    return UsageError(f"{called}{name}: {first['msg']}", hint=f"settings: {', '.join(settings.model_fields)}")
