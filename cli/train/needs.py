"""What training needs beyond the base installation."""

from __future__ import annotations

from importlib.util import find_spec

from proas.errors import UsageError

__all__ = ["require_torch"]


def require_torch() -> None:
    """Refuse to go on without torch.

    Raises:
        UsageError: It is not installed.
    """
    if find_spec("torch") is None:
        raise UsageError("training needs torch, which is not installed", hint="pip install 'proas[train]'")
