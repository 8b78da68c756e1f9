"""The builders of shaping's tests serve here too."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

_SPEC = importlib.util.spec_from_file_location(
    "shaping_builders", Path(__file__).parents[1] / "shaping" / "conftest.py"
)
assert _SPEC is not None
assert _SPEC.loader is not None
_BUILDERS = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(_BUILDERS)


@pytest.fixture
def rollout():
    """Builds labelled rollouts along places on a line."""
    return _BUILDERS._rollout
