"""Chat messages in JSON, as the OpenAI API takes them."""

from __future__ import annotations

import json
from typing import Any, Final

from promptls.conversions.conversation import Conversation, Message, Piece
from promptls.text.failure import Failure

_CARRIED: Final = frozenset({"role", "content", "name"})


def read_chat_json(text: str) -> Conversation:
    """The messages of a list, or of the list under `messages`; raises Failure where there is none."""
    try:
        loaded = json.loads(text)
    except ValueError as error:
        raise Failure(
            f"this is no JSON: {error}", remedy="check the file, or name its form with `--from`"
        ) from error
    lost: list[str] = []
    if isinstance(loaded, dict):
        others = sorted(set(loaded) - {"messages"})
        if others and "messages" in loaded:
            lost.append(f"settings beside the messages: {', '.join(f'`{key}`' for key in others)}")
        loaded = loaded.get("messages")
    if not isinstance(loaded, list) or not all(isinstance(item, dict) for item in loaded):
        raise Failure(
            "there is no list of messages in the file",
            remedy='write [{"role": "user", "content": "…"}], or the same under "messages"',
        )
    messages = tuple(_message(number, item, lost) for number, item in enumerate(loaded, start=1))
    return Conversation(messages, {}, tuple(lost))


def _message(number: int, item: dict[str, Any], lost: list[str]) -> Message:
    role = item.get("role")
    if not isinstance(role, str) or not role:
        raise Failure(f"message {number} has no `role`", remedy="give it one: system, user or assistant")
    others = sorted(set(item) - _CARRIED)
    if others:
        lost.append(f"message {number}: {', '.join(f'`{key}`' for key in others)}")
    name = item.get("name")
    text = _text(number, item.get("content"), lost)
    return Message(role, (Piece("text", text),), name if isinstance(name, str) else "")


def _text(number: int, content: Any, lost: list[str]) -> str:
    """The text of a message: its content, or the texts among its parts."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        raise Failure(f"the content of message {number} is no text", remedy="write it as text")
    texts = []
    for part in content:
        if isinstance(part, str):
            texts.append(part)
        elif isinstance(part, dict) and isinstance(part.get("text"), str):
            texts.append(part["text"])
        else:
            kind = part.get("type", "part") if isinstance(part, dict) else "part"
            lost.append(f"message {number}: a piece of the type `{kind}`, which is no text")
    return "".join(texts)
