"""What verl loads by the entry point ``proas`` of the group ``verl.plugins``: trainers and agent loops.

verl imports this module whenever it is imported itself, in Ray's workers too, and logs a failure at DEBUG only:
``proas doctor`` says whether it was loaded.
"""

import verl  # isort: skip  (first: verl must be whole before its parts are imported)

from proas.integrations.verl import loops, trainers

__all__ = ["loops", "trainers"]

assert verl is not None
