"""Find the few-shot examples that a file shows to a model, and remove one of them from the file.

They are the declared `examples` of a prompt object or an evaluation prompt, and the items of lists that a
template sets under a name such as `examples` or `shots`. The examples in the header of a parts template are
not sent to a model.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from promptls.semantic.kind import Kind
from promptls.semantic.template import Template
from promptls.syntax.yaml.nodes import Sequence
from promptls.text.format import shorten_line
from promptls.text.positions import Span, stripped_span

_SET: Final = re.compile(r"\{%[-+]?\s*set\s+(\w*(?:example|shot|demonstration)\w*)\s*=\s*\[", re.IGNORECASE)
_COMMENT: Final = re.compile(r"\{#.*?#\}", re.DOTALL)
_TEXT: Final = re.compile(r"\"((?:[^\"\\]|\\.)*)\"|'((?:[^'\\]|\\.)*)'")
_CLOSING: Final = {"[": "]", "(": ")", "{": "}"}
_MAX_LABEL: Final = 60


class FewShot(NamedTuple):
    """An example: its one-based index in its list, its span, the span to remove, and its label."""

    number: int
    span: Span
    removed: Span
    label: str

    def without(self, text: str) -> str:
        """Return the file's text without the example."""
        return text[: self.removed.start] + text[self.removed.end :]


def few_shots(template: Template) -> tuple[FewShot, ...]:
    """Return the examples of the file, in order."""
    text = template.source.text
    declared = _declared(template, text) if template.kind in {Kind.OBJECT, Kind.EVALUATION} else ()
    return (*declared, *_in_lists(text))


def _declared(template: Template, text: str) -> Iterator[FewShot]:
    tree = template.declarations.tree
    listed = tree.value("examples") if tree is not None else None
    if not isinstance(listed, Sequence) or len(listed.items) != len(template.declarations.examples):
        return
    spans = [item.span for item in listed.items]
    is_flow = text[listed.span.start : listed.span.start + 1] == "["
    for index, span in enumerate(spans):
        if is_flow:
            removed = _with_comma(text, spans, index)
        elif len(spans) > 1:
            dash = text.rfind("-", 0, span.start)
            line = text.rfind("\n", 0, dash) + 1
            after = (
                text.rfind("\n", 0, text.rfind("-", 0, spans[index + 1].start)) + 1
                if index + 1 < len(spans)
                else 0
            )
            removed = Span(line, after or _line_end(text, span.end))
        else:
            # A list must have an item; without its key there are no examples at all.
            key = template.declarations.key_span("examples")
            if key is None:
                return
            removed = Span(text.rfind("\n", 0, key.start) + 1, _line_end(text, span.end))
        yield FewShot(index + 1, span, removed, _label(template.declarations.examples[index].data))


def _line_end(text: str, offset: int) -> int:
    """Return the offset after the next line break, or `offset` itself if it is directly after one."""
    if offset and text[offset - 1] == "\n":
        return offset
    found = text.find("\n", offset)
    return len(text) if found < 0 else found + 1


def _label(data: object) -> str:
    while isinstance(data, dict | list) and data:
        data = next(iter(data.values())) if isinstance(data, dict) else data[0]
    return shorten_line(str(data), _MAX_LABEL)


def _in_lists(text: str) -> Iterator[FewShot]:
    masked = _COMMENT.sub(lambda match: " " * len(match[0]), text)
    for match in _SET.finditer(masked):
        spans = _items(masked, match.end())
        for index, span in enumerate(spans):
            yield FewShot(
                index + 1, span, _with_comma(text, spans, index), _item_label(text[span.start : span.end])
            )


def _item_label(item: str) -> str:
    texts = [match[1] or match[2] or "" for match in _TEXT.finditer(item)]
    return shorten_line(max(texts, key=len, default=item), _MAX_LABEL)


def _items(text: str, start: int) -> list[Span]:
    """Return the spans of a list's items after its bracket; empty if the list does not end."""
    spans: list[Span] = []
    closers = ["]"]
    begin = offset = start
    while offset < len(text):
        character = text[offset]
        if character in "\"'":
            quoted = _TEXT.match(text, offset)
            if quoted is None:
                return []
            offset = quoted.end()
            continue
        if character in _CLOSING:
            closers.append(_CLOSING[character])
        elif character == closers[-1]:
            closers.pop()
            if not closers:
                return [*spans, *_strip(text, begin, offset)]
        elif character == "," and len(closers) == 1:
            spans += _strip(text, begin, offset)
            begin = offset + 1
        elif text.startswith("%}", offset):
            return []
        offset += 1
    return []


def _strip(text: str, begin: int, end: int) -> list[Span]:
    """Return the span without surrounding white space; empty if there is nothing else."""
    span = stripped_span(text[begin:end], begin)
    return [] if span.is_empty() else [span]


def _with_comma(text: str, spans: list[Span], index: int) -> Span:
    """Return the span of an item and the comma that becomes superfluous without it."""
    if index + 1 < len(spans):
        return Span(spans[index].start, spans[index + 1].start)
    if index:
        return Span(spans[index - 1].end, spans[index].end)
    comma = text.find(",", spans[index].end, spans[index].end + 2)
    return Span(spans[index].start, comma + 1 if comma >= 0 else spans[index].end)
