"""Temperatures at which nothing can be drawn are refused wherever they are given."""

from __future__ import annotations

from pathlib import Path

import pytest

from proas.agents import ModelChoice
from proas.errors import UsageError
from proas.training.config import TrainConfig
from proas.training.temperatures import require_temperatures

BAD = [float("inf"), float("nan"), -0.5, 1e-45, 0.009, 1e6]


@pytest.mark.parametrize("value", BAD)
def test_bad_ones_are_refused(value: float) -> None:
    with pytest.raises(UsageError, match=r"nothing can be drawn at temperature .*or 0 for the likeliest"):
        require_temperatures([1.0, value])
    with pytest.raises(UsageError, match="setting temperature="):
        TrainConfig().updated({"temperature": str(value)})
    with pytest.raises(UsageError, match=r"setting evaluation.temperatures.1="):
        TrainConfig().updated({"evaluation.temperatures": [0.4, value]})


def test_greedy_is_for_evaluations_alone() -> None:
    assert TrainConfig().updated({"evaluation.temperatures": "[0, 0.01, 1]"}).evaluation.temperatures == (0, 0.01, 1)
    require_temperatures([0.0, 0.01, 2.0])
    with pytest.raises(UsageError, match="setting temperature="):
        TrainConfig().updated({"temperature": 0})
    with pytest.raises(UsageError, match="nothing can be drawn at temperature 0"):
        require_temperatures([0.0], greedy=False)


@pytest.mark.parametrize("value", BAD)
def test_measuring_and_diagnosing_refuse_them(tmp_path: Path, value: float) -> None:
    pytest.importorskip("torch", reason="torch is not installed")
    from proas.training.interventions.bench import drawing_temperature
    from proas.training.measure import measure_run
    from proas.training.prompted import PromptedSettings, measure_prompted
    from proas.training.run_directory import RunDirectory

    with pytest.raises(UsageError, match="nothing can be drawn"):
        measure_run(RunDirectory(tmp_path), temperatures=(value,))
    with pytest.raises(UsageError, match="nothing can be drawn"):
        measure_prompted(TrainConfig(), PromptedSettings(ModelChoice("m", "http://localhost:1")), temperatures=(value,))
    with pytest.raises(UsageError, match="nothing can be drawn"):
        drawing_temperature(TrainConfig(), value)
    assert drawing_temperature(TrainConfig(), None) == 1.0
