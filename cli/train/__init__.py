"""``proas train``, ``proas eval`` and ``proas compare``: the reference trainer on the command line."""

from proas.cli.train.compare import compare
from proas.cli.train.evaluate import evaluate
from proas.cli.train.train import train

__all__ = ["compare", "evaluate", "train"]
