"""Addresses in the forms that people write, and keys that never show."""

from __future__ import annotations

from pathlib import Path

import pytest

from proas.agents import Address, ChatEndpoint, EndpointSettings, ModelChoice, api_key
from proas.errors import UsageError


@pytest.mark.parametrize(
    ("written", "base"),
    [
        ("http://127.0.0.1:8000", "http://127.0.0.1:8000/v1"),
        ("http://127.0.0.1:8000/", "http://127.0.0.1:8000/v1"),
        ("http://127.0.0.1:8000/v1", "http://127.0.0.1:8000/v1"),
        ("http://127.0.0.1:8000/v1/", "http://127.0.0.1:8000/v1"),
        ("http://127.0.0.1:8000/v1/chat/completions", "http://127.0.0.1:8000/v1"),
        ("http://127.0.0.1:8000/v1/models", "http://127.0.0.1:8000/v1"),
        ("localhost:8000", "http://localhost:8000/v1"),
        (" https://host.example/api/v1 ", "https://host.example/api/v1"),
        ("https://host.example/v1beta/openai/", "https://host.example/v1beta/openai"),
        ("http://[::1]:8000", "http://[::1]:8000/v1"),
    ],
)
def test_forms_of_one_address(written: str, base: str) -> None:
    assert Address.of(written).base == base


@pytest.mark.parametrize(
    "written", ["", "http://", "ftp://host/v1", "http://host:port/v1", "http://ho st/v1", "file:///x"]
)
def test_what_is_no_address_is_refused(written: str) -> None:
    with pytest.raises(UsageError):
        Address.of(written)


@pytest.mark.parametrize("written", ["https://me:secret@host/v1", "https://host/v1?key=secret", "me:secret@host"])
def test_secrets_in_an_address_are_refused_and_not_repeated(written: str) -> None:
    with pytest.raises(UsageError) as caught:
        Address.of(written)
    assert "secret" not in str(caught.value)


def test_no_proxy_is_asked_for_this_machine() -> None:
    local = ("http://127.0.0.1:1", "localhost:1", "http://[::1]:1", "http://127.9.9.9")
    assert all(Address.of(address).is_local for address in local)
    assert not Address.of("https://host.example").is_local


def test_the_key_comes_from_the_environment_or_a_file(tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text("from-file\nsecond line\n", encoding="utf-8")
    found = [
        api_key({}),
        api_key({"OPENAI_API_KEY": " sk-a "}),
        api_key({"OPENAI_API_KEY": "sk-a", "PROAS_API_KEY": "sk-b"}),
        api_key({"OPENAI_API_KEY": "sk-a", "PROAS_API_KEY_FILE": str(file)}),
        api_key({"OPENAI_API_KEY_FILE": str(file)}),
    ]
    assert [key and key.get_secret_value() for key in found] == [None, "sk-a", "sk-b", "from-file", "from-file"]


def test_a_key_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.write_text("\n", encoding="utf-8")
    for environment in (
        {"PROAS_API_KEY_FILE": str(tmp_path / "missing")},
        {"PROAS_API_KEY_FILE": str(tmp_path)},
        {"PROAS_API_KEY_FILE": str(empty)},
        {"PROAS_API_KEY": "sk-\u00e9t\u00e9"},
        {"PROAS_API_KEY": "sk-one\nsk-two"},
    ):
        with pytest.raises(UsageError) as caught:
            api_key(environment)
        assert "sk-" not in str(caught.value)


def test_no_representation_shows_a_key() -> None:
    settings = EndpointSettings("m", Address.of("localhost:1"), api_key({"PROAS_API_KEY": "sk-secret"}))
    choice = ModelChoice("m", "localhost:1", key=settings.key)
    for shown in (repr(settings), repr(choice), repr(ChatEndpoint(settings)), str(settings)):
        assert "sk-secret" not in shown


def test_a_model_is_at_an_endpoint_or_in_an_engine() -> None:
    for wrong in (
        {"model": "m"},
        {"model": " ", "endpoint": "localhost:1"},
        {"model": "m", "endpoint": "localhost:1", "engine": "vllm"},
        {"model": "m", "engine": "steam"},
        {"model": "m", "endpoint": "localhost:1", "timeout": float("nan")},
    ):
        with pytest.raises(UsageError):
            ModelChoice(**wrong)  # type: ignore[arg-type]
    assert ModelChoice("m", engine="vllm").open().name == "m"
