"""The page names every setting with its default."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from proas.training.config import ALGORITHMS, TrainConfig

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "training.md").read_text(encoding="utf-8")


def settings(document: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in document.items():
        if isinstance(value, dict) and value:
            yield from settings(value, f"{before}{name}.")
        else:
            yield before + name, value


def test_the_page_names_every_setting_with_its_default() -> None:
    for name, value in settings(TrainConfig().to_dict()):
        if name == "preset" or name.startswith("shaping."):
            continue
        if value in ("", {}):
            shown = ""
        else:
            text = value if isinstance(value, str) else "none" if value is None else json.dumps(value)
            shown = f"`{text}`"
        assert f"| `{name}` | {shown} |" in PAGE, name


def test_the_page_names_every_algorithm() -> None:
    for algorithm in ALGORITHMS:
        assert f"| `{algorithm}` |" in PAGE
