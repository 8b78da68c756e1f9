"""Readers of logged episodes: real play in every format, and every kind of broken record."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proas.errors import UsageError
from proas.graph_builders.trajectories import AUTO, FORMATS, Aside, Episode, read_episodes
from proas.graph_builders.trajectories.dialects import dialect_of, environment_of
from proas.graph_builders.trajectories.episodes import Record, Unreadable
from proas.graph_builders.trajectories.formats import chosen_formats, episodes_in
from proas.graph_builders.trajectories.formats.verl import split_turns
from proas.states import state_names
from tests.support.episode_logs import FORMAT_OF, WRITERS, lines, played

ENVS = ("alfworld", "webshop")


def one(value: object, format_name: str = AUTO) -> Episode:
    answers = [answer for _, answer in episodes_in(Record(value, "log", 1), chosen_formats(format_name))]
    assert len(answers) == 1
    assert isinstance(answers[0], Episode), answers
    return answers[0]


def problem(value: object, format_name: str = AUTO) -> str:
    ((_, answer),) = episodes_in(Record(value, "log", 1), chosen_formats(format_name))
    assert isinstance(answer, Unreadable)
    assert answer.reason
    return answer.problem


@pytest.mark.parametrize("env", ENVS)
@pytest.mark.parametrize("writer", WRITERS)
def test_what_was_played_is_read_back(tmp_path: Path, env: str, writer: str) -> None:
    rollouts = played(env)
    path = lines(tmp_path / "log.jsonl", map(WRITERS[writer], rollouts))
    episodes = [answer for answer in read_episodes(path) if isinstance(answer, Episode)]
    assert len(episodes) == len(rollouts)
    dialect = dialect_of(env)
    for number, (episode, rollout) in enumerate(zip(episodes, rollouts, strict=True), start=1):
        assert (episode.format, episode.place) == (FORMAT_OF[writer], f"log.jsonl:{number}")
        assert environment_of(episode, state_names()) == env
        turns = [turn for turn in episode.turns if not turn.action.startswith(("think:", "think["))]
        said = [turn.action if turn.call is None else dialect.worded(turn.call) for turn in turns]
        assert [dialect.command(_Wording(), action, "") for action in said] == [
            dialect.command(_Wording(), step.action, "") for step in rollout.steps
        ]
        told = [step.observation.strip() for step in rollout.steps]
        unrecorded = FORMAT_OF[writer] in ("agentgym", "verl")  # these end with the agent's last words
        assert [turn.observation for turn in turns] == [*told[:-1], "" if unrecorded else told[-1]]
        observation = dialect.first_observation(episode.observation, episode.context)
        assert not dialect.difference(observation, rollout.observation, rollout.task)
        assert dialect.goal(observation, episode.context).strip(" .") == rollout.goal.strip(" .")
        assert (episode.success if episode.score is None else episode.score == 1.0) is True


class _Wording:
    """The older wording of a game, to bring all commands to."""

    class game:  # noqa: N801
        class rules:  # noqa: N801
            wording = "put"


@pytest.mark.parametrize("name", FORMATS)
def test_a_format_that_is_asked_for_reads_nothing_else(name: str) -> None:
    for writer, write in WRITERS.items():
        record = write(played("webshop")[0])
        if FORMAT_OF[writer] == name:
            assert one(record, name).format == name
        else:
            assert problem(record, name) == "unknown_format"


def test_formats_are_named() -> None:
    assert set(FORMATS) == {"proas", "atif", "agentgym", "verl", "react", "trl"}
    with pytest.raises(UsageError, match="there is no format 'parquet'"):
        chosen_formats("parquet")


PRINTED_HOUSE = """pick_and_place_simple-Mug-None-Desk-10/trial_T20190907_060234_011675
pick_and_place put
You are in the middle of a room. Looking quickly around you, you see a desk 1, and a shelf 1.
Your task is to: put some mug on desk.
Act 1: think: a mug may be on the shelf.
Obs 1: OK.
Act 2: go to shelf 1
Obs 2: On the shelf 1, you see a mug 1.
1 r True rs [1, 0, 0, 0, 0, 0] cnts [1, 0, 0, 0, 0, 0] sum(rs)/sum(cnts) 1.0
------------

"""
PRINTED_SHOP = """-----------------
0
Action: reset
Observation: WebShop
Instruction:
i need a mug, and price lower than 20.00 dollars
[Search]

Action: search[mug]
Observation: Invalid action!

Action: click[Buy Now]
Observation: Your score (min 0.0, max 1.0): 1.0

1 1.0 1.0 0.0
-------------
"""


def test_what_react_s_notebooks_print_is_read(tmp_path: Path) -> None:
    path = tmp_path / "run.txt"
    path.write_text(
        PRINTED_HOUSE + "-----------------\nloading\n" + PRINTED_SHOP + PRINTED_HOUSE.replace("r True", "r 0")
    )
    house, noise, shop, failed = read_episodes(path)
    assert isinstance(noise, Aside)
    assert (noise.problem, noise.line) == ("unknown_format", 13)
    assert isinstance(house, Episode)
    assert isinstance(shop, Episode)
    assert isinstance(failed, Episode)
    assert [(turn.action, turn.observation) for turn in house.turns] == [
        ("think: a mug may be on the shelf.", "OK."),
        ("go to shelf 1", "On the shelf 1, you see a mug 1."),
    ]
    assert (house.success, failed.success, shop.success) == (True, False, None)
    assert house.names == ("pick_and_place_simple-Mug-None-Desk-10/trial_T20190907_060234_011675",)
    assert shop.observation.startswith("WebShop\nInstruction:")
    assert [(turn.action, turn.observation, turn.valid) for turn in shop.turns] == [
        ("search[mug]", "Invalid action!", False),
        ("click[Buy Now]", "Your score (min 0.0, max 1.0): 1.0", None),
    ]


def test_a_plain_text_is_one_transcript_where_no_rule_parts_it(tmp_path: Path) -> None:
    told = "You are in the middle of a room.\nYour task is to: put a mug in desk.\n> go to desk 1\nOn the desk 1"
    plain, packed, odd, empty = (tmp_path / name for name in ("a.log", "b.txt.gz", "c.txt", "d.out"))
    plain.write_text(told)
    packed.write_bytes(gzip.compress(told.encode()))
    odd.write_bytes(b"\0\1")
    empty.write_text("\n-----\n\n")
    for path in (plain, packed):
        (episode,) = read_episodes(path)
        assert isinstance(episode, Episode)
        assert [turn.action for turn in episode.turns] == ["go to desk 1"]
    for path, reason in ((odd, "not text: it holds zero bytes"), (empty, "the file is empty")):
        (aside,) = read_episodes(path)
        assert isinstance(aside, Aside)
        assert (aside.problem, aside.reason) == ("bad_json", reason)
    packed.write_bytes(gzip.compress(told.encode() * 99)[:-20])
    assert [type(answer) for answer in read_episodes(packed)] == [Aside]
    (long,) = read_episodes(plain, limit=20)
    assert isinstance(long, Aside)
    assert "longer than 20 bytes" in long.reason


def test_the_label_of_an_unpaired_preference_is_its_outcome() -> None:
    said = {"prompt": [{"role": "user", "content": "page"}], "completion": [{"role": "assistant", "content": "look"}]}
    assert one({**said, "label": True}).success is True
    assert one({**said, "label": False}).success is False
    assert one({**said, "label": True, "success": False}).success is False
    assert one({**said, "label": "spam"}).success is None


def test_a_look_in_mid_room_is_no_first_observation() -> None:
    dialect, goal = dialect_of("alfworld"), "put a mug in desk."
    room = "You are in the middle of a room. Looking quickly around you, you see {}."
    assert dialect.signature(goal, room.format("nothing")) is None
    assert dialect.signature(goal, room.format("a desk 1, and a bed 1")) is not None


def test_a_long_text_that_differs_is_quoted_where_it_does() -> None:
    shelf = "You see " + ", ".join(f"a book {n}" for n in range(60))
    told = dialect_of("vault").difference(shelf + ", and a mug 1.", shelf + ", and a cup 1.", "task")
    assert "a mug 1." in told
    assert "a cup 1." in told
    assert len(told) < 300


def test_members_of_an_object_are_episodes_by_name() -> None:
    text = "You are in the middle of a room.\nYour task is to: put a mug in desk.\n> go to desk 1\nOn the desk 1"
    answers = list(episodes_in(Record({"put_0": text, "put_1": text, "note": 3}, "log", 1), chosen_formats(AUTO)))
    assert [answer.id if isinstance(answer, Episode) else answer.problem for _, answer in answers] == [
        "put_0",
        "put_1",
        "unknown_format",
    ]
    wrapped = {"meta": 1, "data": [{"messages": [{"role": "assistant", "content": "look"}]}] * 2}
    assert sum(isinstance(answer, Episode) for _, answer in episodes_in(Record(wrapped), chosen_formats(AUTO))) == 2


MESSAGES: dict[str, tuple[Any, str]] = {
    "nothing": ([], "no_turns"),
    "no agent": ([{"role": "user", "content": "hello"}], "no_turns"),
    "not objects": (["hello"], "bad_message"),
    "a number": (5, "bad_message"),
    "an unknown role": ([{"role": "critic", "content": "no"}], "bad_role"),
    "a role that is a list": ([{"role": ["user"], "content": "no"}], "bad_role"),
    "content that is a number": ([{"role": "user", "content": 3}], "bad_content"),
    "parts that are numbers": ([{"role": "user", "content": [3]}], "bad_content"),
    "calls that are no list": ([{"role": "assistant", "content": "", "tool_calls": 3}], "bad_tool_call"),
    "a call without a name": ([{"role": "assistant", "content": "", "tool_calls": [{"id": "x"}]}], "bad_tool_call"),
}


@pytest.mark.parametrize("case", MESSAGES)
def test_broken_messages_have_a_reason(case: str) -> None:
    messages, expected = MESSAGES[case]
    assert problem({"messages": messages}) == expected
    assert problem({"prompt": messages, "completion": []}) == expected


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        ({"conversations": None, "item_id": "webshop_1"}, "no_turns"),
        ({"conversations": "a text"}, "bad_message"),
        ({"schema_version": "ATIF-v2.0", "steps": []}, "unknown_version"),
        ({"schema_version": "ATIF-v1.4"}, "bad_message"),
        ({"schema_version": "ATIF-v1.4", "steps": [{"source": "robot"}]}, "bad_role"),
        ({"schema_version": "ATIF-v1.4", "steps": [3]}, "bad_message"),
        ({"steps": [{"source": "agent", "message": "x", "observation": 5}]}, "bad_message"),
        ({"input": 3, "output": "x"}, "bad_content"),
        ({"turns": [{"action": 3}]}, "bad_content"),
        ({"turns": [{"action": "reset", "observation": "x"}]}, "no_turns"),
        ({"env": "alfworld", "task": "t", "success": "yes", "steps": []}, "bad_rollout"),
        ({"some": "thing"}, "unknown_format"),
        ("a text", "unknown_format"),
        (None, "unknown_format"),
        ([], "unknown_format"),
    ],
)
def test_broken_records_have_a_reason(record: object, expected: str) -> None:
    assert problem(record) == expected


def test_an_assistant_may_speak_first_and_twice() -> None:
    said = [
        {"role": "assistant", "content": "search[shoes]"},
        {"role": "assistant", "content": "click[buy now]"},
        {"role": "user", "content": "done"},
        {"role": "user", "content": "really"},
    ]
    episode = one({"messages": said})
    assert [(turn.action, turn.observation) for turn in episode.turns] == [
        ("search[shoes]", ""),
        ("click[buy now]", "done\nreally"),
    ]
    assert (episode.observation, episode.context) == ("", "")


def test_several_calls_of_one_message_are_several_turns() -> None:
    call = {"type": "function", "function": {"name": "click", "arguments": {"item": "x"}}}
    said = [
        {"role": "user", "content": "page"},
        {"role": "assistant", "tool_calls": [{"id": "a", **call}, {"id": "b", **call}]},
        {"role": "tool", "tool_call_id": "b", "content": "second"},
        {"role": "tool", "tool_call_id": "a", "content": "first"},
    ]
    assert [turn.observation for turn in one({"messages": said}).turns] == ["first", "second"]


def test_an_action_is_found_in_an_agent_s_words() -> None:
    for words, action in (
        ("Thought: go on.\nAction: look", "look"),
        ("Thought: I said Action: look before.\n\nAction:\n```\ngo to desk 1\n```", "go to desk 1"),
        ("<think>Action: no</think> click[x]", "click[x]"),
        ("<think>still thinking", "<think>still thinking"),
        ("<action>look</action> and then", "look"),
        ("think: what now?", "think: what now?"),
        ("Action: look\nObservation: I make this up", "look"),
        ("İ</think>look", "look"),
    ):
        assert one({"messages": [{"role": "assistant", "content": words}]}).turns[0].action == action


@pytest.mark.parametrize(
    ("given", "answered"),
    [
        ("<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n", "a<|im_end|>\n<|im_start|>user\nb<|im_end|>\n"),
        ("<start_of_turn>user\nhi<end_of_turn>\n<start_of_turn>model\n", "a<end_of_turn>\n<start_of_turn>user\nb"),
        ("<｜begin▁of▁sentence｜><｜User｜>hi<｜Assistant｜>", "a<｜end▁of▁sentence｜><｜User｜>b"),
        ("<|user|>\nhi<|end|>\n<|assistant|>\n", "a<|end|>\n<|user|>\nb<|end|>\n"),
        ("<s>[INST] hi [/INST]", " a</s>[INST] b [/INST]"),
        ("user\nhi\nassistant\n", "a\nuser\nb\nassistant\n"),
    ],
)
def test_chat_templates_are_split(given: str, answered: str) -> None:
    told = [(message.role, message.text) for message in split_turns(given, answered)]
    assert [piece for piece in told if piece[1]] == [("user", "hi"), ("assistant", "a"), ("user", "b")]


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=12,
)
NAMES = sorted(
    {"role", "from", "content", "value", "tool_calls", "function", "name", "arguments", "source", "message", "steps"}
    | {"observation", "results", "turns", "action", "messages", "conversations", "prompt", "completion", "input"}
    | {"output", "schema_version", "env", "task", "success", "reward", "score", "metadata", "extra", "id", "loss"}
    | {"transcript", "data", "tool_call_id", "source_call_id", "is_copied_context", "function_call", "item_id"}
)
WORDS = st.sampled_from(
    ["user", "assistant", "gpt", "agent", "system", "ATIF-v1.4", "> look\nx", "\ud83d", "Action:", ""]
)
RECORDS = st.recursive(
    VALUES | WORDS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=8),
    max_leaves=40,
)


@given(value=RECORDS, name=st.sampled_from([AUTO, *FORMATS]))
@settings(max_examples=200, deadline=None)
def test_no_value_breaks_a_reader(value: object, name: str) -> None:
    for _, answer in episodes_in(Record(value, "log", 1), chosen_formats(name)):
        assert isinstance(answer, Unreadable) or answer.turns or answer.rollout is not None


@given(where=st.integers(0, 10_000), what=VALUES | WORDS, writer=st.sampled_from(sorted(WRITERS)))
@settings(max_examples=200, deadline=None)
def test_a_record_with_one_wrong_value_breaks_nothing(where: int, what: object, writer: str) -> None:
    record = json.loads(json.dumps(WRITERS[writer](played("webshop")[0])))
    places = list(_places(record))
    holder, key = places[where % len(places)]
    holder[key] = what
    for _, answer in episodes_in(Record(record, "log", 1), chosen_formats(AUTO)):
        assert isinstance(answer, Episode | Unreadable)


def _places(value: Any) -> Any:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in list(items):
        yield value, key
        yield from _places(inner)


def test_bytes_that_are_no_text_are_named(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(
        b'{"messages": [{"role": "assistant", "content": "\xff"}]}\n{"messages": 3}\n[1\n' + b"[" * 200_000
    )
    asides = [answer for answer in read_episodes(path) if isinstance(answer, Aside)]
    assert [(aside.problem, aside.line) for aside in asides] == [
        ("bad_json", 1),
        ("bad_message", 2),
        ("bad_json", 3),
        ("bad_json", 4),
    ]
    assert asides[0].reason == "not UTF-8: byte 0xff at position 48"
    assert "not JSON" in asides[3].reason
