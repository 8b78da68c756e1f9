"""x."""

from __future__ import annotations


def generate() -> None:
    """Draft."""
