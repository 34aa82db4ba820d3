"""Parts templates, read as a conversation and written from one."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import yaml

from promptls.convert.conversation import JINJA, Conversation, Converted, Message, MessagePiece
from promptls.dialects.prompt_poet import document
from promptls.dialects.prompt_poet.failures import PromptPoetError
from promptls.dialects.prompt_poet.prompt_parts import ItemError, PromptPart, build_parts
from promptls.dialects.prompt_poet.vocabulary import SPACE_MARKER
from promptls.semantic.template import Template
from promptls.settings.header import HEADER_KEYS
from promptls.syntax.jinja.nodes import Call, Constant, Expression, Filter, Name
from promptls.syntax.jinja.problems import tag_tree
from promptls.syntax.jinja.scanner import Tag
from promptls.text.errors import FilePlace, UserError

_SHORT_ESCAPES: Final = range(0x10000)
"""The code points that `\\u` and four digits can denote."""
_SPECIAL: Final = frozenset("\n\r{}[],#&*!|>'\"%@`\\\x85\u2028\u2029")


def flow(value: Any) -> str:
    """Return the value as YAML on one line, unquoted where that parses as the same text."""
    if isinstance(value, str):
        return value if _is_plain(value) else _quote(value)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{flow(key)}: {flow(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(flow, value)) + "]"
    return json.dumps(value, ensure_ascii=False, default=str)


def _is_plain(text: str) -> bool:
    """Return whether the unquoted text parses as the same text in a flow sequence.

    False if it contains braces of Jinja.
    """
    if not text or text != text.strip() or not text.isprintable() or set(text) & _SPECIAL:
        return False
    try:
        return bool(yaml.safe_load(f"[{text}]") == [text] and yaml.safe_load(f"{{{text}: 1}}") == {text: 1})
    except yaml.YAMLError:
        return False


def _quote(text: str) -> str:
    """Return the text in double quotes, with unprintable characters and Jinja's delimiters escaped."""
    quoted = json.dumps(text, ensure_ascii=False)
    quoted = "".join(character if character.isprintable() else _escape(character) for character in quoted)
    for special in ("{", "%", "#"):
        quoted = quoted.replace("{" + special, "{" + _escape(special))
    return quoted


def _escape(character: str) -> str:
    code = ord(character)
    return f"\\u{code:04x}" if code in _SHORT_ESCAPES else f"\\U{code:08x}"


INDENTATION: Final = "    "
_JINJA: Final = re.compile(r"\{[{%#]")
_NOT_IN_BLOCK: Final = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x85\x86-\x9f\u2028\u2029\ufeff\ufffe\uffff\ud800-\udfff]"
)
_NOT_IN_YAML: Final = re.compile("[\ud800-\udfff]")
_LOST_ESCAPES: Final = "a written `\\n` or `\\r` becomes a line break, which Prompt Poet makes of it"
_LOST_MARKER: Final = f"a written `{SPACE_MARKER}` becomes a space, which Prompt Poet makes of it"
_LOST_EDGE: Final = "tabs and other white space at the ends of a message, which Prompt Poet strips"
_LOST_CONTROLS: Final = "control characters in a message with inputs, which a YAML block cannot contain"
_LOST_SURROGATES: Final = "lone surrogates, which a file cannot contain"


def content(pieces: Iterable[MessagePiece]) -> Converted:
    """Return the YAML after a `content:` key in the second column, and what of the message is lost."""
    merged = _merge(pieces)
    lost: list[str] = []
    texts = [piece.text for piece in merged if piece.kind == "text"]
    if any("\\n" in text or "\\r" in text for text in texts):
        lost.append(_LOST_ESCAPES)
    if any(SPACE_MARKER in text for text in texts):
        lost.append(_LOST_MARKER)
    if any(_NOT_IN_YAML.search(text) for text in texts):
        lost.append(_LOST_SURROGATES)
        merged = [_without(piece, _NOT_IN_YAML) for piece in merged]
    # Jinja and YAML normalize line breaks, but Prompt Poet converts `\r` to a carriage return.
    merged = [
        MessagePiece("text", piece.text.replace("\r", "\\r")) if piece.kind == "text" else piece
        for piece in merged
    ]
    merged = _with_edges(merged, lost)
    if not merged:
        return Converted('""', tuple(lost))
    in_quotes = any(piece.kind == "text" and _NOT_IN_BLOCK.search(piece.text) for piece in merged)
    if in_quotes and all(piece.kind == "text" for piece in merged):
        return Converted(_content_quoted(merged), tuple(lost))
    if in_quotes:
        lost.append(_LOST_CONTROLS)
        merged = [_without(piece, _NOT_IN_BLOCK) for piece in merged]
    return Converted(_block(merged), tuple(lost))


def _merge(pieces: Iterable[MessagePiece]) -> list[MessagePiece]:
    """Return the pieces with adjacent texts merged, and without empty pieces."""
    merged: list[MessagePiece] = []
    for piece in pieces:
        if piece.kind == "text" and merged and merged[-1].kind == "text":
            merged[-1] = MessagePiece("text", merged[-1].text + piece.text)
        elif piece.text:
            merged.append(piece)
    return merged


def _without(piece: MessagePiece, pattern: re.Pattern[str]) -> MessagePiece:
    return MessagePiece("text", pattern.sub("", piece.text)) if piece.kind == "text" else piece


def _with_edges(pieces: list[MessagePiece], lost: list[str]) -> list[MessagePiece]:
    """Return the pieces with leading and trailing white space written so that it is not stripped."""
    if pieces and pieces[0].kind == "text":
        text = pieces[0].text
        inner = text.lstrip()
        pieces[0] = MessagePiece("text", _edge(text[: len(text) - len(inner)], lost) + inner)
    if pieces and pieces[-1].kind == "text":
        text = pieces[-1].text
        inner = text.rstrip()
        pieces[-1] = MessagePiece("text", inner + _edge(text[len(inner) :], lost))
    return [piece for piece in pieces if piece.text]


def _edge(space: str, lost: list[str]) -> str:
    written = [{" ": SPACE_MARKER, "\n": "\\n"}.get(character, "") for character in space]
    if not all(written):
        lost.append(_LOST_EDGE)
    return "".join(written)


def _block(pieces: list[MessagePiece]) -> str:
    text = _in_jinja(pieces)
    # An input printed first could begin with spaces, which YAML would parse as indentation.
    header = "|2" if pieces[0].kind != "text" and "\n" in text else "|"
    lines = [f"{INDENTATION}{line}" if line else "" for line in text.split("\n")]
    return "\n".join([header, *lines])


def _content_quoted(pieces: list[MessagePiece]) -> str:
    quoted = json.dumps(_in_jinja(pieces), ensure_ascii=False)
    return _NOT_IN_BLOCK.sub(lambda match: f"\\u{ord(match.group()):04x}", quoted).replace("\x7f", "\\x7f")


def _in_jinja(pieces: list[MessagePiece]) -> str:
    made = []
    for index, piece in enumerate(pieces):
        if piece.kind == "input":
            made.append(f"{{{{ escape_special_characters({piece.text}) }}}}")
        elif piece.kind == "tag":
            made.append(piece.text)
        else:
            text = _JINJA.sub(lambda match: f"{{{{ '{match.group()}' }}}}", piece.text)
            if text.endswith("{") and index + 1 < len(pieces):
                text = text[:-1] + "{{ '{' }}"
            made.append(text)
    return "".join(made)


_MAX_INLINE: Final = 80
"""The maximum length of a value on its key's line, in characters."""


def parts_template(conversation: Conversation) -> Converted:
    """Return a template that renders to the messages of the conversation."""
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
    """Return the header with these keys, in the documented order."""
    lines = [line for key in HEADER_KEYS if key in header for line in key_lines(key, header[key])]
    # A text could contain the end of a comment, which is therefore escaped.
    return "\n".join(["{#---", *(line.replace("#}", "#\\u007d") for line in lines), "---#}", ""])


def key_lines(key: str, value: Any) -> Iterator[str]:
    """Yield the lines of a top-level key: one line if the value is short, else one line for each item."""
    short = f"{key}: {flow(value)}"
    if isinstance(value, dict) and value and (key == "input_keys" or len(short) > _MAX_INLINE):
        yield f"{key}:"
        yield from (f"  {flow(str(name))}: {flow(each)}" for name, each in value.items())
    elif isinstance(value, list) and value and (key == "examples" or len(short) > _MAX_INLINE):
        yield f"{key}:"
        yield from (f"  - {flow(each)}" for each in value)
    else:
        yield short


def _names(messages: tuple[Message, ...]) -> Iterator[str]:
    """Yield a unique name for each part: the message's name or role, with a number if it is taken."""
    taken: set[str] = set()
    for message in messages:
        base = name = message.name or message.role
        number = 2
        while name in taken:
            name, number = f"{base} {number}", number + 1
        taken.add(name)
        yield name


_PLAIN_FILTERS: Final = frozenset({"string", "trim", "indent"})
_MARK: Final = re.compile("(\ue000\\d+\ue001)")


def read_parts(template: Template, path: str) -> Conversation:
    """Return the parts; raises UserError, with the place, for anything but texts and plain inputs."""
    if template.syntax_problems:
        problem = template.syntax_problems[0]
        place = FilePlace(path, *template.source.line_column(problem.span.start))
        raise UserError(problem.message, place, "fix it and convert again")
    marks: dict[str, MessagePiece] = {}
    rendered = JINJA.from_string("".join(_mark(template, path, marks))).render()
    try:
        parts = build_parts(document.load(rendered), {})
    except PromptPoetError as error:
        raise UserError(error.message, FilePlace(path), "fix it and convert again") from error
    except ItemError as error:
        raise UserError(error.failure.message, FilePlace(path), "fix it and convert again") from error
    if not parts:
        raise UserError("the file has no parts", FilePlace(path))
    messages = tuple(_message(part, path, marks) for part in parts)
    data = template.declarations.data
    header: dict[str, Any] = {key: data[key] for key in HEADER_KEYS if key in data}
    lost = [f"the `truncation_priority` of `{part.name}`" for part in parts if part.truncation_priority]
    return Conversation(messages, header, tuple(lost))


def _mark(template: Template, path: str, marks: dict[str, MessagePiece]) -> Iterator[str]:
    """Yield the template with each printed expression replaced by a mark; `marks` maps marks to pieces."""
    for start, chunk in zip(template.source.starts, template.source.chunks, strict=False):
        position = 0
        for tag in chunk.tags:
            yield chunk.text[position : tag.span.start]
            position = tag.span.end
            if tag.kind == "output":
                mark = f"\ue000{len(marks)}\ue001"
                marks[mark] = _piece(template, path, start, tag)
                before, after = "-" if tag.trims_before else "", "-" if tag.trims_after else ""
                yield f"{{{{{before} '{mark}' {after}}}}}"
            elif tag.kind == "statement":
                raise _refusal(template, path, start + tag.span.start, "a tag of Jinja")
            else:
                yield tag.text
        yield chunk.text[position:]


def _piece(template: Template, path: str, start: int, tag: Tag) -> MessagePiece:
    printed = _printed(tag)
    if isinstance(printed, Name):
        return MessagePiece("input", printed.name)
    if isinstance(printed, Constant) and isinstance(printed.value, str):
        return MessagePiece("text", printed.value)
    raise _refusal(template, path, start + tag.span.start, "an expression that is not a plain input")


def _refusal(template: Template, path: str, offset: int, what: str) -> UserError:
    place = FilePlace(path, *template.source.line_column(offset))
    return UserError(f"{what} cannot be in a prompt object", place, "write it as plain text and inputs")


def _printed(tag: Tag) -> Expression | None:
    """Return the variable or text that a tag prints, escaped or not; None for any other expression."""
    expressions = tag_tree(tag).statement.expressions
    node: Expression | None = expressions[0] if len(expressions) == 1 else None
    while True:
        if isinstance(node, Filter) and node.name in _PLAIN_FILTERS:
            node = node.target
        elif (
            isinstance(node, Call)
            and isinstance(node.function, Name)
            and node.function.name == "escape_special_characters"
            and len(node.arguments) == 1
        ):
            node = node.arguments[0]
        else:
            return node


def _message(part: PromptPart, path: str, marks: dict[str, MessagePiece]) -> Message:
    if not isinstance(part.content, str) or not isinstance(part.role, str):
        raise UserError(f"the part `{part.name}` has no text", FilePlace(path), "give it a `content`")
    if _MARK.search(part.role):
        raise UserError(f"Jinja prints the role of the part `{part.name}`", FilePlace(path), "write it out")
    pieces = (marks.get(text, MessagePiece("text", text)) for text in _MARK.split(part.content) if text)
    return Message(part.role, tuple(pieces), str(part.name))
