"""Reference graphs of ScienceWorld's tasks from the simulator's planned solutions."""

from proas.graph_builders.scienceworld.builder import DEFAULT_VARIATIONS, ScienceWorldBuilder, build_task

__all__ = ["DEFAULT_VARIATIONS", "ScienceWorldBuilder", "build_task"]
