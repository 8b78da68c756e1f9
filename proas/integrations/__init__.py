"""Thin adapters to other trainers."""
