"""Makes a policy again from its description."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from proas.errors import DataError
from proas.training.policy.base import LanguagePolicy
from proas.training.policy.word_policy import WordPolicy

__all__ = ["load_flat", "policy_from_description"]


@torch.no_grad()
def load_flat(parameters: Iterable[nn.Parameter], flat: Tensor) -> None:
    """Set parameters, in their order, from one flat vector of weights."""
    at = 0
    for parameter in parameters:
        parameter.copy_(flat[at : at + parameter.numel()].view_as(parameter))
        at += parameter.numel()


def policy_from_description(document: Mapping[str, Any], *, critic: bool | None = None) -> LanguagePolicy:
    """A policy of the described kind, with fresh weights for our own and the stored ones for a model on disk.

    Args:
        document: From ``LanguagePolicy.describe``.
        critic: Add a value head, or leave it out; ``None``: as described.

    Raises:
        DataError: A kind that is not known.
    """
    if document.get("kind") == "word":
        return WordPolicy.from_description(document, critic=critic)
    if document.get("kind") == "huggingface":
        from proas.training.policy.huggingface import HuggingFacePolicy

        return HuggingFacePolicy.from_description(document, critic=critic)
    raise DataError(f"no policy of kind {document.get('kind')!r} is known", hint="take a checkpoint of proas train")
