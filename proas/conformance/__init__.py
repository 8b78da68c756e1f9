"""A suite that anybody runs against an environment of their own: is every label that will be made of it right?

In a test file::

    import pytest
    from proas.conformance import CHECKS, Conformance

    suite = Conformance("mine")

    @pytest.mark.parametrize("name", CHECKS)
    def test_my_environment_conforms(name):
        suite.require(name)

:func:`check` gives a report of all checks; ``proas env check mine`` shows it.
"""

from proas.conformance.report import Check, Counterexample, NonConformant, Report, Where
from proas.conformance.suite import CHECKS, Conformance, check

__all__ = ["CHECKS", "Check", "Conformance", "Counterexample", "NonConformant", "Report", "Where", "check"]
