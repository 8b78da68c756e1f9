"""Pipelines that seed a reference graph."""
