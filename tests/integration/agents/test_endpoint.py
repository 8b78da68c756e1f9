"""The client against an endpoint that fails in every way an endpoint can."""

from __future__ import annotations

import asyncio
import json
import logging
import socket
import time
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from pydantic import SecretStr

from proas.agents import (
    Address,
    ChatEndpoint,
    Completion,
    EndpointSettings,
    Message,
    Meter,
    Patience,
    Patient,
    Sampling,
)
from proas.agents.endpoint import PromptRefused, TryFailed
from proas.agents.model import most_tokens
from proas.agents.patience import GaveUp
from proas.errors import ModelRefused, ModelUnavailable
from tests.support.replay_endpoint import MODEL, ReplayEndpoint

TEXT = "<think>So be it.</think>\n<action>look</action>"
ASKED = [Message("system", "Play."), Message("user", "You are in a room.")]
QUICK = Patience(retry_for=30, first_pause=0.01, longest_pause=0.02)
KEY = SecretStr("sk-very-secret-0123456789")

Script = Callable[[int, dict[str, Any]], str]


def _first(*faults: str) -> Script:
    """These faults for the first calls, and none after."""
    return lambda number, _request: faults[number] if number < len(faults) else ""


def _always(fault: str) -> Script:
    return lambda _number, _request: fault


def _settings(url: str, **changes: Any) -> EndpointSettings:
    model = changes.pop("model", MODEL)
    return EndpointSettings(model, Address.of(url), **{"timeout": 20.0, "connect_timeout": 10.0, **changes})


def _ask(
    url: str,
    patience: Patience | None = QUICK,
    *,
    meter: Meter | None = None,
    sampling: Sampling | None = None,
    **changes: Any,
) -> Completion:
    async def asking() -> Completion:
        endpoint = ChatEndpoint(_settings(url, **changes))
        model = endpoint if patience is None else Patient(endpoint, patience, meter=meter)
        try:
            return await model.complete(ASKED, sampling or Sampling())
        finally:
            await model.aclose()

    return asyncio.run(asking())


def _check(url: str, **changes: Any) -> Sequence[str] | None:
    async def checking() -> Sequence[str] | None:
        endpoint = ChatEndpoint(_settings(url, **changes))
        try:
            return await endpoint.check()
        finally:
            await endpoint.aclose()

    return asyncio.run(checking())


def test_a_whole_answer() -> None:
    with ReplayEndpoint(lambda _request: TEXT) as endpoint:
        done = _ask(
            endpoint.url, sampling=Sampling(0.5, 0.9, 99, ("</action>",), seed=3), extra={"top_k": 5, "top_p": None}
        )
    assert (done.text, done.finish, done.calls, done.wasted) == (TEXT, "stop", 1, 0)
    assert (done.usage.prompt, done.usage.completion, done.usage.estimated) == (6, 4, False)
    (request,) = endpoint.requests
    assert request == {
        "model": MODEL,
        "messages": [{"role": "system", "content": "Play."}, {"role": "user", "content": "You are in a room."}],
        "temperature": 0.5,
        "max_tokens": 99,
        "stream": False,
        "stop": ["</action>"],
        "seed": 3,
        "top_k": 5,
    }


@pytest.mark.parametrize(
    "fault",
    [
        "429",
        "500",
        "503",
        "reset",
        "cut",
        "no answer",
        "huge",
        "invalid json",
        "html",
        "stream",
        "deep",
        "a list",
        "empty",
        "empty choices",
        "error inside",
        "hang",
        "drip",
    ],
)
def test_what_passes_is_tried_again(fault: str) -> None:
    late = fault in ("hang", "drip")
    faults = (fault,) if late else (fault, fault)
    with ReplayEndpoint(lambda _request: TEXT, fault=_first(*faults)) as endpoint:
        done = _ask(endpoint.url, timeout=1.0 if late else 20.0)
        paid_in_vain = fault not in ("429", "500", "503")
        assert (done.wasted > 0) == paid_in_vain
    assert done.text == TEXT
    assert done.calls == len(endpoint.requests)
    # On a busy machine a whole answer can be late too.
    assert done.calls > len(faults) if late else done.calls == 3


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("429", "Rate limit reached"),
        ("500", "500: Internal Server Error"),
        ("503", "503: overloaded"),
        ("reset", "connection broke"),
        ("cut", "connection broke"),
        ("no answer", "connection broke"),
        ("hang", "no whole reply within 0.2 s"),
        ("drip", "no whole reply within 0.2 s"),
        ("huge", "longer than 300,000 bytes"),
        ("invalid json", "not JSON"),
        ("html", "a page of the web"),
        ("stream", "a stream although none was asked for"),
        ("deep", "not JSON"),
        ("a list", "no JSON object"),
        ("empty", "it is empty"),
        ("empty choices", "no choice"),
        ("error inside", "upstream failed"),
    ],
)
def test_what_does_not_pass_is_given_up_and_named(fault: str, words: str) -> None:
    timeout = 0.2 if fault in ("hang", "drip") else 20.0
    with ReplayEndpoint(lambda _request: TEXT, fault=_always(fault)) as endpoint, pytest.raises(GaveUp) as caught:
        _ask(endpoint.url, Patience(retry_for=0), timeout=timeout, body_limit=300_000)
    assert words in caught.value.message
    assert isinstance(caught.value, ModelUnavailable)


@pytest.mark.parametrize("fault", ["400", "401", "404", "302"])
def test_a_refusal_is_not_tried_again(fault: str) -> None:
    with ReplayEndpoint(lambda _request: TEXT, fault=_always(fault)) as endpoint, pytest.raises(ModelRefused) as caught:
        _ask(endpoint.url, key=KEY)
    assert len(endpoint.requests) == 1
    expected = {
        "400": "maximum context length is 4096 tokens (show less: --history",
        "401": "check PROAS_API_KEY or OPENAI_API_KEY",
        "404": f"The model does not exist (check the name of the model, '{MODEL}')",
        "302": "http://198.51.100.7/v1 (give that address if you trust it)",
    }
    assert expected[fault] in str(caught.value)
    assert isinstance(caught.value, PromptRefused) == (fault == "400")


def test_an_address_without_a_version_is_suspected() -> None:
    with ReplayEndpoint(lambda _request: TEXT, fault=_always("404")) as endpoint, pytest.raises(ModelRefused) as caught:
        _ask(endpoint.url.replace("/v1", "/llm"))
    assert "perhaps" in caught.value.hint
    assert "/llm/v1" in caught.value.hint


@pytest.mark.parametrize("fault", ["parts", "duplicate keys", "charset", "latin", "goodbye"])
def test_odd_bodies_that_hold_an_answer_are_read(fault: str) -> None:
    with ReplayEndpoint(lambda _request: TEXT, fault=_always(fault)) as endpoint:
        done = _ask(endpoint.url)
    assert (done.text, done.calls, done.usage.total) == (TEXT, 1, 10)


def test_no_content_is_an_empty_reply() -> None:
    with ReplayEndpoint(lambda _request: TEXT, fault=_always("null content")) as endpoint:
        assert _ask(endpoint.url).text == ""


def test_thoughts_that_are_sent_apart_are_kept() -> None:
    with ReplayEndpoint(lambda _request: TEXT, fault=_always("thoughts apart")) as endpoint:
        done = _ask(endpoint.url)
    assert (done.reasoning, done.text.strip()) == ("So be it.", "<action>look</action>")


def test_half_a_character_can_be_written_down() -> None:
    with ReplayEndpoint(lambda _request: TEXT, fault=_always("half a character")) as endpoint:
        _ask(endpoint.url).text.encode()


@pytest.mark.parametrize("fault", ["no usage", "odd usage"])
def test_a_cost_that_is_not_told_is_estimated(fault: str) -> None:
    with ReplayEndpoint(lambda _request: TEXT, fault=_always(fault)) as endpoint:
        usage = _ask(endpoint.url).usage
    assert usage.estimated
    assert 0 < usage.total <= most_tokens(ASKED) + len(TEXT)


def test_a_server_s_wish_to_wait_is_heeded() -> None:
    for fault, least in (("429", 0.19), ("429 date", 0.0)):
        with ReplayEndpoint(lambda _request: TEXT, fault=_first(fault)) as endpoint:
            begun = time.monotonic()
            assert _ask(endpoint.url).calls == 2
            assert time.monotonic() - begun >= least


def test_a_server_that_asks_to_come_back_tomorrow_is_given_up() -> None:
    with ReplayEndpoint(lambda _request: TEXT, fault=_always("429 long")) as endpoint, pytest.raises(GaveUp) as caught:
        _ask(endpoint.url)
    assert "it asks to wait 86400 s" in caught.value.message
    assert len(endpoint.requests) == 1


def test_nobody_at_the_address() -> None:
    with socket.create_server(("127.0.0.1", 0)) as unused:
        port = unused.getsockname()[1]
    with pytest.raises(GaveUp) as caught:
        _ask(f"http://127.0.0.1:{port}", Patience(retry_for=0.05, first_pause=0.01))
    assert f"nobody answers at http://127.0.0.1:{port}/v1" in caught.value.message
    assert "is the server running?" in caught.value.hint
    assert not caught.value.reached


def test_tls_to_a_plain_port() -> None:
    with ReplayEndpoint(lambda _request: TEXT) as endpoint, pytest.raises(ModelRefused) as caught:
        _ask(endpoint.url.replace("http://", "https://"))
    assert "does not speak TLS" in caught.value.message
    assert "http://" in caught.value.hint


def test_the_key_is_sent_and_never_told(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with ReplayEndpoint(lambda _request: TEXT, key=KEY.get_secret_value()) as endpoint:
        assert _ask(endpoint.url, key=KEY).text == TEXT
        wrong = SecretStr("sk-another-secret")
        for ask in (_ask, _check):
            with pytest.raises(ModelRefused) as caught:
                ask(endpoint.url, key=wrong)
            assert "Bearer ***" in str(caught.value)
        with pytest.raises(ModelRefused, match="it wants a key: set PROAS_API_KEY"):
            _ask(endpoint.url)
    told = str(caught.value) + repr(caught.value) + caplog.text
    assert "sk-another" not in told
    assert "sk-very" not in told


def test_the_list_of_models_is_looked_at() -> None:
    with ReplayEndpoint(lambda _request: TEXT) as endpoint:
        assert _check(endpoint.url) == (MODEL, "other")
        with pytest.raises(ModelRefused, match=r"no model 'gpt-unknown' \(it offers recorded, other\)"):
            _check(endpoint.url, model="gpt-unknown")


def test_a_refused_key_ends_every_call_at_once() -> None:
    async def asking(url: str) -> list[object]:
        model = Patient(ChatEndpoint(_settings(url)), QUICK, concurrency=2)
        outcomes = await asyncio.gather(*(model.complete(ASKED, Sampling()) for _ in range(20)), return_exceptions=True)
        assert isinstance(model.gone, ModelRefused)
        await model.aclose()
        return list(outcomes)

    with ReplayEndpoint(lambda _request: TEXT, fault=_always("401")) as endpoint:
        outcomes = asyncio.run(asking(endpoint.url))
    assert len(endpoint.requests) <= 2
    assert all(isinstance(outcome, ModelRefused | ModelUnavailable) for outcome in outcomes)


def test_one_conversation_that_is_refused_does_not_end_the_others() -> None:
    def poisoned(_number: int, request: dict[str, Any]) -> str:
        return "400" if "poison" in request["messages"][0]["content"] else ""

    async def asking(url: str) -> list[object]:
        model = Patient(ChatEndpoint(_settings(url)), QUICK)
        asked = [[Message("user", "fine")], *[[Message("user", "poison")]] * 5, [Message("user", "fine too")]]
        outcomes: list[object] = []
        for messages in asked:
            outcomes += await asyncio.gather(model.complete(messages, Sampling()), return_exceptions=True)
        assert model.gone is None
        await model.aclose()
        return outcomes

    with ReplayEndpoint(lambda _request: TEXT, fault=poisoned) as endpoint:
        outcomes = asyncio.run(asking(endpoint.url))
    assert [isinstance(outcome, Completion) for outcome in outcomes] == [True, *[False] * 5, True]


def test_a_model_that_refuses_whatever_is_asked_is_gone() -> None:
    async def asking(url: str) -> object:
        model = Patient(ChatEndpoint(_settings(url)), QUICK)
        for _ in range(3):
            with pytest.raises(PromptRefused):
                await model.complete(ASKED, Sampling())
        with pytest.raises(ModelUnavailable):
            await model.complete(ASKED, Sampling())
        await model.aclose()
        return model.gone

    with ReplayEndpoint(lambda _request: TEXT, fault=_always("400")) as endpoint:
        assert asyncio.run(asking(endpoint.url)) is not None
    assert len(endpoint.requests) == 3


def test_no_more_calls_than_allowed_are_under_way() -> None:
    async def asking(url: str) -> None:
        model = Patient(ChatEndpoint(_settings(url)), QUICK, concurrency=3)
        await asyncio.gather(*(model.complete(ASKED, Sampling()) for _ in range(24)))
        await model.aclose()

    with ReplayEndpoint(lambda _request: TEXT, delay=0.01) as endpoint:
        asyncio.run(asking(endpoint.url))
    assert endpoint.most_at_once == 3


@pytest.mark.parametrize("budget", [0, 1, 100, 300, 1000])
def test_a_budget_holds_to_the_token(budget: int) -> None:
    async def asking(url: str) -> int:
        meter = Meter(budget)
        model = Patient(ChatEndpoint(_settings(url)), QUICK, meter=meter, concurrency=4)
        calls = (model.complete(ASKED, Sampling(max_tokens=20)) for _ in range(200))
        outcomes = await asyncio.gather(*calls, return_exceptions=True)
        await model.aclose()
        assert sum(isinstance(outcome, Completion) for outcome in outcomes) == len(endpoint.requests)
        return meter.spent

    with ReplayEndpoint(lambda _request: TEXT) as endpoint:
        spent = asyncio.run(asking(endpoint.url))
    assert spent == endpoint.billed <= budget
    bound = most_tokens(ASKED) + 20
    assert budget - spent < bound  # another call might not have fitted


def test_every_body_cut_at_every_place_is_a_failed_try_or_an_answer() -> None:
    from proas.agents.answers import completion_of
    from tests.support.replay_endpoint import completion

    whole = json.dumps(completion({"messages": []}, TEXT)).encode()
    for end in range(len(whole)):
        with pytest.raises(ModelUnavailable):
            completion_of(whole[:end], "application/json", ASKED)
    assert completion_of(whole, "", ASKED).text == TEXT
    assert not isinstance(TryFailed("x"), ModelRefused)
