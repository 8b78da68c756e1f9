"""Names of graphs, whatever somebody types."""

from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proas.errors import UsageError
from proas.graph.names import check_graph_name, check_run_name

LETTERS = string.ascii_letters + string.digits
NASTY = st.text(alphabet=st.sampled_from(list("ab0._-`'\"\\\n\r\t {}$;/é\u2028\x00")), max_size=12)


@given(NASTY | st.text(max_size=120))
def test_a_name_is_accepted_or_refused_as_a_whole(name):
    good = 1 <= len(name) <= 100 and name[0] in LETTERS and set(name) <= set(LETTERS + "._-")
    if good:
        assert check_graph_name(name) == name
    else:
        with pytest.raises(UsageError):
            check_graph_name(name)


@given(NASTY | st.text(max_size=220))
def test_a_run_has_a_name_that_fits_a_table(run):
    if len(run) <= 200 and run.isprintable():
        assert check_run_name(run) == run
    else:
        with pytest.raises(UsageError):
            check_run_name(run)


@pytest.mark.parametrize("check", [check_graph_name, check_run_name])
def test_a_message_does_not_repeat_a_page_of_nonsense(check):
    with pytest.raises(UsageError) as caught:
        check("x" * 100_000)
    assert len(str(caught.value)) < 250
