"""What a model reads before each action."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from proas.agents import NO_ACTION, Prompter, PromptSettings, Turn
from proas.envs import EnvSpec, env_kind, open_world
from proas.envs.alfworld import sample_root
from proas.errors import UsageError


def _turns(count: int) -> list[Turn]:
    return [Turn(f"reply {n}", f"act {n}", f"seen {n}", (f"do {n}", "look")) for n in range(1, count + 1)]


def test_a_turn_shows_the_window_the_present_and_what_applies() -> None:
    prompter = Prompter("alfworld", PromptSettings(history=2))
    system, user = prompter.messages("put a mug on the desk.", "You are in a room.", _turns(4), admissible=("go",))
    assert (system.role, user.role) == ("system", "user")
    assert "<think>" in system.content
    assert "<action>" in system.content
    assert "put a mug on the desk." in user.content
    assert "You have taken 4 steps. The last 2" in user.content
    assert "[3] You saw: seen 2\n    You did: act 3" in user.content
    assert "act 2" not in user.content
    assert "Step 5. You see now: seen 4" in user.content
    assert user.content.endswith("Actions that apply now:\n- do 4\n- look")


def test_the_first_turn_has_no_past() -> None:
    _system, user = Prompter("alfworld").messages("a goal", "You are in a room.", admissible=("go", "look"))
    assert "You have taken" not in user.content
    assert "Step 1. You see now: You are in a room." in user.content
    assert "- go\n- look" in user.content


@pytest.mark.parametrize("history", [0, 1, 3])
def test_a_window_bounds_the_length(history: int) -> None:
    for layout in ("turns", "dialogue"):
        prompter = Prompter("alfworld", PromptSettings(layout=layout, history=history))  # type: ignore[arg-type]
        lengths = [
            sum(len(m.content) for m in prompter.messages("g", "o", _turns(count), admissible=("a",)))
            for count in (20, 90)
        ]
        assert abs(lengths[0] - lengths[1]) < 20


def test_a_whole_dialogue_only_grows_at_its_end() -> None:
    prompter = Prompter("alfworld", PromptSettings(layout="dialogue", history=None))
    conversations = [prompter.messages("g", "o", _turns(count), admissible=("a",)) for count in range(6)]
    for shorter, longer in pairwise(conversations):
        assert longer[: len(shorter)] == shorter
        assert [m.role for m in longer[len(shorter) :]] == ["assistant", "user"]


def test_roles_alternate_in_a_window_too() -> None:
    prompter = Prompter("alfworld", PromptSettings(layout="dialogue", history=2))
    messages = prompter.messages("g", "o", _turns(7), admissible=("a",))
    assert [m.role for m in messages] == ["system", "user", "assistant", "user", "assistant", "user"]
    assert "5 steps are left out" in messages[1].content
    assert "seen 5" in messages[1].content
    assert messages[2].content == "reply 6"


def test_a_reply_without_an_action_is_told_so() -> None:
    turn = Turn("hm", NO_ACTION, "Nothing happens.", ("look",), readable=False)
    (_system, user) = Prompter("alfworld").messages("g", "o", [turn])
    assert "You did: nothing: your reply held no action" in user.content
    dialogue = Prompter("alfworld", PromptSettings(layout="dialogue")).messages("g", "o", [turn])
    assert "no action between action tags" in dialogue[-1].content


def test_what_does_not_fit_is_left_out_and_counted() -> None:
    prompter = Prompter("alfworld", PromptSettings(admissible_limit=2, observation_limit=100))
    _system, user = prompter.messages("g", "x" * 200 + "y" * 200, admissible=("a", "b", "c", "d"))
    assert "- ... and 2 more" in user.content
    assert "[... 300 characters left out ...]" in user.content


def test_settings_leave_out_actions_and_thoughts() -> None:
    prompter = Prompter("alfworld", PromptSettings(admissible=False, thoughts=False))
    system, user = prompter.messages("g", "o", admissible=("a",))
    assert "Actions that apply" not in user.content
    assert "<think>" not in system.content


def test_a_shop_offers_a_search_in_the_agent_s_own_words() -> None:
    _system, user = Prompter("webshop").messages("a red shirt", "Search", admissible=("search[a red shirt]",))
    assert user.content.endswith("- search[your own words]")


@pytest.mark.parametrize("env", ["alfworld", "webshop"])
def test_every_environment_s_first_prompt_holds_its_goal(env: str) -> None:
    root: Path | None = sample_root() if env == "alfworld" else None
    world = open_world(EnvSpec(env, root))
    playing = world.environment()
    observation, info = playing.reset(world.tasks[0])
    _system, user = Prompter(env).messages(playing.goal_text, observation, admissible=info.admissible)
    assert playing.goal_text in user.content


def test_an_environment_without_words_of_its_own_gets_plain_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("proas.agents.words._WORDS", {})
    system, _user = Prompter("alfworld").messages("g", "o")
    assert env_kind("alfworld").summary.rstrip(".") in system.content


def test_settings_that_make_no_sense_are_refused() -> None:
    for wrong in ({"history": -1}, {"layout": "song"}, {"admissible_limit": 0}):
        with pytest.raises(UsageError):
            PromptSettings(**wrong)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="no environment"):
        Prompter("nowhere")
