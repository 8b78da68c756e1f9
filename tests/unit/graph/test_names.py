"""Names of graphs, whatever somebody types."""

from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proas.errors import UsageError
from proas.graph.names import check_graph_name

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
