"""A parts template read as a conversation, where it is plain enough: texts and printed inputs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from jinja2 import Environment

from promptls.conversions.conversation import Conversation, Message, Piece
from promptls.meaning.template import Template
from promptls.settings.header import HEADER_KEYS
from promptls.syntax.jinja.nodes import Call, Constant, Expression, Filter, Name
from promptls.syntax.jinja.problems import tag_tree
from promptls.syntax.jinja.tag import Tag
from promptls.systems.prompt_poet import document
from promptls.systems.prompt_poet.failure import PromptPoetError
from promptls.systems.prompt_poet.parts import ItemError, PromptPart, build_parts
from promptls.text.failure import Failure, FilePlace

_HARMLESS: Final = frozenset({"string", "trim", "indent"})
_ENVIRONMENT: Final = Environment(autoescape=False)  # noqa: S701  (prompts are no HTML)
_MARK: Final = re.compile("(\ue000\\d+\ue001)")


def read_parts(template: Template, path: str) -> Conversation:
    """The parts; raises Failure, with the place, for anything but texts and plain inputs."""
    if template.syntax_problems:
        problem = template.syntax_problems[0]
        place = FilePlace(path, *template.source.place(problem.span.start))
        raise Failure(problem.message, place, "mend it, and convert again")
    marks: dict[str, Piece] = {}
    rendered = _ENVIRONMENT.from_string("".join(_marked(template, path, marks))).render()
    try:
        parts = build_parts(document.load(rendered), {})
    except PromptPoetError as error:
        raise Failure(error.message, FilePlace(path), "mend it, and convert again") from error
    except ItemError as error:
        raise Failure(error.failure.message, FilePlace(path), "mend it, and convert again") from error
    if not parts:
        raise Failure("the file has no parts", FilePlace(path))
    messages = tuple(_message(part, path, marks) for part in parts)
    data = template.declarations.data
    header: dict[str, Any] = {key: data[key] for key in HEADER_KEYS if key in data}
    lost = [f"the `truncation_priority` of `{part.name}`" for part in parts if part.truncation_priority]
    return Conversation(messages, header, tuple(lost))


def _marked(template: Template, path: str, marks: dict[str, Piece]) -> Iterator[str]:
    """The template with a mark in the place of everything that it prints; `marks` says what it was."""
    for start, chunk in zip(template.source.starts, template.source.chunks, strict=False):
        position = 0
        for tag in chunk.tags:
            yield chunk.text[position : tag.span.start]
            position = tag.span.end
            if tag.kind == "output":
                mark = f"\ue000{len(marks)}\ue001"
                marks[mark] = _piece(template, path, start, tag)
                before, behind = "-" if tag.trims_before else "", "-" if tag.trims_after else ""
                yield f"{{{{{before} '{mark}' {behind}}}}}"
            elif tag.kind == "statement":
                raise _refusal(template, path, start + tag.span.start, "a tag of Jinja")
            else:
                yield tag.text
        yield chunk.text[position:]


def _piece(template: Template, path: str, start: int, tag: Tag) -> Piece:
    printed = _printed(tag)
    if isinstance(printed, Name):
        return Piece("input", printed.name)
    if isinstance(printed, Constant) and isinstance(printed.value, str):
        return Piece("text", printed.value)
    raise _refusal(template, path, start + tag.span.start, "an expression that is no plain input")


def _refusal(template: Template, path: str, offset: int, what: str) -> Failure:
    place = FilePlace(path, *template.source.place(offset))
    return Failure(f"{what} cannot stand in a prompt object", place, "write it as plain text and inputs")


def _printed(tag: Tag) -> Expression | None:
    """The variable or text that a tag prints, escaped or not; None for any other expression."""
    expressions = tag_tree(tag).statement.expressions
    node: Expression | None = expressions[0] if len(expressions) == 1 else None
    while True:
        if isinstance(node, Filter) and node.name in _HARMLESS:
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


def _message(part: PromptPart, path: str, marks: dict[str, Piece]) -> Message:
    if not isinstance(part.content, str) or not isinstance(part.role, str):
        raise Failure(f"the part `{part.name}` has no text", FilePlace(path), "give it a `content`")
    if _MARK.search(part.role):
        raise Failure(f"Jinja prints the role of the part `{part.name}`", FilePlace(path), "write it out")
    pieces = (marks.get(text, Piece("text", text)) for text in _MARK.split(part.content) if text)
    return Message(part.role, tuple(pieces), str(part.name))
