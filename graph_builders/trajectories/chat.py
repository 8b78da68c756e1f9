"""From messages to turns, whoever logged them: roles, thoughts around an action, tool calls and their results."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from proas.graph_builders.trajectories.episodes import Call, Conversation, Turn, Unreadable
from proas.graph_builders.trajectories.fields import plain_text

__all__ = ["Conversation", "Message", "Role", "conversation_of", "heard", "message_of", "spoken", "tool_call"]

Role = Literal["system", "user", "assistant", "tool"]

_ROLES: Mapping[str, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "gpt": "assistant",
    "model": "assistant",
    "bot": "assistant",
    "agent": "assistant",
    "tool": "tool",
    "function": "tool",
    "ipython": "tool",
    "observation": "tool",
    "environment": "tool",
    "env": "tool",
}
_THOUGHT_ENDS = ("</think>", "</thought>", "</thinking>", "</reasoning>")
_TAGGED = re.compile(r"<(action|act|command)>(.*?)</\1>", re.IGNORECASE | re.DOTALL)
_LABELLED = re.compile(r"(?:^|\n)[ \t>*#]*Action(?: ?\d+)?[ \t*]*:", re.IGNORECASE)
_FENCE = re.compile(r"```(?:\w*\n)?(.*?)```", re.DOTALL)
_ACKNOWLEDGED = re.compile(r"(?:ok|okay|sure|understood|got it|yes|i understand|i will|i'll)\b", re.IGNORECASE)
_HEARD = re.compile(r"\A\s*(?:observation|obs)(?: ?\d+)?\s*:\s*", re.IGNORECASE)
_OFFERED = re.compile(r"\s*\n\s*AVAILABLE ACTIONS:.*\Z", re.DOTALL)
_RESPONSE = re.compile(r"</?(?:tool_response|observation)>")
_TOOL_CALL = re.compile(r"<tool_call>\s*(\{.*?\})\s*</tool_call>", re.DOTALL)
_REFUSED = re.compile(r"\A\s*invalid action\b", re.IGNORECASE)
_SHORT = 200


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation.

    Attributes:
        role: Who speaks.
        text: What is said.
        calls: Tool calls with their ids, of an assistant.
        answers: Id of the call that a tool's message answers.
        silent: The record says that this message is none of the agent's own (AgentGym's ``loss: false``).
    """

    role: Role
    text: str
    calls: tuple[tuple[str, Call], ...] = ()
    answers: str = ""
    silent: bool = False


def message_of(value: object) -> Message:
    """A message of an OpenAI, ShareGPT or AgentGym log.

    Raises:
        Unreadable: It is none.
    """
    if not isinstance(value, dict):
        raise Unreadable("bad_message", "a message is not an object")
    named = value.get("role", value.get("from"))
    role = _ROLES.get(named.strip().lower()) if isinstance(named, str) else None
    if role is None:
        raise Unreadable("bad_role", f"a message comes from {named!r:.60}, which is no known role")
    text = plain_text(value.get("content", value.get("value")))
    calls: list[tuple[str, Call]] = []
    given = value.get("tool_calls")
    if role == "assistant" and given:
        if not isinstance(given, list):
            raise Unreadable("bad_tool_call", "tool_calls is not a list")
        calls = [tool_call(call) for call in given]
    elif role == "assistant" and isinstance(value.get("function_call"), dict):
        calls = [tool_call(value["function_call"])]
    answers = value.get("tool_call_id")
    return Message(role, text, tuple(calls), answers if isinstance(answers, str) else "", value.get("loss") is False)


def tool_call(value: object) -> tuple[str, Call]:
    """Id and content of a tool call, whose arguments may be an object or JSON in a text.

    Raises:
        Unreadable: It is none.
    """
    if not isinstance(value, dict):
        raise Unreadable("bad_tool_call", "a tool call is not an object")
    function = value.get("function", value)
    function = function if isinstance(function, dict) else {"name": function, **value}
    name = function.get("name", value.get("function_name"))
    if not isinstance(name, str) or not name.strip():
        raise Unreadable("bad_tool_call", "a tool call names no function")
    arguments = _arguments(function.get("arguments", value.get("arguments")))
    known = value.get("id", value.get("tool_call_id"))
    return known if isinstance(known, str) else "", Call(name.strip(), arguments)


def _arguments(given: object) -> Mapping[str, Any]:
    if isinstance(given, str):
        text = given.strip()
        try:
            given = json.loads(text) if text else {}
        except (ValueError, RecursionError):
            given = {"input": text}
    if given is None:
        return {}
    return given if isinstance(given, dict) else {"input": given}


def conversation_of(messages: Sequence[Message]) -> Conversation:
    """The turns of a conversation, from its first action on.

    Everything before it is context; the last thing that the agent was told there is its first observation.

    Raises:
        Unreadable: The agent never acts.
    """
    first = next((n for n, message in enumerate(messages) if _acts(messages, n, message)), None)
    if first is None:
        raise Unreadable("no_turns", "the agent never acts in this record")
    told = [message for message in messages[:first] if message.role != "assistant"]
    seen = [message.text for message in told if message.role != "system"] or [message.text for message in told]
    observation = heard(seen[-1])[0] if seen else ""
    context = "\n".join(message.text for message in told)
    return Conversation(context, observation, tuple(_turns(messages[first:])))


def _acts(messages: Sequence[Message], number: int, message: Message) -> bool:
    """Whether this is an action, and not the agent's word that it has read its instructions."""
    if message.role != "assistant":
        return False
    if message.calls or number + 1 == len(messages):
        return True
    if message.silent:
        return False
    short = len(message.text) < _SHORT and _ACKNOWLEDGED.match(message.text.strip()) is not None
    early = not any(earlier.role == "assistant" for earlier in messages[:number])
    return not (short and early and "action" not in message.text.lower() and messages[number + 1].role == "user")


def _turns(messages: Sequence[Message]) -> Iterator[Turn]:
    place = 0
    while place < len(messages):
        message = messages[place]
        place += 1
        if message.role != "assistant":
            continue  # a second word of the environment's was taken with the first
        answers: list[Message] = []
        while place < len(messages) and messages[place].role != "assistant":
            answers.append(messages[place])
            place += 1
        yield from _answered(message, [answer for answer in answers if answer.role != "system"])


def _answered(message: Message, answers: Sequence[Message]) -> Iterator[Turn]:
    """The turns of one message of the agent's: one for each of its calls, else one."""
    calls = message.calls or tuple(("", call) for call in _calls_in(message.text))
    if len(calls) < 2:
        text, valid = heard("\n".join(answer.text for answer in answers))
        action = spoken(message.text)
        yield Turn(action, text, valid, calls[0][1] if calls else None)
        return
    rest = list(answers)
    for number, (name, call) in enumerate(calls):
        last = number == len(calls) - 1
        mine = [a for a in rest if name and a.answers == name] or (rest if last else rest[:1])
        rest = [answer for answer in rest if answer not in mine]
        text, valid = heard("\n".join(answer.text for answer in mine))
        yield Turn("", text, valid, call)


def _calls_in(text: str) -> Iterator[Call]:
    """Tool calls that stand in the text itself, in Hermes' tags or as AgentGym's object of thought and function."""
    if "{" not in text:
        return
    said = _without_thoughts(text).strip()
    objects = _TOOL_CALL.findall(said)
    if not objects and said.startswith("{") and said.endswith("}") and '"function_name"' in said:
        objects = [said]
    for written in objects:
        try:
            yield tool_call(json.loads(written, strict=False))[1]
        except (ValueError, RecursionError, Unreadable):
            continue


def heard(text: str) -> tuple[str, bool | None]:
    """What the environment said, without labels and lists of what may be done next; ``False`` where it refused."""
    plain = _HEARD.sub("", text)
    if "AVAILABLE ACTIONS:" in plain:
        plain = _OFFERED.sub("", plain)
    if "<" in plain:
        plain = _RESPONSE.sub("", plain)
    plain = plain.strip()
    return plain, False if _REFUSED.match(plain) else None


def spoken(text: str) -> str:
    """The action in an agent's words: in tags, behind the last ``Action:``, or all that is no thought in tags.

    Words that hold nothing but a thought come back as they are.
    """
    said = _without_thoughts(text)
    if not said.strip():
        return text.strip()
    tagged = _TAGGED.findall(said)
    if tagged:
        return str(tagged[-1][1]).strip()
    labels = list(_LABELLED.finditer(said))
    if not labels:
        return said.strip()
    behind = said[labels[-1].end() :].strip()
    fence = _FENCE.match(behind)
    lines = (fence.group(1) if fence else behind).strip().splitlines()
    return lines[0].strip() if lines else ""


def _without_thoughts(text: str) -> str:
    if "<" not in text:
        return text
    lower = text.lower()
    if len(lower) != len(text):  # a few letters change their length
        lower = text
    end = max((lower.rfind(tag) + len(tag) for tag in _THOUGHT_ENDS if tag in lower), default=0)
    rest = text[end:]
    opened = rest.lower().find("<think>")
    return rest if opened < 0 else rest[:opened]
