"""Settings of the language model. Needs no torch."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

__all__ = ["PolicySettings"]


def _absolute(folder: str) -> str:
    return str(Path(folder).resolve()) if folder else ""


Natural = Annotated[int, Field(ge=0)]
Count = Annotated[int, Field(ge=1)]
Folder = Annotated[str, AfterValidator(_absolute)]


class PolicySettings(BaseModel):
    """The language model.

    Attributes:
        model: Folder of a local Hugging Face causal language model, kept as an absolute path; empty for the small one
            of our own.
        vocabulary: Most tokens of our own tokenizer.
        phrases: Of these, at most so many runs of words.
        width: Width of our own decoder.
        layers: Its blocks.
        heads: Its query heads.
        key_heads: Its key heads.
        hidden: Width of its feed-forward part.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    model: Folder = ""
    vocabulary: Annotated[int, Field(ge=300)] = 1024
    phrases: Natural = 96
    width: Count = 128
    layers: Count = 2
    heads: Count = 4
    key_heads: Count = 1
    hidden: Count = 256
