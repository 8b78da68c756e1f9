"""Experiments on trained policies: what is changed on purpose, and what comes of it.

``noise`` puts unreasonable steps into what a policy sees of the past, ``suppress`` forbids it a step that it took, and
``labels`` compares what the graph calls reasonable with optimal play. Each is a function of a run's folder and a seed
and gives the same numbers again.
"""
