"""Who is told how a training run goes, in tests. Needs no torch."""

from __future__ import annotations

__all__ = ["Silent"]


class Silent:
    """Watches and says nothing."""

    def phase(self, what: str) -> None:
        pass

    def metrics(self, row: dict[str, float]) -> None:
        pass

    def note(self, message: str) -> None:
        pass
