"""The real data, the real shop, and a graph in a migrated database."""

from __future__ import annotations

from pathlib import Path

import pytest

from proas.envs.webshop import Shop, WebShopGoal, open_shop


@pytest.fixture(scope="session")
def webshop_data(data_dir: Path) -> Path:
    folder = data_dir / "webshop"
    if not folder.is_dir():
        pytest.skip(f"no WebShop data at {folder}")
    return folder


@pytest.fixture(scope="session")
def real_shop(webshop_data: Path) -> tuple[Shop, tuple[WebShopGoal, ...]]:
    return open_shop(webshop_data)
