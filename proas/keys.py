"""Keys: the same situation gets the same key on any machine, in any order of its facts, next year.

A key is the hex form of a BLAKE2b digest of 128 bits over canonical JSON: UTF-8, no white space, sorted facts, no
escapes beyond those JSON demands. Python's ``hash`` is salted per process and is never used.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from hashlib import blake2b

__all__ = ["KEY_VERSION", "digest", "state_key", "transition_key"]

KEY_VERSION = 1
"""Part of every key; raised whenever the canonical form or a projection of facts changes its meaning."""

_canonical = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), sort_keys=True).encode  # made once: it is hot
_quoted = json.encoder.encode_basestring  # what the encoder itself does with a text


def digest(*parts: object) -> str:
    """Digest of JSON-serialisable parts as 32 hex digits."""
    return _hashed(_canonical(parts))


def _hashed(text: str) -> str:
    # Lone surrogates are legal in Python strings and illegal in UTF-8; they must still map to one key.
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def state_key(env: str, task: str, facts: Iterable[str]) -> str:
    """Key of a state.

    Args:
        env: Name of the environment, for example ``alfworld``.
        task: Key of the task that the state belongs to.
        facts: The progress-relevant facts; order and repetition do not matter.

    Returns:
        32 hex digits.
    """
    return digest("state", KEY_VERSION, env, task, sorted(set(facts)))


def transition_key(source: str, action: str, target: str) -> str:
    """Key of the transition ``(s, a, s')``.

    Args:
        source: Key of the state ``s``.
        action: Canonical action ``a``.
        target: Key of the state ``s'``.

    Returns:
        32 hex digits.
    """
    # The canonical JSON of ["transition", version, source, action, target], written out: batches ask for thousands.
    text = f'["transition",{KEY_VERSION},{_quoted(source)},{_quoted(action)},{_quoted(target)}]'
    return _hashed(text)
