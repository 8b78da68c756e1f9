"""Reference graphs of ALFWorld games from their annotated plans."""

from proas.graph_builders.alfworld.builder import AlfWorldBuilder

__all__ = ["AlfWorldBuilder"]
