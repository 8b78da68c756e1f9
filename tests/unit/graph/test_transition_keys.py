"""The transition key that is written out is the digest of its parts."""

from __future__ import annotations

import sys

from hypothesis import given
from hypothesis import strategies as st

from proas.keys import KEY_VERSION, digest, transition_key

TEXT = st.text(alphabet=st.characters(max_codepoint=sys.maxunicode, exclude_categories=()))


@given(TEXT, TEXT, TEXT)
def test_equal_to_the_digest(source, action, target):
    assert transition_key(source, action, target) == digest("transition", KEY_VERSION, source, action, target)


def test_it_does_not_change():
    """Graphs out there hold this key."""
    assert transition_key("a" * 32, 'say "ü" \\ \n', "b" * 32) == "e937c731c3ef6c9bfde2e9d687ad786c"
