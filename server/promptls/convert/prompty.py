"""`.prompty` files: YAML front matter, followed by Jinja messages after lines such as `system:`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

import yaml

from promptls.convert.conversation import RESERVED, Conversation, Message, MessagePiece
from promptls.syntax.chunk import Chunk, cut
from promptls.syntax.jinja.blocks import chunk_blocks
from promptls.syntax.jinja.scanner import Tag
from promptls.text.errors import UserError

_FRONT: Final = re.compile(
    r"\A\ufeff?---[ \t]*\r?\n(?P<front>.*?)^---[ \t]*\r?$\n?", re.DOTALL | re.MULTILINE
)
_ROLE: Final = re.compile(
    r"^[ \t]*#?[ \t]*(?P<role>system|user|assistant|developer|function|tool)[ \t]*:[ \t]*\r?$\n?",
    re.MULTILINE | re.IGNORECASE,
)
_CONVERTED_KEYS: Final = frozenset({"name", "description", "inputs", "sample"})
_TYPES: Final = {"string": "string", "number": "number", "float": "number", "integer": "integer",
                 "boolean": "boolean", "array": "array", "object": "object"}  # fmt: skip


def read_prompty(text: str) -> Conversation:
    """Return the messages with their Jinja; raises UserError if the file cannot be read."""
    match = _FRONT.match(text)
    front = _front(match["front"]) if match else {}
    body = text[match.end() :] if match else text
    lost = [f"`{key}` of the front matter" for key in front if key not in _CONVERTED_KEYS]
    if front.get("sample") is not None and not isinstance(front["sample"], dict):
        lost.append("`sample` of the front matter, which names a file")
    language = _language(front.get("template"))
    if language in {"jinja2", "jinja"}:
        lost = [each for each in lost if not each.startswith("`template`")]
    else:
        raise UserError(f"the file's template language is `{language}`", remedy="only Jinja can be converted")
    header: dict[str, Any] = {key: str(front[key]) for key in ("name", "description") if front.get(key)}
    if inputs := dict(_inputs(front)):
        header["input_keys"] = inputs
    messages = tuple(_messages(body.replace("\r\n", "\n"), lost))
    return Conversation(messages, header, tuple(dict.fromkeys(lost)))


def _language(template: object) -> str:
    """Return the template language of the messages, in the syntax of any release; Jinja by default."""
    while isinstance(template, dict):
        template = next((template[key] for key in ("type", "kind", "format") if template.get(key)), None)
    return "jinja2" if template is None else str(template)


def _front(text: str) -> dict[str, Any]:
    try:
        loaded = yaml.safe_load(text)
    except yaml.YAMLError as error:
        schema = str(error).splitlines()[0]
        raise UserError(
            f"the front matter is no YAML: {schema}", remedy="fix it and convert again"
        ) from error
    if loaded is not None and not isinstance(loaded, dict):
        raise UserError("the front matter is no mapping of keys to values")
    return loaded or {}


def _inputs(front: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the inputs with their schemas: those under `inputs`, with the values of `sample` as defaults."""
    declared, sample = front.get("inputs"), front.get("sample")
    sample = sample if isinstance(sample, dict) else {}
    if isinstance(declared, list):
        declared = {each.get("name"): each for each in declared if isinstance(each, dict)}
    declared = declared if isinstance(declared, dict) else {}
    for name in dict.fromkeys([*declared, *sample]):
        own_schema = declared.get(name)
        schema: dict[str, Any] = {}
        if isinstance(own_schema, dict):
            if (kind := _TYPES.get(str(own_schema.get("type") or own_schema.get("kind")))) is not None:
                schema["type"] = kind
            if isinstance(own_schema.get("description"), str):
                schema["description"] = own_schema["description"]
            sample.setdefault(name, own_schema.get("default", own_schema.get("sample")))
        elif own_schema is not None:
            sample.setdefault(name, own_schema)
        if sample.get(name) is not None:
            schema["default"] = sample[name]
        yield str(name), schema


def _messages(body: str, lost: list[str]) -> Iterator[Message]:
    markers = list(_ROLE.finditer(body))
    before = body[: markers[0].start()] if markers else body
    if before.strip():
        yield _message("system", before, lost)
    ends = [*(marker.start() for marker in markers[1:]), len(body)]
    for marker, end in zip(markers, ends, strict=False):
        text = body[marker.end() : end]
        yield _message(marker["role"].lower(), text, lost)


def _message(role: str, text: str, lost: list[str]) -> Message:
    (chunk,) = cut(text.strip(), at_items=False)
    if any(tag.unclosed for tag in chunk.tags):
        raise UserError(f"a tag in the {role} message is never closed", remedy="close it, and convert again")
    if chunk_blocks(chunk).loose:
        raise UserError(
            f"a Jinja block begins in one message and ends in another, at the {role} message",
            remedy="let each message close its own blocks, and convert again",
        )
    return Message(role, tuple(jinja_pieces(chunk, lost)))


def jinja_pieces(chunk: Chunk, lost: list[str]) -> Iterator[MessagePiece]:
    """Yield the pieces of a Jinja text: tags are unchanged, and printed values are escaped for YAML."""
    position = 0
    for tag in chunk.tags:
        if position < tag.span.start:
            yield MessagePiece("text", chunk.text[position : tag.span.start])
        position = tag.span.end
        if any(re.search(rf"\b{name}\b", tag.text) for name in RESERVED):
            lost.append("an input that is called as one of Prompt Poet's own names: rename it")
        if tag.kind == "raw":
            yield MessagePiece("text", chunk.text[tag.body.start : tag.body.end])
        else:
            yield _tag_piece(tag)
    if position < len(chunk.text):
        yield MessagePiece("text", chunk.text[position:])


def _tag_piece(tag: Tag) -> MessagePiece:
    if tag.kind != "output":
        return MessagePiece("tag", tag.text)
    inside = tag.text[tag.inner_start : tag.inner_end].strip()
    before = "-" if tag.trims_before else ""
    after = "-" if tag.trims_after else ""
    return MessagePiece("tag", f"{{{{{before} escape_special_characters(({inside}) | string) {after}}}}}")
