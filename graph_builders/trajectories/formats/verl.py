"""Dumps of verl: what ``trainer.rollout_data_dir`` and ``trainer.validation_data_dir`` make it write.

Source: ``_dump_generations`` and ``_log_rollout_data`` in ``verl/trainer/ppo/ray_trainer.py`` of volcengine/verl. A
file ``<step>.jsonl`` has a line ``{"input", "output", "gts", "score", "step", ...}`` for each sample, with whatever the
reward function adds. Input and output are decoded token sequences: prompt and response of one sample, all turns of a
multi-turn response in one text. verl drops special tokens when it decodes, so that of ChatML's markers only the name of
the role is left, on a line of its own; dumps of others keep the markers. Both are split here, for the templates of
ChatML (Qwen), Llama 3, Gemma, DeepSeek, Phi and GLM, and Mistral. ``input`` and ``output`` that are lists of messages
are read as such.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from proas.graph_builders.trajectories.chat import Message, Role, conversation_of, message_of
from proas.graph_builders.trajectories.episodes import Episode, Record, Unreadable
from proas.graph_builders.trajectories.fields import labels_of, plain_text

__all__ = ["NAME", "SUMMARY", "fits", "read", "split_turns"]

NAME = "verl"
SUMMARY = "dumps of verl: input, output, score, step"


@dataclass(frozen=True, slots=True)
class _Template:
    """How a chat template marks turns.

    Attributes:
        turn: Begins a turn; its group names the role.
        noise: What else the template puts in.
    """

    turn: re.Pattern[str]
    noise: re.Pattern[str]


_NAMES = "system|developer|user|assistant|tool"
_ROLES: dict[str, Role] = {
    "developer": "system",
    "system": "system",
    "user": "user",
    "human": "user",
    "inst": "user",
    "assistant": "assistant",
    "model": "assistant",
    "/inst": "assistant",
    "tool": "tool",
    "ipython": "tool",
    "observation": "tool",
}
_TEMPLATES = tuple(
    _Template(re.compile(turn, re.IGNORECASE), re.compile(noise))
    for turn, noise in (
        (rf"<\|im_start\|>({_NAMES})\n?", r"<\|im_end\|>|<\|endoftext\|>"),
        (
            rf"<\|start_header_id\|>({_NAMES}|ipython)<\|end_header_id\|>\n*",
            r"<\|(?:eot_id|eom_id|begin_of_text|end_of_text)\|>",
        ),
        (r"<start_of_turn>(user|model)\n?", r"<end_of_turn>|<bos>|<eos>"),
        (r"<｜(User|Assistant)｜>", r"<｜(?:begin|end)▁of▁sentence｜>"),
        (r"<\|(system|user|assistant|observation)\|>\n?", r"<\|end\|>|<\|endoftext\|>|\[gMASK\]<sop>"),
        (r"\[(/?INST)\]", r"</?s>|<</?SYS>>"),
    )
)
_STRIPPED = (
    _Template(re.compile(rf"(?:\A|(?<=\n))({_NAMES})\n"), re.compile(r"(?!)")),  # ChatML
    _Template(re.compile(rf"({_NAMES}|ipython)\n\n"), re.compile(r"(?!)")),  # Llama 3 parts turns by nothing
)
_FIRST = re.compile(r"\A\s*(?:system|user)\n")


def fits(value: object) -> bool:
    """Whether it has an input and an output."""
    return isinstance(value, dict) and {"input", "output"} <= value.keys()


def read(record: Record) -> Episode:
    """The sample as an episode. Raises ``Unreadable`` where it is none."""
    value = record.value
    assert isinstance(value, dict)
    messages = _messages(value["input"], value["output"])
    told = conversation_of(messages)
    return labels_of(value).episode(NAME, record, told)


def _messages(given: Any, answered: Any) -> list[Message]:
    if isinstance(given, list) or isinstance(answered, list):
        return _listed(given, "user") + _listed(answered, "assistant")
    if not isinstance(given, str) or not isinstance(answered, str):
        raise Unreadable("bad_content", "input and output are not texts")
    return split_turns(plain_text(given), plain_text(answered))


def _listed(value: Any, role: Role) -> list[Message]:
    return [message_of(message) for message in value] if isinstance(value, list) else [Message(role, plain_text(value))]


def split_turns(given: str, answered: str) -> list[Message]:
    """The messages of a prompt and a response in one chat template.

    Args:
        given: The prompt, which usually ends where the assistant is to speak.
        answered: The response, all turns in one text.
    """
    template = _template_of(given, answered)
    if template is None:
        return [Message("user", given.strip()), Message("assistant", answered.strip())]
    told, said = _cut(template, given, "user"), _cut(template, answered, "assistant")
    if told and told[-1].role == "assistant" and not told[-1].text:
        told.pop()
    return told + said


def _template_of(given: str, answered: str) -> _Template | None:
    for template in _TEMPLATES:
        if template.turn.search(given) or template.turn.search(answered):
            return template
    if not _FIRST.match(given) and not _STRIPPED[0].turn.search(answered):
        return None
    glued = given.lstrip().startswith(("system\n\n", "user\n\n"))
    return _STRIPPED[1] if glued else _STRIPPED[0]


def _cut(template: _Template, text: str, first: Role) -> list[Message]:
    """Messages of a text that begins with a marker, or inside a message of the first role."""
    marks = list(template.turn.finditer(text))
    ends = [mark.start() for mark in marks[1:]] + [len(text)]
    pieces: Sequence[tuple[Role, str]] = [(first, text[: marks[0].start()] if marks else text)]
    pieces = [
        *pieces,
        *((_ROLES[mark.group(1).lower()], text[mark.end() : end]) for mark, end in zip(marks, ends, strict=False)),
    ]
    cleaned = [(role, template.noise.sub("", piece).strip()) for role, piece in pieces]
    # An empty piece before the first marker is nothing; behind one it is a turn that was only begun.
    return [Message(role, piece) for n, (role, piece) in enumerate(cleaned) if n or piece]
