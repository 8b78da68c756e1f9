"""The page on an environment of one's own: its commands in their order, on the example, with no change to ProAS."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.conftest import Outcome, Proas
from tests.support.plugins import EXAMPLES, plugged

PAGE = (EXAMPLES.parent / "docs" / "own_environment.md").read_text(encoding="utf-8")


@pytest.fixture
def vault() -> Iterator[None]:
    with plugged("vault"):
        yield


def commands() -> list[list[str]]:
    return [shlex.split(line)[1:] for line in re.findall(r"^    (proas .*)$", PAGE, re.MULTILINE)]


@pytest.mark.neo4j
def test_the_road_from_nothing_to_labels(vault: None, proas: Proas, work: Path, graph_name: str) -> None:
    names = {name: f"{graph_name}-{name}" for name in ("vault", "vault-empty")}
    done: dict[str, Outcome] = {}
    assert len(commands()) >= 13
    try:
        for words in commands():
            mine = [names.get(word, word) if words[place - 1] in ("--graph", "create") else word
                    for place, word in enumerate(words)]  # fmt: skip
            outcome = done[" ".join(words)] = proas(*mine, *([] if "check" in words else ["--json"]))
            assert outcome.code == 0, f"{words}\n{outcome.out}\n{outcome.err}"
    finally:
        for name in names.values():
            proas("graph", "drop", name, "--force", "--yes")
    told = {line: outcome for line, outcome in done.items() if "check" not in line}
    assert "vault" in {env["name"] for env in told["env list"].document["environments"]}
    assert next(o.document for line, o in told.items() if line.startswith("graph build"))["tasks"] == 4
    first, again = (o.document for line, o in told.items() if line.startswith("label"))
    assert (first["uncovered"], again["uncovered"]) == (0, 0)
    assert 0 < first["progress"] < first["steps"]
    won = [json.loads(line) for line in (work / "again.jsonl").read_text(encoding="utf-8").splitlines()]
    assert all(rollout["steps"][-1]["label"]["progress"] for rollout in won if rollout["success"])
    evolved = [o.document for line, o in told.items() if line.startswith("evolve")]
    assert all(report["successes"] > 0 and report["rejected"] == 0 for report in evolved)


def test_the_page_s_export_and_test_name_what_is_there(vault: None) -> None:
    assert "export PYTHONPATH=examples PROAS_PLUGINS=vault" in PAGE
    (program,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert len([line for line in program.splitlines() if line.strip() and not line.startswith("import")]) <= 5
    scope: dict[str, object] = {"__name__": "page"}
    exec(compile(program, "own_environment.md", "exec"), scope)
    tested = scope["test_my_environment_conforms"]
    assert callable(tested)
    tested("order")


def test_the_page_names_every_check_and_method() -> None:
    from proas.conformance import CHECKS
    from proas.states import States

    table = set(re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE))
    assert table >= set(CHECKS)
    methods = {name for name in vars(States) if not name.startswith("_") and callable(vars(States)[name])} - {"kind"}
    assert methods <= set(re.findall(r"`(\w+)\(", PAGE))


def test_a_failing_check_ends_with_one(proas: Proas, work: Path) -> None:
    folder = EXAMPLES.parent / "tests" / "unit" / "conformance"
    with plugged("vault", "broken_vaults", folders=(folder, EXAMPLES)):
        shown = proas("env", "check", "admissible-lies", "--tasks", "1")
        assert shown.code == 1
        assert "'dance' is listed as admissible and does not apply" in " ".join(shown.out.split())
        document = proas(
            "env", "check", "admissible-lies", "--tasks", "1", "--policies", "noisy,random", "--json"
        ).document
        assert document["ok"] is False
        failed = [made for made in document["checks"] if made["outcome"] == "failed"]
        assert {"admissible"} <= {made["name"] for made in failed}
        assert document["episodes"] == 6
        kaput = proas("env", "check", "unopenable", "--json").error
        assert kaput["kind"] == "EnvironmentFailure"
        assert re.search(r"cannot be opened: RuntimeError: kaput, raised at .*broken_vaults\.py:\d+", kaput["message"])
        assert proas("env", "check", "vault", "--policies", "genius").code == 2
        assert proas("env", "check", "no-such-world").code == 2
