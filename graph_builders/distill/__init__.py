"""Reference graphs from what a language model manages to solve."""

from proas.graph_builders.distill.builder import DistillBuilder
from proas.graph_builders.distill.coverage import Coverage
from proas.graph_builders.distill.filters import QualityFilter
from proas.graph_builders.distill.settings import Budget, DistillSettings

__all__ = ["Budget", "Coverage", "DistillBuilder", "DistillSettings", "QualityFilter"]
