"""Evaluation prompts of OpenCompass, read as a conversation and written from a configuration."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from promptls.convert.conversation import RESERVED, Conversation, Converted, Message, MessagePiece
from promptls.convert.parts_template import flow
from promptls.dialects.opencompass.vocabulary import CHAT_ROLES, DIALOGUE_KEYS
from promptls.text.errors import UserError

_COLUMN: Final = re.compile(r"\{([^\W\d]\w*)\}")


def read_opencompass(mapping: Mapping[str, Any]) -> Conversation:
    """Return the prompt that OpenCompass sends for one row, without in-context examples.

    Raises UserError for other prompts.
    """
    infer = mapping.get("infer_cfg", mapping)
    reader = mapping.get("reader_cfg")
    if not isinstance(infer, Mapping):
        raise UserError("`infer_cfg` is not a mapping")
    template = infer.get("prompt_template") or infer.get("ice_template")
    if not isinstance(template, Mapping):
        raise UserError(
            "there is neither a `prompt_template` nor an `ice_template`", remedy="add the template"
        )
    lost = list(_lost(infer))
    columns = _Columns(reader if isinstance(reader, Mapping) else {}, _token(template))
    messages = template.get("messages")
    if isinstance(messages, list):
        made = tuple(_turns(messages, columns, "content"))
    else:
        made = _from_template(template.get("template"), columns)
    if made and made[-1].role == "assistant" and not isinstance(messages, list):
        if made[-1].pieces:
            lost.append("what the last assistant turn says: OpenCompass leaves that turn to the model")
        made = made[:-1]
    header: dict[str, Any] = {"input_keys": {name: {} for name in columns.read}} if columns.read else {}
    if columns.output and columns.output not in columns.read:
        header["output_key"] = columns.output
    return Conversation(made, header, tuple(lost))


class _Columns:
    """The columns that a template's fields reference; `read` are the columns used so far, in order."""

    def __init__(self, reader: Mapping[str, Any], token: str) -> None:
        inputs = reader.get("input_columns")
        inputs = [inputs] if isinstance(inputs, str) else inputs
        self.inputs: Final = set(map(str, inputs)) if isinstance(inputs, list | tuple) else None
        output = reader.get("output_column")
        self.output: Final = output if isinstance(output, str) else ""
        self.token: Final = token
        self.read: dict[str, None] = {}

    def pieces(self, text: str) -> Iterator[MessagePiece]:
        """Yield the pieces of a text: fields are inputs, except for the answer, which OpenCompass masks."""
        if self.token:
            text = text.replace(self.token, "")
        position = 0
        for match in _COLUMN.finditer(text):
            name = match[1]
            known = self.inputs is None or name in self.inputs or name == self.output
            if not known or name in RESERVED:
                continue
            yield MessagePiece("text", text[position : match.start()])
            position = match.end()
            if name != self.output:
                self.read[name] = None
                yield MessagePiece("input", f"{name} | string")
        yield MessagePiece("text", text[position:])


def _token(template: Mapping[str, Any]) -> str:
    token = template.get("ice_token")
    return token if isinstance(token, str) else ""


def _from_template(template: Any, columns: _Columns) -> tuple[Message, ...]:
    if isinstance(template, str):
        return (Message("user", tuple(columns.pieces(template))),)
    if not isinstance(template, Mapping):
        raise UserError("the `template` is neither a text nor a dialogue")
    if not template.keys() <= DIALOGUE_KEYS.keys():
        raise UserError(
            "the template has one prompt for each label, which a parts template cannot have",
            remedy="convert the template of one label",
        )
    turns = []
    for key in DIALOGUE_KEYS:
        section = template.get(key) or []
        turns += section if isinstance(section, list) else [section]
    return tuple(_turns(turns, columns, "prompt"))


def _turns(turns: list[Any], columns: _Columns, key: str) -> Iterator[Message]:
    for turn in turns:
        if isinstance(turn, str):
            if columns.token and turn.strip() == columns.token:
                continue
            yield Message("user", tuple(columns.pieces(turn)))
        elif isinstance(turn, Mapping):
            role = str(turn.get("role", "HUMAN"))
            text = turn.get(key, "")
            pieces = tuple(columns.pieces(text)) if isinstance(text, str) else ()
            yield Message(CHAT_ROLES.get(role, role.lower()), tuple(piece for piece in pieces if piece.text))


def _lost(infer: Mapping[str, Any]) -> Iterator[str]:
    """Yield the settings of `infer_cfg` that are lost: the retriever and the inferencer."""
    retriever = infer.get("retriever")
    kind = retriever.get("type") if isinstance(retriever, Mapping) else retriever
    if kind is not None and "ZeroRetriever" not in str(kind):
        yield f"the in-context examples that `{kind}` chooses"
    inferencer = infer.get("inferencer")
    kind = inferencer.get("type") if isinstance(inferencer, Mapping) else inferencer
    if kind is not None and "GenInferencer" not in str(kind):
        yield f"the inferencer `{kind}`: a parts template asks for an answer, and compares no labels"


_MAX_INLINE: Final = 90
"""The maximum length of a mapping or list on its key's line, in characters."""
_ORDER: Final = ("infer_cfg", "eval_cfg", "models", "path", "name", "reader_cfg", "abbr")
"""Top-level keys: the texts come first, and values without long texts at the end."""
_JINJA: Final = ("{{", "{%", "{#")


def evaluation_prompt(dataset: Mapping[str, Any], lost: tuple[str, ...]) -> Converted:
    """Return the dataset as an evaluation prompt; `lost` is what could not be converted."""
    keys = [key for key in _ORDER if key in dataset]
    lines = [line for key in keys for line in _entry(key, dataset[key], "")]
    return Converted("\n".join(lines) + "\n", lost)


def _entry(key: Any, value: Any, indent: str) -> Iterator[str]:
    """Yield the lines of a key with its value, at an indentation."""
    name = flow(key)
    block = _block(value, indent)
    if block is not None:
        yield f"{indent}{name}: {block}"
        return
    short = f"{indent}{name}: {_flow(value)}"
    if not _is_nested(value) or (len(short) <= _MAX_INLINE and _is_flat(value)):
        yield short
        return
    yield f"{indent}{name}:"
    yield from _nested(value, indent + "  ")


def _nested(value: Any, indent: str) -> Iterator[str]:
    if isinstance(value, dict):
        for key, entry in value.items():
            yield from _entry(key, entry, indent)
        return
    for item in value:
        short = f"{indent}- {_flow(item)}"
        block = _block(item, indent)
        if block is not None:
            yield f"{indent}- {block}"
        elif not _is_nested(item) or (len(short) <= _MAX_INLINE and _is_flat(item)):
            yield short
        else:
            first, *rest = _nested(item, indent + "  ")
            yield f"{indent}- {first[len(indent) + 2 :]}"
            yield from rest


def _flow(value: Any) -> str:
    """Return the value on one line, with non-text keys unquoted."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{flow(key)}: {_flow(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_flow, value)) + "]"
    return flow(value)


def _is_nested(value: Any) -> bool:
    return isinstance(value, dict | list) and bool(value)


def _is_flat(value: Any) -> bool:
    """Return whether the value contains no text that would be more readable on lines of its own."""
    if isinstance(value, dict):
        return all(map(_is_flat, value.values()))
    if isinstance(value, list):
        return all(map(_is_flat, value))
    return not isinstance(value, str) or "\n" not in value


def _block(value: Any, indent: str) -> str | None:
    """Return a multi-line text as a block scalar; None for others, and if a block would change the text."""
    if not isinstance(value, str) or "\n" not in value.strip("\n") or any(mark in value for mark in _JINJA):
        return None
    lines = value.split("\n")
    if not all(line.isprintable() for line in lines) or lines[0][:1] in {"", " "}:
        return None
    body = value.rstrip("\n")
    ending = len(value) - len(body)
    style = {0: "|-", 1: "|"}.get(ending, "|+")
    inner = indent + "  "
    shown = "\n".join(f"{inner}{line}" if line else "" for line in body.split("\n"))
    return f"{style}\n{shown}" + "\n" * max(0, ending - 1)
