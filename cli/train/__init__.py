"""The reference trainer on the command line: ``proas train``, ``eval``, ``compare``, ``ablate``, ``evidence``."""

from proas.cli.train.ablate import ablate
from proas.cli.train.compare import compare
from proas.cli.train.evaluate import evaluate
from proas.cli.train.evidence import app as evidence_app
from proas.cli.train.train import train

__all__ = ["ablate", "compare", "evaluate", "evidence_app", "train"]
