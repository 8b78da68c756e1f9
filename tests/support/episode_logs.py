"""Rollouts of our environments as others would have logged them: the same episode in every format."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from proas.envs import EnvSpec, open_world
from proas.envs.alfworld import sample_root
from proas.envs.collect import CollectSettings, collect
from proas.rollouts import Rollout

AGENTGYM_INTRO = "You are given a task. Your output must strictly follow this format: Thought: ... Action: ..."
SYSTEM = "You act in a text environment. Answer with one action at a time."


@cache
def played(env: str, policy: str = "expert", tasks: int = 4, group: int = 1, seed: int = 0) -> tuple[Rollout, ...]:
    """Rollouts of the environment's own samples, without states."""
    world = open_world(EnvSpec(env, sample_root() if env == "alfworld" else None))
    settings = CollectSettings(policy=policy, group_size=group, seed=seed)
    return tuple(r for r in collect(world, world.tasks[:tasks], settings) if isinstance(r, Rollout))


def _thought(number: int) -> str:
    return f"Step {number + 1}: this brings the goal nearer."


def agentgym(rollout: Rollout) -> dict[str, Any]:
    """AgentTraj's conversations; the last observation is not recorded."""
    offered = "\nAVAILABLE ACTIONS: go to desk 1,look,inventory" if rollout.env == "alfworld" else ""
    first = rollout.observation.partition("\n\n")[2] if rollout.env == "alfworld" else rollout.observation
    said: list[dict[str, Any]] = [
        {"from": "human", "loss": None, "value": AGENTGYM_INTRO},
        {"from": "gpt", "loss": False, "value": "OK. I'll follow your instructions and try my best to solve the task."},
        {"from": "human", "loss": None, "value": first + offered},
    ]
    for n, step in enumerate(rollout.steps):
        said.append({"from": "gpt", "loss": True, "value": f"Thought:\n{_thought(n)}\n\nAction:\n{step.action}"})
        if n + 1 < len(rollout.steps):
            said.append({"from": "human", "loss": None, "value": step.observation + offered})
    return {"conversations": said, "item_id": f"{rollout.env}_17", "reward": float(rollout.success)}


def agentgym_functions(rollout: Rollout) -> dict[str, Any]:
    """The same with actions as JSON objects of a function and its arguments."""
    record = agentgym(rollout)
    for n, step in enumerate(rollout.steps):
        name, arguments = function_call(rollout.env, step.action)
        call = {"thought": _thought(n), "function_name": name, "arguments": json.dumps(arguments)}
        record["conversations"][3 + 2 * n]["value"] = json.dumps(call, indent=2)
    return record


def function_call(env: str, action: str) -> tuple[str, dict[str, str]]:
    """An action as the call of a tool that is named after it."""
    if env == "webshop":
        verb, _, rest = action.partition("[")
        return verb, {"keywords" if verb == "search" else "item": rest.removesuffix("]")}
    verb, _, rest = action.partition(" ")
    for joint in (" from ", " in/on ", " to ", " with "):
        if joint in rest and verb != "go":
            obj, _, recep = rest.partition(joint)
            return verb, {"obj": obj, "recep": recep}
    return ("goto", {"recep": rest.removeprefix("to ")}) if verb == "go" else (verb, {"recep": rest} if rest else {})


def messages(rollout: Rollout) -> dict[str, Any]:
    """TRL's messages, content in parts here and there."""
    said: list[dict[str, Any]] = [
        {"role": "system", "content": SYSTEM},
        {"role": "user", "content": [{"type": "text", "text": rollout.observation}]},
    ]
    for n, step in enumerate(rollout.steps):
        said.append({"role": "assistant", "content": f"<think>{_thought(n)}</think>\n<action>{step.action}</action>"})
        said.append({"role": "user", "content": step.observation})
    return {"messages": said, "score": float(rollout.success)}


def prompt_completion(rollout: Rollout) -> dict[str, Any]:
    """TRL's prompt and completion."""
    said = messages(rollout)["messages"]
    return {"prompt": said[:2], "completion": said[2:], "reward": float(rollout.success)}


def tool_calls(rollout: Rollout) -> dict[str, Any]:
    """TRL's messages with tool calls, arguments as JSON in a text, answers by messages of the tool."""
    said: list[dict[str, Any]] = [{"role": "user", "content": rollout.observation}]
    for n, step in enumerate(rollout.steps):
        name, arguments = function_call(rollout.env, step.action)
        call = {"id": f"call_{n}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
        said.append({"role": "assistant", "content": None, "tool_calls": [call]})
        said.append({"role": "tool", "tool_call_id": f"call_{n}", "name": name, "content": step.observation})
    return {"messages": said, "metadata": {"success": rollout.success, "environment": rollout.env}}


def atif(rollout: Rollout) -> dict[str, Any]:
    """A trajectory of ATIF 1.4 with tool calls and results."""
    steps: list[dict[str, Any]] = [
        {"step_id": 1, "source": "system", "message": SYSTEM},
        {"step_id": 2, "source": "user", "message": rollout.observation},
    ]
    for n, step in enumerate(rollout.steps):
        name, arguments = function_call(rollout.env, step.action)
        steps.append(
            {
                "step_id": n + 3,
                "source": "agent",
                "message": "",
                "reasoning_content": _thought(n),
                "tool_calls": [{"tool_call_id": f"c{n}", "function_name": name, "arguments": arguments}],
                "observation": {"results": [{"source_call_id": f"c{n}", "content": step.observation}]},
            }
        )
    return {
        "schema_version": "ATIF-v1.4",
        "session_id": rollout.id,
        "agent": {"name": "test", "version": "1"},
        "steps": steps,
        "final_metrics": {"total_steps": len(steps), "extra": {"reward": float(rollout.success)}},
    }


def atif_plain(rollout: Rollout) -> dict[str, Any]:
    """The same without tool calls: actions are messages, results name no call."""
    record = atif(rollout)
    for n, step in enumerate(rollout.steps):
        told = record["steps"][n + 2]
        del told["tool_calls"]
        told["message"] = f"Thought: {_thought(n)}\nAction: {step.action}"
        told["observation"]["results"] = [{"content": step.observation}]
    record["schema_version"] = "ATIF-v1.0"
    return record


def _dump(rollout: Rollout, turn: Callable[[str, str], str], ask: str, end: str) -> dict[str, Any]:
    given = turn("system", SYSTEM) + turn("user", rollout.observation) + ask
    answered = ""
    for n, step in enumerate(rollout.steps):
        answered += f"Thought: {_thought(n)}\nAction: {step.action}{end}"
        if n + 1 < len(rollout.steps):
            answered += turn("user", step.observation) + ask
    return {"input": given, "output": answered, "gts": None, "score": float(rollout.success), "step": 3, "acc": None}


def verl(rollout: Rollout) -> dict[str, Any]:
    """A dump of verl for a model with ChatML: special tokens are gone, names of roles stay."""
    return _dump(rollout, lambda role, text: f"{role}\n{text}\n", "assistant\n", "\n")


def verl_marked(rollout: Rollout) -> dict[str, Any]:
    """ChatML with its markers."""
    return _dump(
        rollout, lambda role, text: f"<|im_start|>{role}\n{text}<|im_end|>\n", "<|im_start|>assistant\n", "<|im_end|>\n"
    )


def verl_llama(rollout: Rollout) -> dict[str, Any]:
    """Llama 3 with its markers."""
    head = "<|start_header_id|>{}<|end_header_id|>\n\n"
    return _dump(
        rollout, lambda role, text: head.format(role) + text + "<|eot_id|>", head.format("assistant"), "<|eot_id|>"
    )


def verl_llama_stripped(rollout: Rollout) -> dict[str, Any]:
    """Llama 3 without its markers: nothing parts the end of a turn from the next role."""
    return _dump(rollout, lambda role, text: f"{role}\n\n{text}", "assistant\n\n", "")


def react(rollout: Rollout) -> dict[str, Any]:
    """ReAct's records: a transcript for ALFWorld, turns for WebShop."""
    if rollout.env == "webshop":
        turns = [{"action": "reset", "observation": rollout.observation}]
        for n, step in enumerate(rollout.steps):
            turns.append({"action": f"think[{_thought(n)}]", "observation": "OK."})
            turns.append({"action": step.action, "observation": step.observation})
        return {"instruction": rollout.goal, "turns": turns, "score": float(rollout.success)}
    text = rollout.observation.partition("\n\n")[2]
    for n, step in enumerate(rollout.steps):
        text += f"\n> think: {_thought(n)}\nOK.\n> {step.action}\n{step.observation}"
    return {"transcript": text + "\n", "success": rollout.success}


def ours(rollout: Rollout) -> dict[str, Any]:
    """A rollout of ours."""
    loaded: dict[str, Any] = json.loads(rollout.model_dump_json(exclude_none=True))
    return loaded


WRITERS: dict[str, Callable[[Rollout], dict[str, Any]]] = {
    writer.__name__: writer
    for writer in (
        agentgym,
        agentgym_functions,
        messages,
        prompt_completion,
        tool_calls,
        atif,
        atif_plain,
        verl,
        verl_marked,
        verl_llama,
        verl_llama_stripped,
        react,
        ours,
    )
}
FORMAT_OF = {
    name: "proas"
    if name == "ours"
    else "trl"
    if name in ("messages", "prompt_completion", "tool_calls")
    else name.partition("_")[0]
    for name in WRITERS
}


def lines(path: Path, records: Iterable[object]) -> Path:
    """Write records one a line."""
    path.write_text("".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records), encoding="utf-8")
    return path


def shuffled(values: Sequence[Any], seed: int = 0) -> list[Any]:
    """The same in another order."""
    return random.Random(seed).sample(list(values), len(values))
