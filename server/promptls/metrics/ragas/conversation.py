"""Columns as the classes of Ragas want them: lists of texts, conversations, tool calls."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from promptls.metrics.values import NoJsonError, json_of
from promptls.text.failure import Failure

_USERS = frozenset({"user", "human", "system", "developer"})
_TOOLS = frozenset({"tool", "function"})
_AGENTS = frozenset({"assistant", "ai", "agent", "model"})


def texts(value: object) -> list[str]:
    """The texts of a list, also of one in JSON; any other text is the only one, and an empty one is none."""
    read = read_json(value)
    if isinstance(read, list):
        return [each if isinstance(each, str) else str(each) for each in read]
    text = str(value)
    return [text] if text.strip() else []


def conversation(value: object, response: str) -> list[dict[str, Any]]:
    """The messages of a conversation that ends with the agent: `role`, `content` and `tool_calls` of each.

    Raises `Failure` for what is no conversation.
    """
    read = read_json(value)
    if isinstance(read, Mapping) and isinstance(read.get("messages"), list):
        read = read["messages"]
    messages: list[dict[str, Any]] = (
        [_message(each) for each in read]
        if isinstance(read, list)
        else [{"role": "user", "content": str(value), "tool_calls": []}]
    )
    if not messages or messages[-1]["role"] != "assistant":
        messages.append(
            {"role": "assistant", "content": response, "tool_calls": _calls_of_response(response)}
        )
    return messages


def tool_calls(value: object) -> list[dict[str, Any]]:
    """The calls of a list, also of one in JSON, each with `name` and `args`; raises `Failure`."""
    read = read_json(value)
    if isinstance(read, Mapping):
        read = read.get("tool_calls", [read])
    if not isinstance(read, list):
        raise Failure(f"`{value}` is no list of tool calls: each has `name` and `args`")
    return [_call(each) for each in read]


def read_json(value: object) -> object:
    """What a text in JSON holds; any other value as it is."""
    if isinstance(value, str) and value.lstrip().startswith(("[", "{")):
        try:
            return json_of(value)
        except NoJsonError:
            return value
    return value


def _message(value: object) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise Failure(f"`{value}` is no message: a message has `role` and `content`")
    said = str(value.get("role") or value.get("type") or "").lower()
    role = next(
        (
            role
            for role, names in (("user", _USERS), ("tool", _TOOLS), ("assistant", _AGENTS))
            if said in names
        ),
        None,
    )
    if role is None:
        raise Failure(f"a message has the role `{said}`: choose `user`, `assistant` or `tool`")
    calls = value.get("tool_calls") or []
    return {"role": role, "content": str(value.get("content") or ""), "tool_calls": tool_calls(calls)}


def _call(value: object) -> dict[str, Any]:
    # OpenAI's form has name and arguments one level deeper.
    found = value.get("function", value) if isinstance(value, Mapping) else value
    if not isinstance(found, Mapping) or not isinstance(found.get("name"), str):
        raise Failure(f"`{value}` is no tool call: a call has `name` and `args`")
    arguments = read_json(found.get("args", found.get("arguments", {})))
    if not isinstance(arguments, Mapping):
        raise Failure(f"the arguments of the call of `{found['name']}` are no mapping")
    return {"name": found["name"], "args": dict(arguments)}


def _calls_of_response(response: str) -> list[dict[str, Any]]:
    """The calls that a response in JSON makes; a response of any other form makes none."""
    read = read_json(response)
    is_call = isinstance(read, Mapping) and ("tool_calls" in read or {"name", "args"} <= read.keys())
    if not is_call and not isinstance(read, list):
        return []
    try:
        return tool_calls(read)
    except Failure:
        return []
