"""Tests of experiments make runs: they need torch."""

from __future__ import annotations

from importlib.util import find_spec

if find_spec("torch") is None:
    collect_ignore_glob = ["test_*.py"]
else:
    import torch

    torch.set_num_threads(1)  # small tensors; threads would only wait for one another


def pytest_report_header() -> str | None:
    return None if find_spec("torch") else "experiments: torch is not installed (extra `train`), tests are left out"
