"""What a figure was measured on; every benchmark keeps it beside its figures."""

from __future__ import annotations

import platform
import sys
from pathlib import Path

import psutil

from proas.training.run_directory import processor

__all__ = ["machine"]


def machine() -> dict[str, object]:
    """The machine, and what else it does: call this before the measurement. With the command, its paths shortened."""
    words = [Path(word).name if Path(word).is_absolute() else word for word in sys.argv[1:]]
    return {
        "command": " ".join(["python", f"benchmarks/{Path(sys.argv[0]).name}", *words]),
        "processor": processor(),
        "cores": psutil.cpu_count(),
        "memory_gib": round(psutil.virtual_memory().total / 2**30, 1),
        "system": platform.platform(terse=True),
        "python": platform.python_version(),
        "load_average": round(psutil.getloadavg()[0], 1),
    }
