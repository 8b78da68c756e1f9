"""Commands: one canonical form, and finding it in whatever an agent says around it."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proas.states.alfworld.commands import Command, canonical_words, is_thought, parse_command, spoken_command

NAMES = st.tuples(st.sampled_from(["desk", "apple", "butterknife", "garbagecan"]), st.integers(1, 40)).map(
    lambda pair: f"{pair[0]} {pair[1]}"
)
ONE = st.tuples(st.sampled_from(["go", "open", "close", "examine", "use"]), NAMES, st.just(""))
TWO = st.tuples(st.sampled_from(["take", "move", "heat", "cool", "clean", "slice"]), NAMES, NAMES)
NONE = st.tuples(st.sampled_from(["look", "inventory", "help"]), st.just(""), st.just(""))
COMMANDS = st.one_of(ONE, TWO, NONE).map(lambda parts: Command(*parts))


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("go to desk 1", "go to desk 1"),
        ("put apple 1 in/on fridge 1", "move apple 1 to fridge 1"),
        ("put apple 1 in fridge 1", "move apple 1 to fridge 1"),
        ("put apple 1 on fridge 1", "move apple 1 to fridge 1"),
        ("put apple 1 into fridge 1", "move apple 1 to fridge 1"),
        ("move apple 1 to fridge 1", "move apple 1 to fridge 1"),
        ("take apple 1 from fridge 1", "take apple 1 from fridge 1"),
        ("  HEAT  Apple 1\twith Microwave 1. ", "heat apple 1 with microwave 1"),
        ("slice apple 1 with knife 2", "slice apple 1 with knife 2"),
        ('"use desklamp 1"', "use desklamp 1"),
        ("`look`", "look"),
        ("Inventory", "inventory"),
    ],
)
def test_one_form_for_each_command(text: str, canonical: str) -> None:
    command = parse_command(text)
    assert command is not None
    assert command.canonical == canonical


@pytest.mark.parametrize(
    "text",
    ["", " ", "go to", "go to desk", "take apple 1", "put apple 1 fridge 1", "look at desk 1", "go to desk 1 now",
     "jump", "go to desk 1; go to desk 2", "think: go to desk 1", "x" * 10_000],
)  # fmt: skip
def test_what_is_no_command(text: str) -> None:
    assert parse_command(text) is None


@given(command=COMMANDS)
def test_the_canonical_form_is_a_command_and_its_own_form(command: Command) -> None:
    assert parse_command(command.canonical) == command
    assert canonical_words(command.canonical) == command.canonical


DRESSINGS = [
    "{}",
    "{}.",
    '"{}"',
    "'{}'",
    "`{}`",
    "> {}",
    ">{}",
    "1. {}",
    "12) {}",
    "- {}",
    "Step 3: {}",
    "Act 2: {}",
    "Action: {}",
    "Action 4: {}",
    "ACTION: {}\nObservation:",
    "**Action:** {}",
    "Next action: {}",
    "<action>{}</action>",
    "<action> {} </action>",
    "<action>{}",
    "<think>I should look around, or go to bed 9.</think><action>{}</action>",
    "<think>\nFirst open safe 7.\n</think>\n\n<action>{}</action>",
    "<think>go to bed 9</think>\n{}",
    "<action>go to bed 9</action> no, rather <action>{}</action>",
    "[{}]",
    "I will do this: [{}]",
    "```{}```",
    "```\n{}\n```",
    "```text\n{}\n```",
    "think: I need to find it. Then take it.\n{}",
    "think: I need to open safe 7 first.\n> {}",
    "Thought: the lamp is on desk 9.\nAction: {}",
    "Thought 2: I could go to bed 9.\nAct 2: {}",
    "Thought: go to bed 9\n\n{}",
    "Let me try.\nAction:\n{}",
    "{}\n\n",
]


@settings(deadline=None, max_examples=300)
@given(
    command=COMMANDS,
    dressing=st.sampled_from(DRESSINGS),
    shout=st.sampled_from([str, str.upper, str.title, str.lower]),
    put=st.sampled_from(["move {} to {}", "put {} in/on {}", "put {} in {}", "put {} on {}"]),
)
def test_thoughts_numbers_tags_and_quotes_do_not_matter(
    command: Command, dressing: str, shout: type[str], put: str
) -> None:
    words = put.format(command.object, command.target) if command.verb == "move" else command.canonical
    said = dressing.format(shout(words))
    assert spoken_command(said) == command, said


@pytest.mark.parametrize(
    ("said", "canonical"),
    [
        ("I will now go to desk 1 and see what lies there", "go to desk 1"),
        ("First go to desk 1, then take pen 2 from desk 1", "take pen 2 from desk 1"),
        ("OK, open the fridge 1!", "open fridge 1"),
    ],
)
def test_a_command_in_a_sentence_is_better_than_none(said: str, canonical: str) -> None:
    command = spoken_command(said)
    assert command is not None
    assert command.canonical == canonical


@pytest.mark.parametrize(
    "said",
    ["think: I should go to desk 1", "Think: take apple 1 from desk 1 next", "> think: go to desk 1",
     "Thought: open it", "<think>go to desk 1", "<think>go to desk 1</think>", "2. think: use desklamp 1",
     "THINK: go to desk 1"],
)  # fmt: skip
def test_a_mere_thought_is_no_command(said: str) -> None:
    assert spoken_command(said) is None
    assert is_thought(said)


@pytest.mark.parametrize("said", ["go to desk 1", "", "thinking of you", "I think: go", "Action: go to desk 1"])
def test_what_is_not_a_thought(said: str) -> None:
    assert not is_thought(said)


@settings(deadline=None)
@given(said=st.text(max_size=200))
def test_no_words_are_an_error(said: str) -> None:
    command = spoken_command(said)
    assert command is None or parse_command(command.canonical) == command
    assert len(canonical_words(said)) <= 400


@pytest.mark.parametrize(
    "said",
    ["<think>" * 30_000, "</think>" * 30_000, "<action>" * 30_000, "`" * 100_000, "[" * 100_000, "\n" * 100_000,
     "1. " * 50_000, "Action: " * 30_000, "> " * 50_000, "go to " * 30_000, "a " * 100_000, "put apple 1 in " * 10_000],
    ids=lambda said: said[:8],
)  # fmt: skip
def test_long_monologues_are_read_in_linear_time(said: str) -> None:
    assert spoken_command(said) is None  # the time limit of the test run is the judge of the rest


def test_the_command_at_the_end_of_a_long_monologue_counts() -> None:
    assert spoken_command("hm " * 50_000 + "\nAction: go to desk 1") == Command("go", "desk 1")
