"""The programs on docs/environments.md run as they stand."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest

PAGE = Path(__file__).resolve().parents[3] / "docs" / "environments.md"


@pytest.mark.skipif(os.name != "posix", reason="isolation needs a POSIX system")
def test_programs_of_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROAS_CACHE_DIR", str(tmp_path / "cache"))
    programs = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert len(programs) == 3
    names: list[dict[str, Any]] = [{"__name__": "__main__"} for _ in programs]
    for program, space in zip(programs, names, strict=True):
        exec(compile(program, PAGE.name, "exec"), space)
    assert names[0]["result"].info.valid
    assert all(turn.truncated for turn in names[1]["turns"].values())
    assert names[1]["vector"].faults == ()
    assert [rollout.id.rpartition("#")[2] for rollout in names[2]["rollouts"]] == list("0123") * 2
