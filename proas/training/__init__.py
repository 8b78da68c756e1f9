"""The reference trainer: a small language model that acts, every estimator, and the graph in the loop.

Needs the extra ``train`` (torch), except for settings (``proas.training.config``) and comparison.
"""
