"""Experiments as committed files: plans, runs that go on where they ended, results, tables, figures, the report page.

::

    plans/*.toml ──► schedule ──► runs (proas train) ──► records (JSON) ──► tables, figures ──► docs/evidence.md

What is compared is an *arm*: an algorithm with its shaping and settings. Its runs differ in their seeds.
"""
