"""Plans: those that come with the package make sense, and what makes none is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from proas.errors import DataError, UsageError
from proas.experiments.plan import Plan
from proas.experiments.plan_files import SMOKE, TABLES, load_plan, plan_names

HEAD = 'title = "T"\nquestion = "Q"\n[warm.base]\n[arms.grpo]\n'


def written(folder: Path, text: str) -> str:
    file = folder / "own.toml"
    file.write_text(text, encoding="utf-8")
    return str(file)


def test_the_report_s_plans_are_there_in_its_order() -> None:
    names = plan_names()
    assert names[: len(TABLES)] == TABLES
    assert names[-1] == SMOKE


@pytest.mark.parametrize("name", plan_names())
def test_a_plan_of_the_package_has_settings_for_every_run(name: str) -> None:
    plan = load_plan(name)
    assert plan.question.endswith("?")
    for arm in plan.arms:
        for seed in plan.seeds:
            assert plan.arm_config(arm, seed).seed == seed
        assert plan.arms[arm].note, arm


def test_every_table_has_the_common_controls() -> None:
    for name in ("shaping", "graph", "controls"):
        assert {"grpo", "loop-mask", "invalid-only", "shuffled", "emptied", "unseeded"} <= set(load_plan(name).arms)


def test_the_controls_are_what_they_are_called() -> None:
    plan = load_plan("controls")
    configs = {arm: plan.arm_config(arm, 0) for arm in plan.arms}
    assert not configs["grpo"].uses_graph
    assert configs["loop-mask"].shaping.verdicts == "loop_mask"
    assert configs["invalid-only"].shaping.verdicts == "invalid_only"
    assert (configs["shuffled"].shaping.verdicts, configs["shuffled"].shaping.labels) == ("loop_mask", "shuffled")
    assert configs["emptied"].graph_emptied
    assert configs["apr-unreasonable"].shaping.apr_scope == "unreasonable"
    ramp = configs["grpo-ramp"]
    assert (ramp.shaping.masks, ramp.shaping.redistribution, ramp.uses_graph) == (False, "ramp", False)
    assert plan.arms["unseeded"].graph == ""
    assert configs["apr-reversed"].shaping.redistribution == "reversed"


def test_settings_are_named_by_path_or_nested(tmp_path: Path) -> None:
    text = HEAD + "[settings]\niterations = 7\nupdate.learning_rate = 1e-4\n[settings.evaluation]\ntasks = 9\n"
    config = load_plan(written(tmp_path, text)).arm_config("grpo", 3)
    assert (config.iterations, config.update.learning_rate, config.evaluation.tasks, config.seed) == (7, 1e-4, 9, 3)


def test_settings_of_the_plan_reach_arms_under_any_shaping(tmp_path: Path) -> None:
    text = HEAD + '[arms.p]\nshaping = "paper"\n[settings]\n"shaping.gamma" = 0.5\n'
    plan = load_plan(written(tmp_path, text))
    assert {plan.arm_config(arm, 0).shaping.gamma for arm in plan.arms} == {0.5}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (HEAD + "[arms.x]\nsettings = { group_sise = 4 }\n", "group_sise"),
        (HEAD + '[arms.x]\nshaping = "membership"\ngraph = "plans"\n', "no graph 'plans'"),
        (HEAD + '[graphs.g]\n[arms.x]\ngraph = "g"\n', "asks no graph"),
        (HEAD + '[arms.x]\nwarm = "cold"\n', "no warm start 'cold'"),
        (HEAD + '[arms.x]\nagainst = ["y"]\n', "no arm 'y'"),
        (HEAD + '[arms."a/b"]\n', "'a/b'"),
        (HEAD + "[arms.x]\nalgorithm = 'foo'\n", "algorithm"),
        ('baseline = "none"\n' + HEAD, "no arm 'none'"),
        ("seeds = [1, 1]\n" + HEAD, "seed is there twice"),
        ("seeds = []\n" + HEAD, "seeds"),
        ("colour = 3\n" + HEAD, "colour"),
        (HEAD + '[borrowed]\ncontrols = ["nosuch"]\n', "nosuch"),
        (HEAD + '[[diagnoses]]\narms = ["y"]\nkind = "noise"\n', "no arm 'y'"),
        (HEAD + '[[diagnoses]]\narms = ["grpo"]\nkind = "colour"\n', "kind"),
        (HEAD + '[[diagnoses]]\narms = ["grpo"]\nkind = "labels"\nevery_seed = true\nfigure = true\n', "one name"),
        (
            HEAD + '[arms.p]\n[[diagnoses]]\narms = ["grpo", "p"]\nkind = "labels"\nfigure = true\n',
            "figures of several runs",
        ),
        (HEAD + '[[diagnoses]]\narms = []\nkind = "labels"\n', "arms"),
        (HEAD + 2 * '[[diagnoses]]\narms = ["grpo"]\nkind = "labels"\n', "two diagnoses have one name"),
        (
            HEAD + '[[diagnoses]]\narms = ["grpo"]\nkind = "labels"\n[[diagnoses]]\narms = ["grpo"]\nkind = "labels"\n'
            "every_seed = true\n",
            "two diagnoses have one name",
        ),
        (
            HEAD + '[arms.p]\n[[diagnoses]]\narms = ["grpo"]\nkind = "labels"\nfigure = true\n'
            '[[diagnoses]]\narms = ["p"]\nkind = "labels"\nfigure = true\n',
            "two diagnoses have one name",
        ),
        ('together = ["nosuch"]\n' + HEAD, "nosuch"),
        (HEAD + '[borrowed]\ncontrols = ["grpo"]\n', "'grpo'"),
        (HEAD + '[borrowed]\nnosuch = ["grpo"]\n', "'nosuch'"),
    ],
)
def test_what_makes_no_sense_is_told(text: str, told: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as raised:
        load_plan(written(tmp_path, text))
    assert told in raised.value.message


def test_a_file_that_is_no_plan(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="TOML"):
        load_plan(written(tmp_path, "title = \n"))
    with pytest.raises(UsageError, match="no plan"):
        load_plan("nosuch")
    with pytest.raises(UsageError, match="no plan"):
        load_plan(str(tmp_path / "missing.toml"))


def test_a_plan_narrowed(plan: Plan) -> None:
    assert list(plan.only(("proas",)).arms) == ["proas"]
    assert plan.with_seeds((7,)).seeds == (7,)
    assert plan.with_settings({"iterations": "9"}).arm_config("grpo", 0).iterations == 9
    with pytest.raises(UsageError, match="no arm 'x'"):
        plan.only(("x",))
    with pytest.raises(UsageError, match="no setting"):
        plan.with_settings({"iteration": 9})
    with pytest.raises(UsageError, match="preset"):
        plan.with_settings({}, preset="huge")


def test_the_words_that_run_an_arm_again(plan: Plan, tmp_path: Path) -> None:
    assert plan.again("proas", (0, 1)) == ["ablate", "--table", "kitchen", "--only", "proas", "--seeds", "0,1"]
    own = load_plan(written(tmp_path, HEAD + "[arms.x]\n"))
    changed = own.with_settings({"tasks": "8", "temperature": 0.5}, preset="smoke").with_seeds((3,)).only(("x",))
    words = ["--preset", "smoke", "--set", "tasks=8", "--set", "temperature=0.5"]
    assert changed.again("x", (3,)) == [
        *("ablate", "--table", str(tmp_path / "own.toml"), *words, "--only", "x", "--seeds", "3")
    ]
    assert load_plan("main").with_settings({}).again("grpo", (4,))[:3] == ["ablate", "--table", "main"]
    with pytest.raises(UsageError, match="called"):
        load_plan(written(tmp_path, 'called = ["x"]\n' + HEAD))
