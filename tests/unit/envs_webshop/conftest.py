"""The sample shop and its goals."""

from __future__ import annotations

import pytest

from proas.envs.webshop import Shop, WebShopGoal, open_shop


@pytest.fixture(scope="session")
def opened() -> tuple[Shop, tuple[WebShopGoal, ...]]:
    return open_shop()
