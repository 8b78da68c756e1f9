"""The tokenizer: actions come back exactly, observations are read briefly, nothing is out of reach."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proas.errors import DataError
from proas.rollouts import Rollout
from proas.training.policy.tokenizer import END, PAD, WordTokenizer


@pytest.fixture(scope="module")
def tokenizer(demonstrations: list[Rollout]) -> WordTokenizer:
    observations = [text for r in demonstrations for text in (r.observation, *(s.observation for s in r.steps))]
    return WordTokenizer.learn(observations, [s.action for r in demonstrations for s in r.steps], size=600)


def words(tokenizer: WordTokenizer, numbers: tuple[int, ...]) -> list[str]:
    return [tokenizer.tokens[number] for number in numbers]


def test_every_action_comes_back(tokenizer: WordTokenizer, demonstrations: list[Rollout]) -> None:
    for rollout in demonstrations:
        for step in rollout.steps:
            assert tokenizer.decode(tokenizer.encode(step.action)) == step.action


@given(st.text(alphabet=[chr(code) for code in range(32, 127)]))
def test_any_action_comes_back_up_to_white_space(text: str) -> None:
    made = WordTokenizer.learn(["You see a desk 1."] * 3, ["click[buy now]", "go to desk 1"] * 2)
    assert made.decode(made.encode(text)).split() == text.split()


@pytest.mark.parametrize(
    "action", ["click[buy now]", "search[red shoes, 10.50]", "put apple 1 in/on fridge 1", "##a # b"]
)
def test_signs_stay_glued(tokenizer: WordTokenizer, action: str) -> None:
    assert tokenizer.decode(tokenizer.encode(action)) == action


def test_observations_lose_what_carries_nothing() -> None:
    text = "On the desk 1, you see a pen 2, and a mug 1."
    made = WordTokenizer.learn([text] * 2, [text] * 2, phrases=0)
    assert " ".join(words(made, made.encode(text, brief=True))) == "On desk 1 you see pen 2 mug 1"
    assert words(made, made.encode(text))[-3:] == ["mug", "1", "##."]


def test_names_and_numbers_stay_apart_and_phrases_are_one_token(tokenizer: WordTokenizer) -> None:
    assert words(tokenizer, tokenizer.encode("go to drawer 1")) == ["go to", "drawer", "1"]
    assert all(not any(c.isdigit() for c in token) for token in tokenizer.tokens if " " in token)


def test_what_was_never_seen_is_spelt(tokenizer: WordTokenizer) -> None:
    assert words(tokenizer, tokenizer.encode("zyzzyva 987")) == ["z", *(f"##{c}" for c in "yzzyva"), "9", "##8", "##7"]
    assert tokenizer.encode("\u4e16") == (tokenizer.unknown,)


def test_a_long_text_loses_its_middle(tokenizer: WordTokenizer) -> None:
    whole = tokenizer.encode("go to drawer 1 and look")
    assert tokenizer.encode("go to drawer 1 and look", limit=4) == whole[:2] + whole[-2:]


def test_padding_and_ends_are_not_written(tokenizer: WordTokenizer) -> None:
    assert tokenizer.decode([*tokenizer.encode("look"), END, PAD]) == "look"


def test_the_same_texts_give_the_same_tokenizer_and_json_brings_it_back(tokenizer: WordTokenizer) -> None:
    again = WordTokenizer.from_json(tokenizer.to_json())
    assert again.tokens == tokenizer.tokens
    assert again.encode("go to drawer 1") == tokenizer.encode("go to drawer 1")
    assert len(tokenizer) <= 600


def test_another_document_is_refused() -> None:
    with pytest.raises(DataError, match="tokenizer"):
        WordTokenizer.from_json({"kind": "word"})
    with pytest.raises(DataError, match="special"):
        WordTokenizer.from_json({"kind": "word", "tokens": ["a"]})
