"""``python -m proas.cli``: the same program, where the script is not on the path."""

from proas.cli.app import run

run()
