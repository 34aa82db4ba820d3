"""A parts template written as a prompt object of Ragas."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from promptls.conversions.conversation import Conversation, Converted, Message
from promptls.conversions.flow_yaml import flow
from promptls.conversions.parts_writer import key_lines
from promptls.settings.header import HEADER_KEYS
from promptls.text.failure import Failure

_DEFAULT_OUTPUT: Final = "response"
_JINJA: Final = re.compile(r"\{[{%#]")


def prompt_object(conversation: Conversation) -> Converted:
    """The object: its instruction is the text of the messages, and its inputs stand behind it.

    A message that is nothing but one input goes, because Ragas prints every input at the end;
    an input inside a text becomes a field of the instruction. Raises Failure where nothing is left.
    """
    lost = list(conversation.lost)
    declared = conversation.header.get("input_keys") or {}
    inputs = dict.fromkeys(
        piece.text for message in conversation.messages for piece in message.pieces if piece.kind == "input"
    )
    texts = [instruction_text(message) for message in conversation.messages if not _is_input(message)]
    instruction = "\n\n".join(text for text in texts if text.strip())
    if not instruction.strip():
        raise Failure("the prompt has no text that could be an instruction")
    roles = sorted({message.role for message in conversation.messages} - {"user"})
    if roles:
        lost.append(f"the roles ({', '.join(roles)}): a prompt object is one message")
    if len(conversation.messages) > 1:
        lost.append("the parts: their texts are one instruction now, and the inputs stand behind it")
    header: dict[str, Any] = {**conversation.header}
    schemas = declared if isinstance(declared, Mapping) else {}
    header["input_keys"] = (
        {**schemas, **{name: {} for name in inputs if name not in schemas}}
        if schemas
        else list(dict.fromkeys([*declared, *inputs]))
    )
    if "output_key" not in header:
        header["output_key"] = _DEFAULT_OUTPUT
        header["output_type"] = "str"
        lost.append(f"`output_key` is `{_DEFAULT_OUTPUT}`, as the template named none")
    return Converted(object_text(header, instruction), tuple(dict.fromkeys(lost)))


def object_text(header: Mapping[str, Any], instruction: str) -> str:
    """The file of a prompt object with this instruction and these other keys."""
    return "\n".join([*_lines(header, instruction), ""])


def _is_input(message: Message) -> bool:
    written = [piece for piece in message.pieces if piece.kind == "input" or piece.text.strip()]
    return len(written) == 1 and written[0].kind == "input"


def instruction_text(message: Message) -> str:
    """The message's text; Ragas takes braces for fields, so that those of the text stand twice."""
    return "".join(
        f"{{{piece.text}}}" if piece.kind == "input" else piece.text.replace("{", "{{").replace("}", "}}")
        for piece in message.pieces
    )


def _lines(header: Mapping[str, Any], instruction: str) -> Iterator[str]:
    for key in ("name", "description"):
        if key in header:
            yield from key_lines(key, header[key])
    yield from _instruction_lines(instruction)
    for key in HEADER_KEYS:
        if key in header and key not in {"name", "description"}:
            yield from key_lines(key, header[key])


def _instruction_lines(instruction: str) -> Iterator[str]:
    """The instruction as a block, or in quotes where a block would not hold it as it is."""
    written = _JINJA.sub(lambda match: f"{{{{ '{match.group()}' }}}}", instruction)
    lines = written.split("\n")
    if not written.isprintable() and not all(line.isprintable() for line in lines):
        yield f"instruction: {flow(instruction)}"
        return
    if written != written.strip("\n") or written[:1].isspace():
        yield f"instruction: {flow(instruction)}"
        return
    yield "instruction: |-"
    yield from (f"  {line}" if line else "" for line in lines)
