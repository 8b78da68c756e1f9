"""What a figure was measured on; every benchmark keeps it beside its figures."""

from __future__ import annotations

import platform
from pathlib import Path

import psutil

__all__ = ["machine"]


def machine() -> dict[str, object]:
    """The machine, and what else it does: call this before the measurement."""
    return {
        "processor": _processor(),
        "cores": psutil.cpu_count(),
        "memory_gib": round(psutil.virtual_memory().total / 2**30, 1),
        "system": platform.platform(terse=True),
        "python": platform.python_version(),
        "load_average": round(psutil.getloadavg()[0], 1),
    }


def _processor() -> str:
    """Its processor's name, as far as the system tells."""
    listing = Path("/proc/cpuinfo")
    lines = listing.read_text(encoding="utf-8").splitlines() if listing.is_file() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()
