"""Reading what an endpoint sends: everything that servers were seen to do, and what they might.

Source of the form: OpenAI's "Create chat completion" (``POST /chat/completions``) and "List models", as vLLM, SGLang,
llama.cpp, Ollama and the hosted providers serve them.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Sequence
from typing import Any, TypeGuard

from proas.agents.model import Completion, Message, Usage, estimated_tokens, whole_text
from proas.errors import ModelUnavailable

__all__ = ["complaint_of", "completion_of", "model_names", "words_of"]

_EXCERPT = 200
_CHARSET = re.compile(r"charset=\"?([\w.:-]+)", re.IGNORECASE)
_LARGEST_COUNT = 10**9


def completion_of(body: bytes, content_type: str, messages: Sequence[Message]) -> Completion:
    """The completion that a body holds.

    Args:
        body: The body of an answer with status 200.
        content_type: Its header.
        messages: What was asked, to estimate its cost where the body does not say.

    Raises:
        ModelUnavailable: It holds none.
    """
    document = _document(body, content_type)
    if "choices" not in document and "error" in document:
        raise ModelUnavailable(f"the endpoint answers with an error and status 200: {_words_of_error(document)}")
    choices = document.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        raise ModelUnavailable("the endpoint's answer holds no choice", hint="is it a chat endpoint?")
    message = choices[0].get("message")
    if not isinstance(message, dict):
        raise ModelUnavailable("the endpoint's answer holds no message", hint="is it a chat endpoint?")
    text = _content(message.get("content"))
    reasoning = _content(message.get("reasoning_content") or message.get("reasoning"))
    finish = choices[0].get("finish_reason")
    usage = _usage(document.get("usage"), messages, text + reasoning)
    return Completion(text, usage, finish if isinstance(finish, str) else "", reasoning)


def model_names(body: bytes, content_type: str) -> tuple[str, ...] | None:
    """Names in a list of models; ``None`` where the body is none."""
    try:
        listed = _document(body, content_type).get("data")
    except ModelUnavailable:
        return None
    if not isinstance(listed, list):
        return None
    names = [entry.get("id") for entry in listed if isinstance(entry, dict)]
    return tuple(name for name in names if isinstance(name, str)) or None


def complaint_of(body: bytes, content_type: str) -> str:
    """What an answer with another status says, in one line; empty where it says nothing that a person can read."""
    if "html" in content_type.lower() or body.lstrip()[:1] == b"<":
        title = re.search(rb"<title>(.*?)</title>", body, re.DOTALL | re.IGNORECASE)
        return _line(title.group(1).decode("utf-8", "replace")) if title else "a page of the web"
    try:
        return _words_of_error(_document(body, content_type))
    except ModelUnavailable:
        return _line(body[: 4 * _EXCERPT].decode("utf-8", "replace"))


def words_of(text: str, *, limit: int = _EXCERPT) -> str:
    """A text in one line of bounded length."""
    return _line(text, limit)


def _document(body: bytes, content_type: str) -> dict[str, Any]:
    text = _decoded(body, content_type)
    if text.lstrip()[:1] == "<":
        raise ModelUnavailable("the endpoint answers with a page of the web, not with JSON", hint="check its address")
    if text.lstrip().startswith("data:"):
        raise ModelUnavailable("the endpoint answers with a stream although none was asked for")
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        raise ModelUnavailable(f"the endpoint's answer is not JSON: {_line(text) or 'it is empty'}") from None
    if not isinstance(document, dict):
        raise ModelUnavailable(f"the endpoint's answer is no JSON object: {_line(text)}")
    return document


def _decoded(body: bytes, content_type: str) -> str:
    """JSON is UTF-8 (RFC 8259); a server that sends something else is believed what its header says."""
    try:
        return body.decode("utf-8-sig")
    except UnicodeDecodeError:
        pass
    named = _CHARSET.search(content_type)
    for charset in (named.group(1) if named else "", json.detect_encoding(body)):
        try:
            codecs.lookup(charset)
            return body.decode(charset)
        except (LookupError, UnicodeDecodeError):
            continue
    return body.decode("utf-8", "replace")


def _content(content: object) -> str:
    """Text of a message: a string, nothing, or parts of which the texts count."""
    if isinstance(content, str):
        return whole_text(content)
    if isinstance(content, list):
        texts = [part.get("text") if isinstance(part, dict) else part for part in content]
        return whole_text("".join(text for text in texts if isinstance(text, str)))
    return ""


def _usage(given: object, messages: Sequence[Message], text: str) -> Usage:
    if isinstance(given, dict):
        prompt, completion = given.get("prompt_tokens"), given.get("completion_tokens")
        if _is_count(prompt) and _is_count(completion):
            return Usage(prompt, completion)
    prompt = sum(estimated_tokens(message.content) + 4 for message in messages)
    return Usage(prompt, estimated_tokens(text), estimated=True)


def _is_count(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _LARGEST_COUNT


def _words_of_error(document: dict[str, Any]) -> str:
    error = document.get("error", document)
    message = error.get("message") if isinstance(error, dict) else error
    if message is None and isinstance(error, dict):
        message = error.get("detail")
    return _line(message if isinstance(message, str) else json.dumps(message))


def _line(text: str, limit: int = _EXCERPT) -> str:
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return line if len(line) <= limit else line[:limit] + "..."
