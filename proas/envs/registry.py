"""Environments by name: ours, and those that others register.

A package adds its own by an entry point of the group ``proas.plugins`` that names a module; the module calls
:func:`register` (and ``proas.states.register``) when it is imported. Without packaging, ``PROAS_PLUGINS`` holds names
of such modules, separated by commas. Both are read the first time that a name is looked up, in worker processes too.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from proas.envs.base import World
from proas.errors import EnvironmentFailure, ProASError, UsageError
from proas.plugins import load_plugins

__all__ = ["EnvKind", "EnvOption", "EnvSpec", "env_kind", "env_names", "open_world", "register"]


@dataclass(frozen=True, slots=True)
class EnvOption:
    """One setting of an environment beside its data.

    Attributes:
        name: Its name.
        help: What it does, in a line.
        default: Its value where none is given.
        choices: The values that it takes; empty where any text will do.
        chooses: Whether it decides which tasks there are; others say how the same tasks are told or played.
    """

    name: str
    help: str
    default: str = ""
    choices: tuple[str, ...] = ()
    chooses: bool = True


@dataclass(frozen=True, slots=True)
class EnvKind:
    """An environment that can be opened by name.

    Attributes:
        name: Its name, the ``env`` of its rollouts.
        summary: What it is, in a line.
        data: What its data is and where it is looked for, in a line.
        step_limit: Steps that an agent usually has.
        open: Opens its tasks from data (``None`` for its default) and a value for each of ``options``.
        options: Its settings.
        missing: Says what has to be installed before it can be opened; empty where nothing is missing.
        samples: Data of our own making that comes with the package, to try it on; ``None`` where it needs none.
    """

    name: str
    summary: str
    data: str
    step_limit: int
    open: Callable[[Path | None, Mapping[str, str]], World]
    options: tuple[EnvOption, ...] = ()
    missing: Callable[[], str] = lambda: ""
    samples: Callable[[], Path] | None = None

    def settled(self, options: Mapping[str, str]) -> dict[str, str]:
        """A value for every option.

        Raises:
            UsageError: An option is not known, or does not take that value.
        """
        known = {option.name: option for option in self.options}
        for name, value in options.items():
            if name not in known:
                hint = f"known: {', '.join(known)}" if known else "it has none"
                raise UsageError(f"{self.name} has no option {name!r}", hint=hint)
            choices = known[name].choices
            if choices and value not in choices:
                raise UsageError(f"{self.name}: option {name} cannot be {value!r}", hint=f"one of {', '.join(choices)}")
        return {name: options.get(name, option.default) for name, option in known.items()}


@dataclass(frozen=True, slots=True)
class EnvSpec:
    """What to open: plain values, so that it crosses process borders.

    Attributes:
        name: Name of the environment.
        data: Where its data lies; ``None`` for the environment's default.
        options: Values of its options; those left out take their defaults.
    """

    name: str
    data: Path | None = None
    options: Mapping[str, str] = field(default_factory=dict)


_KINDS: dict[str, EnvKind] = {}


def register(kind: EnvKind) -> None:
    """Make an environment known by its name. Registering the same kind again changes nothing.

    Raises:
        UsageError: The name is taken by another.
    """
    if _KINDS.setdefault(kind.name, kind) != kind:
        raise UsageError(f"an environment {kind.name!r} is registered already", hint="choose another name")


def env_names() -> Sequence[str]:
    """Names of the environments, sorted."""
    _load()
    return sorted(_KINDS)


def env_kind(name: str) -> EnvKind:
    """The environment of that name.

    Raises:
        UsageError: There is none.
    """
    _load()
    kind = _KINDS.get(name)
    if kind is None:
        raise UsageError(f"no environment is called {name!r}", hint="known: " + ", ".join(env_names()))
    return kind


def open_world(spec: EnvSpec) -> World:
    """Open the tasks of an environment.

    Raises:
        UsageError: The environment or an option is not known.
        EnvironmentFailure: Something that it needs is not installed, or a plug-in's environment fails.
        DataError: The data cannot be read.
    """
    kind = env_kind(spec.name)
    settled = kind.settled(spec.options)
    try:
        return kind.open(spec.data, settled)
    except ProASError:
        raise
    except Exception as error:
        if kind in _ours():
            raise
        frame = traceback.extract_tb(error.__traceback__)[-1]
        raise EnvironmentFailure(
            f"{spec.name} cannot be opened: {type(error).__name__}: {error}, raised at {frame.filename}:{frame.lineno}",
            hint="it comes from a plug-in: mend it there",
        ) from error


def _ours() -> Sequence[EnvKind]:
    from proas.envs.alfworld.world import ALFWORLD, ALFWORLD_KNOWLEDGE
    from proas.envs.scienceworld.world import SCIENCEWORLD
    from proas.envs.webshop.world import WEBSHOP

    return ALFWORLD, ALFWORLD_KNOWLEDGE, SCIENCEWORLD, WEBSHOP


def _load() -> None:
    for kind in _ours():
        _KINDS.setdefault(kind.name, kind)
    load_plugins()
