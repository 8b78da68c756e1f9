"""``proas env list``: the environments, what they need, and whether they are ready here."""

from __future__ import annotations

from contextlib import closing
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from rich.console import RenderableType
from rich.text import Text

from proas.cli.console import Output, facts_table, plain
from proas.cli.options import Json

if TYPE_CHECKING:
    from proas.envs import EnvKind, EnvOption

__all__ = ["list_environments"]


@dataclass(frozen=True, slots=True)
class _Found:
    """One environment as it is here.

    Attributes:
        kind: The environment.
        missing: What has to be installed or mended first; empty where it is ready.
        tasks: Number of tasks of its samples; ``None`` where it has none, or cannot be opened.
        policies: Names of the policies that come with it.
        states: Whether its states are known.
        builder: Whether reference graphs can be built from it by name.
    """

    kind: EnvKind
    missing: str
    tasks: int | None
    policies: tuple[str, ...]
    states: bool
    builder: bool


def list_environments(json: Json = False) -> None:
    """List the environments: what each is, its data and options, and whether it is ready here."""
    from proas.envs import env_kind, env_names

    output = Output(json_wanted=json)
    with output.waiting("Looking at the environments"):
        found = [_look(env_kind(name)) for name in env_names()]
    document = {"environments": [_document(one) for one in found]}
    blocks: list[RenderableType] = []
    for one in found:
        blocks += [_block(one), ""]
    blocks.append(Text("proas env play NAME plays one; --option NAME=VALUE sets an option.", "dim"))
    output.result(document, *blocks)


def _look(kind: EnvKind) -> _Found:
    from proas.envs import EnvSpec, open_world
    from proas.errors import ProASError
    from proas.graph_builders import builder_names
    from proas.states import state_kind

    missing = kind.missing()
    tasks: int | None = None
    policies: tuple[str, ...] = ()
    if not missing:
        try:
            with closing(open_world(EnvSpec(kind.name, kind.samples() if kind.samples is not None else None))) as world:
                policies = tuple(world.policies)
                tasks = len(world.tasks) if kind.samples is not None else None  # a simulator may take long to tell
        except ProASError as error:
            missing = str(error)
        except Exception as error:  # noqa: BLE001 - of a plug-in: one that is broken must not hide the others
            missing = f"{type(error).__name__}: {error}"
    return _Found(kind, missing, tasks, policies, state_kind(kind.name) is not None, kind.name in builder_names())


def _document(found: _Found) -> dict[str, object]:
    kind = found.kind
    return {
        "name": kind.name,
        "summary": kind.summary,
        "ready": not found.missing,
        "missing": found.missing,
        "data": kind.data,
        "samples": str(kind.samples()) if kind.samples is not None else None,
        "tasks": found.tasks,
        "step_limit": kind.step_limit,
        "policies": list(found.policies),
        "options": [asdict(option) for option in kind.options],
        "states": found.states,
        "builder": found.builder,
    }


def _block(found: _Found) -> RenderableType:
    kind = found.kind
    facts: dict[str, object] = {
        "what": kind.summary,
        "ready": Text.assemble(("no  ", "yellow"), plain(found.missing)) if found.missing else Text("yes", "green"),
        "data": kind.data,
    }
    if found.tasks is not None:
        facts["tasks"] = f"{found.tasks:,} in the samples that ship with it"
    elif not found.missing:
        facts["tasks"] = f"proas env play {kind.name} --tasks"
    facts["steps"] = f"{kind.step_limit} as a rule"
    if found.policies:
        facts["policies"] = ", ".join(found.policies)
    facts["graph"] = f"proas graph build --source {kind.name}" if found.builder else "from recorded episodes"
    if not found.states:
        facts["states"] = "none known: rollouts must carry their own"
    if kind.options:
        facts["options"] = Text("\n").join(_option(option) for option in kind.options)
    return facts_table(facts, title=kind.name)


def _option(option: EnvOption) -> Text:
    values = "|".join(option.choices) if option.choices else "TEXT"
    default = f"  ({option.default} if not given)" if option.default else ""
    return Text.assemble(plain(f"{option.name}={values}"), (f"  {option.help}{default}", "dim"))
