"""Environments by name: what a look-up and an opening say when they fail."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from proas.envs import registry
from proas.envs.base import World
from proas.envs.registry import EnvKind, EnvOption, EnvSpec, env_kind, env_names, open_world, register
from proas.errors import EnvironmentFailure, UsageError


@pytest.fixture
def kinds(monkeypatch: pytest.MonkeyPatch) -> dict[str, EnvKind]:
    """The registry of this test alone."""
    env_names()
    mine = dict(registry._KINDS)
    monkeypatch.setattr(registry, "_KINDS", mine)
    return mine


def _broken(data: Path | None, options: Mapping[str, str]) -> World:
    raise KeyError("rooms")


def _kind(name: str) -> EnvKind:
    return EnvKind(
        name, "a game", "none", 10, _broken, options=(EnvOption("size", "how large", "small", ("small", "big")),)
    )


def test_ours_are_known() -> None:
    assert {"alfworld", "scienceworld", "webshop"} <= set(env_names())


def test_a_name_that_nobody_has_names_those_that_are_there() -> None:
    with pytest.raises(UsageError, match=r"no environment is called 'chess'.*alfworld"):
        env_kind("chess")


def test_a_plug_in_that_cannot_open_is_told_by_its_name(kinds: dict[str, EnvKind]) -> None:
    register(_kind("maze"))
    assert "maze" in env_names()
    with pytest.raises(EnvironmentFailure, match=r"maze cannot be opened: KeyError: 'rooms'"):
        open_world(EnvSpec("maze"))


def test_registering_twice(kinds: dict[str, EnvKind]) -> None:
    register(_kind("maze"))
    register(_kind("maze"))
    with pytest.raises(UsageError, match="registered already"):
        register(EnvKind("maze", "another game", "none", 10, _broken))


@pytest.mark.parametrize(
    ("options", "message"),
    [({"colour": "red"}, "no option 'colour'.*size"), ({"size": "huge"}, "cannot be 'huge'.*small, big")],
)
def test_options_are_checked(kinds: dict[str, EnvKind], options: dict[str, str], message: str) -> None:
    register(_kind("maze"))
    with pytest.raises(UsageError, match=message):
        open_world(EnvSpec("maze", options=options))


def test_options_that_are_left_out_take_their_defaults() -> None:
    assert _kind("maze").settled({}) == {"size": "small"}
    assert _kind("maze").settled({"size": "big"}) == {"size": "big"}
