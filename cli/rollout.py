"""x."""

from __future__ import annotations


def rollout() -> None:
    """Draft."""
