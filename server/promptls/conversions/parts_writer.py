"""A conversation written as a parts template."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from promptls.conversions.content import content
from promptls.conversions.conversation import Conversation, Converted, Message
from promptls.conversions.flow_yaml import flow
from promptls.settings.header import HEADER_KEYS

_LONG: Final = 80
"""Characters of a value that still stands on its key's line."""


def parts_template(conversation: Conversation) -> Converted:
    """The template, whose rendering gives the messages of the conversation."""
    lost = list(conversation.lost)
    blocks = [header_text(conversation.header)] if conversation.header else []
    parts = []
    for name, message in zip(_names(conversation.messages), conversation.messages, strict=True):
        made = content(message.pieces)
        lost += made.lost
        parts.append(f"- name: {flow(name)}\n  role: {flow(message.role)}\n  content: {made.text}\n")
    text = "".join(blocks) + ("\n".join(parts) if parts else "[]\n")
    return Converted(text, tuple(dict.fromkeys(lost)))


def header_text(header: Mapping[str, Any]) -> str:
    """The header with these keys, in the order in which headers are documented."""
    lines = [line for key in HEADER_KEYS if key in header for line in key_lines(key, header[key])]
    # The end of a comment could stand in a text, but not in an escape.
    return "\n".join(["{#---", *(line.replace("#}", "#\\u007d") for line in lines), "---#}", ""])


def key_lines(key: str, value: Any) -> Iterator[str]:
    """A key of the top level with its value: on one line where that is short, else an item a line."""
    short = f"{key}: {flow(value)}"
    if isinstance(value, dict) and value and (key == "input_keys" or len(short) > _LONG):
        yield f"{key}:"
        yield from (f"  {flow(str(name))}: {flow(each)}" for name, each in value.items())
    elif isinstance(value, list) and value and (key == "examples" or len(short) > _LONG):
        yield f"{key}:"
        yield from (f"  - {flow(each)}" for each in value)
    else:
        yield short


def _names(messages: tuple[Message, ...]) -> Iterator[str]:
    """A name for each part: the message's own or its role, with a number where it is taken."""
    taken: set[str] = set()
    for message in messages:
        wanted = name = message.name or message.role
        number = 2
        while name in taken:
            name, number = f"{wanted} {number}", number + 1
        taken.add(name)
        yield name
