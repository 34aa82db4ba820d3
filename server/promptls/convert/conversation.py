"""A prompt as messages with inputs, the intermediate format of conversions, from chats and `.prompty`."""

from __future__ import annotations

import json
import keyword
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from string import Formatter
from typing import Any, Final, Literal, NamedTuple

import yaml
from jinja2 import Environment, TemplateSyntaxError

from promptls.syntax.chunk import Chunk, cut
from promptls.syntax.jinja.blocks import chunk_blocks
from promptls.syntax.jinja.scanner import Tag
from promptls.text.errors import FilePlace, UserError, parse_json

JINJA: Final = Environment(autoescape=False)  # noqa: S701  (prompts are not HTML)


class MessagePiece(NamedTuple):
    """A piece of a message: literal `text`, an expression that is an `input`, or a whole `tag`."""

    kind: Literal["text", "input", "tag"]
    text: str


@dataclass(frozen=True, slots=True)
class Message:
    """One message; its name is empty if the source has none."""

    role: str
    pieces: tuple[MessagePiece, ...]
    name: str = ""


@dataclass(frozen=True, slots=True)
class Conversation:
    """The messages, the header's keys, and sentences about features of the source that are not supported."""

    messages: tuple[Message, ...]
    header: Mapping[str, Any] = field(default_factory=dict)
    lost: tuple[str, ...] = ()


class Converted(NamedTuple):
    """The text of the converted file, and sentences about what could not be converted."""

    text: str
    lost: tuple[str, ...]


_CONVERTED_KEYS: Final = frozenset({"role", "content", "name"})


def read_chat_json(text: str) -> Conversation:
    """Return the messages of a list, or of the list under `messages`.

    Raises UserError if there is no such list.
    """
    try:
        loaded = parse_json(text)
    except ValueError as error:
        raise UserError(
            f"this is not JSON: {error}", remedy="check the file, or name its format with `--from`"
        ) from error
    lost: list[str] = []
    if isinstance(loaded, dict):
        others = sorted(set(loaded) - {"messages"})
        if others and "messages" in loaded:
            lost.append(f"settings beside the messages: {', '.join(f'`{key}`' for key in others)}")
        loaded = loaded.get("messages")
    if not isinstance(loaded, list) or not all(isinstance(item, dict) for item in loaded):
        raise UserError(
            "there is no list of messages in the file",
            remedy='write [{"role": "user", "content": "…"}], or the same under "messages"',
        )
    messages = tuple(_message(number, item, lost) for number, item in enumerate(loaded, start=1))
    return Conversation(messages, {}, tuple(lost))


def _message(number: int, item: dict[str, Any], lost: list[str]) -> Message:
    role = item.get("role")
    if not isinstance(role, str) or not role:
        raise UserError(f"message {number} has no `role`", remedy="give it one: system, user or assistant")
    others = sorted(set(item) - _CONVERTED_KEYS)
    if others:
        lost.append(f"message {number}: {', '.join(f'`{key}`' for key in others)}")
    name = item.get("name")
    text = _text(number, item.get("content"), lost)
    if (field := _JINJA_FIELD.search(text)) is not None:
        lost.append(f"message {number}: `{field[0]}` as an input; it stays text, as messages have no inputs")
    return Message(role, (MessagePiece("text", text),), name if isinstance(name, str) else "")


_JINJA_FIELD: Final = re.compile(r"\{\{ *[^\W\d][\w.]* *\}\}")


def _text(number: int, content: Any, lost: list[str]) -> str:
    """Return the text of a message: its content, or the texts among its parts."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        raise UserError(f"the content of message {number} is not text", remedy="write it as text")
    texts = []
    for part in content:
        if isinstance(part, str):
            texts.append(part)
        elif isinstance(part, dict) and isinstance(part.get("text"), str):
            texts.append(part["text"])
        else:
            kind = part.get("type", "part") if isinstance(part, dict) else "part"
            lost.append(f"message {number}: a piece of the type `{kind}`, which is not a text")
    return "".join(texts)


_FIELD: Final = re.compile(r"(?P<name>[\w \-]*)(?P<path>(?:\.[^\W\d]\w*|\[[^\[\]{}]+\])*)")
_STEP: Final = re.compile(r"\.(?P<attribute>\w+)|\[(?P<item>[^\]]+)\]")
_NAME: Final = re.compile(r"[^\W\d]\w*")
_JINJA_WORDS: Final = frozenset(
    {"and", "or", "not", "in", "is", "if", "else", "true", "false", "none", "True", "False", "None", "loop"}
)
RESERVED: Final = frozenset({"token_limit", "escape_special_characters"})


def read_f_string(text: str) -> Conversation:
    """Return the text as one message of the user; raises UserError if its braces are not fields."""
    renamed: dict[str, str] = {}
    # The line break at the end of the file is not part of the message.
    text = text.removesuffix("\n").removesuffix("\r")
    # `str.format` refuses JSON in single braces.
    has_json = "{{" not in text and _MARKED_JSON.search(text) is not None
    pieces = tuple(_with_json(text, renamed) if has_json else field_pieces(text, renamed))
    lost = tuple(
        f"the field `{{{name}}}` is called `{new}` now, because Jinja takes no such name"
        for name, new in renamed.items()
        if name != new
    )
    inputs: dict[str, dict[str, str]] = {new: {} for new in renamed.values()}
    header = {"input_keys": inputs} if inputs else {}
    return Conversation((Message("user", pieces),), header, lost)


def read_jinja(text: str, path: str) -> Conversation:
    """Return the text with its Jinja as one message of the user; raises UserError if Jinja cannot read it."""
    from promptls.semantic.template import Template
    from promptls.syntax.source import Source

    try:
        JINJA.parse(text)
    except TemplateSyntaxError as error:
        place = FilePlace(path, error.lineno - 1)
        raise UserError(f"Jinja cannot read the text: {error.message}", place) from error
    inputs = Template(Source.of(text)).names.input_names - RESERVED
    lost: list[str] = []
    # The line break at the end of the file is not part of the message.
    message = _jinja_message("user", text.replace("\r\n", "\n").removesuffix("\n"), lost)
    names = dict.fromkeys(word for word in re.findall(r"\w+", text) if word in inputs)
    header: dict[str, Any] = {"input_keys": {name: {} for name in names}} if names else {}
    return Conversation((message,), header, tuple(dict.fromkeys(lost)))


_JSON: Final = re.compile(r'\{(?=\s*(?:["\[}]|$))')
_MARKED_JSON: Final = re.compile(r'\{\s*["\[]')
_NAMED: Final = re.compile(r"\{[^\W\d]\w*(?:\.\w+|\[\w+\])*\}")
_BRACE: Final = re.compile(rf"{_NAMED.pattern}|[{{}}]")


def _with_json(text: str, renamed: dict[str, str]) -> Iterator[MessagePiece]:
    """Yield the pieces of a text in which `{name}` is an input and JSON is text.

    Raises UserError for other braces.
    """
    depth = position = 0
    for match in _BRACE.finditer(text):
        begin, found = match.start(), match[0]
        if _NAMED.fullmatch(found):
            yield MessagePiece("text", text[position:begin])
            yield from field_pieces(found, renamed)
            position = match.end()
        elif found == "{" and _JSON.match(text, begin):
            depth += 1
        elif found == "}" and depth:
            depth -= 1
        else:
            raise UserError(
                f"the brace at “{text[begin : begin + 20]}” is part of no input and no JSON",
                remedy="write `{name}` for an input, and double a brace that is text",
            )
    yield MessagePiece("text", text[position:])


def field_pieces(text: str, renamed: dict[str, str]) -> Iterator[MessagePiece]:
    """Yield the pieces of a format string.

    Adds the Jinja name of each field's name to `renamed`.
    """
    count = 0
    try:
        parsed = list(Formatter().parse(text))
    except ValueError as error:
        raise UserError(
            f"the braces of the text are not fields: {error}",
            remedy="double a brace that is text",
        ) from error
    for literal, place, form, conversion in parsed:
        if literal:
            yield MessagePiece("text", literal)
        if place is None:
            continue
        name = place
        if not name or name[0] in ".[":
            name, count = f"{count}{name}", count + 1
        if form and "{" in form:
            raise UserError(f"the place `{{{name}:{form}}}` has a place in its format", remedy="write it out")
        yield MessagePiece("input", _expression(name, form or "", conversion or "", renamed))


def _expression(field: str, form: str, conversion: str, renamed: dict[str, str]) -> str:
    """Return the Jinja expression that is equivalent to a field of `str.format`."""
    match = _FIELD.fullmatch(field)
    if match is None:
        raise UserError(
            f"`{{{field}}}` is not the name of an input",
            remedy="double a brace that is text, and move expressions out of the text",
        )
    name = renamed.setdefault(match["name"], _jinja_name(match["name"], set(renamed.values())))
    steps = []
    for step in _STEP.finditer(match["path"]):
        item = step["item"]
        steps.append(
            f".{step['attribute']}" if item is None else f"[{item if item.isdigit() else json.dumps(item)}]"
        )
    value = name + "".join(steps)
    if form or conversion:
        written = "{" + (f"!{conversion}" if conversion else "") + (f":{form}" if form else "") + "}"
        return f"{json.dumps(written, ensure_ascii=False)}.format({value})"
    return f"{value} | string"


def _jinja_name(name: str, taken: set[str]) -> str:
    """Return the name if it is a valid Jinja name, else a valid one that is not taken."""
    if _NAME.fullmatch(name) and name not in {*_JINJA_WORDS, *RESERVED}:
        return name
    made = re.sub(r"\W", "_", name)
    if not made or made[0].isdigit():
        made = f"input_{made}" if made else "input"
    if keyword.iskeyword(made) or made in {*_JINJA_WORDS, *RESERVED}:
        made = f"{made}_value"
    while made in taken:
        made += "_"
    return made


_FRONT: Final = re.compile(
    r"\A\ufeff?---[ \t]*\r?\n(?P<front>.*?)^---[ \t]*\r?$\n?", re.DOTALL | re.MULTILINE
)
_ROLE: Final = re.compile(
    r"^[ \t]*#?[ \t]*(?P<role>system|user|assistant|developer|function|tool)[ \t]*:[ \t]*\r?$\n?",
    re.MULTILINE | re.IGNORECASE,
)
_PROMPTY_KEYS: Final = frozenset({"name", "description", "inputs", "sample"})
_TYPES: Final = {"string": "string", "number": "number", "float": "number", "integer": "integer",
                 "boolean": "boolean", "array": "array", "object": "object"}  # fmt: skip


def read_prompty(text: str) -> Conversation:
    """Return the messages with their Jinja; raises UserError if the file cannot be read."""
    match = _FRONT.match(text)
    front = _front(match["front"]) if match else {}
    body = text[match.end() :] if match else text
    lost = [f"`{key}` of the front matter" for key in front if key not in _PROMPTY_KEYS]
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
            f"the front matter is not valid YAML: {schema}", remedy="fix it and convert again"
        ) from error
    if loaded is not None and not isinstance(loaded, dict):
        raise UserError("the front matter is not a mapping of keys to values")
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
        yield _jinja_message("system", before.strip(), lost)
    ends = [*(marker.start() for marker in markers[1:]), len(body)]
    for marker, end in zip(markers, ends, strict=False):
        yield _jinja_message(marker["role"].lower(), body[marker.end() : end].strip(), lost)


def _jinja_message(role: str, text: str, lost: list[str]) -> Message:
    (chunk,) = cut(text, at_items=False)
    if any(tag.unclosed for tag in chunk.tags):
        raise UserError(f"a tag in the {role} message is never closed", remedy="close it, and convert again")
    if chunk_blocks(chunk).loose:
        raise UserError(
            f"a Jinja block begins in one message and ends in another, at the {role} message",
            remedy="let each message close its own blocks, and convert again",
        )
    return Message(role, _without_outer_trims([*_jinja_pieces(chunk, lost)]))


def _without_outer_trims(pieces: list[MessagePiece]) -> tuple[MessagePiece, ...]:
    """Return the pieces without dashes at both ends, where a tag would trim the YAML around the message."""
    for end, dash in ((0, r"(?<=\A\{[%{#])-"), (-1, r"-(?=[%}#]\}\Z)")):
        while len(pieces) > 1 and pieces[end].kind == "text" and not pieces[end].text.strip():
            if not re.search(dash, pieces[end + 1 if end == 0 else end - 1].text):
                break
            del pieces[end]
        if pieces and pieces[end].kind == "tag":
            pieces[end] = MessagePiece("tag", re.sub(dash, "", pieces[end].text))
    return tuple(pieces)


def _jinja_pieces(chunk: Chunk, lost: list[str]) -> Iterator[MessagePiece]:
    """Yield the pieces of a Jinja text: tags are unchanged, and printed values are escaped for YAML."""
    position = 0
    begins = [_CAPTURED.match(_inside(tag)) for tag in chunk.tags if tag.kind == "statement"]
    captured = _CAPTURED_NAMES | {match[1] for match in begins if match is not None}
    for tag in chunk.tags:
        if position < tag.span.start:
            yield MessagePiece("text", chunk.text[position : tag.span.start])
        position = tag.span.end
        if any(re.search(rf"\b{name}\b", tag.text) for name in RESERVED):
            lost.append("an input that is called as one of Prompt Poet's own names: rename it")
        if tag.kind == "raw":
            yield MessagePiece("text", chunk.slice(tag.body))
        else:
            yield _tag_piece(tag, captured, lost)
    if position < len(chunk.text):
        yield MessagePiece("text", chunk.text[position:])


_PATH: Final = re.compile(r"[\w.]+")
_SAFE: Final = re.compile(r"(?:\s*\|\s*safe)+$")
"""A filter without effect on a text that is no HTML, after which quotes are escaped for HTML."""


def _inside(tag: Tag) -> str:
    return tag.text[tag.inner_start : tag.inner_end].strip()


_OTHER_FILE: Final = re.compile(r"(?:include|import|from|extends)\b.*")
_CAPTURED: Final = re.compile(r"(?:macro|set)\s+(\w+)\s*(?:\(|$)")
"""The beginning of a macro, or of a variable whose value is a block: their text contains escaped values."""
_CAPTURED_NAMES: Final = frozenset({"caller", "super", "self"})


def _tag_piece(tag: Tag, captured: frozenset[str], lost: list[str]) -> MessagePiece:
    inside = _SAFE.sub("", _inside(tag))
    name = re.match(r"\w+", inside)
    if tag.kind == "statement" and _OTHER_FILE.match(inside):
        lost.append(f"`{inside}`: the lines of the other file need the indentation of the part")
    if tag.kind != "output":
        return MessagePiece("tag", tag.text)
    if name is not None and name[0] in captured:
        if "|" in inside:
            lost.append(f"`{inside}`: its filter gets a text whose line breaks are escaped")
        return MessagePiece("tag", tag.text)
    before = "-" if tag.trims_before else ""
    after = "-" if tag.trims_after else ""
    value = inside if _PATH.fullmatch(inside) else f"({inside})"
    return MessagePiece("tag", f"{{{{{before} escape_special_characters({value} | string) {after}}}}}")
