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
from promptls.semantic.names.template_names import placed_statement_at
from promptls.semantic.parts import next_line
from promptls.semantic.template import Template
from promptls.syntax.jinja.nodes import Collection, Constant, Expression, walk
from promptls.syntax.yaml.nodes import Sequence
from promptls.text.format import shorten_line
from promptls.text.positions import Span, stripped_span

_NAME: Final = re.compile(r"example|shot|demonstration", re.IGNORECASE)
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
    return (*declared, *_in_lists(template))


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
    return offset if text.endswith("\n", 0, offset) else next_line(text, offset)


def _label(data: object) -> str:
    while isinstance(data, dict | list) and data:
        data = next(iter(data.values())) if isinstance(data, dict) else data[0]
    return shorten_line(str(data), _MAX_LABEL)


def _in_lists(template: Template) -> Iterator[FewShot]:
    text = template.source.text
    for binding in template.names.bindings_of("set") if not template.has_broken_tags else ():
        placed = placed_statement_at(template, binding.span.start) if _NAME.search(binding.name) else None
        value = placed[0].first if placed is not None else None
        if placed is None or not isinstance(value, Collection) or value.kind != "list":
            continue
        spans = [_with_parentheses(text, item.span.shifted(placed[1])) for item in value.items]
        for index, item in enumerate(value.items):
            label = _item_label(item) or text[spans[index].start : spans[index].end]
            removed = _with_comma(text, spans, index)
            yield FewShot(index + 1, spans[index], removed, shorten_line(label, _MAX_LABEL))


def _with_parentheses(text: str, span: Span) -> Span:
    start, end = span
    while text[start - 1] in "( \t\r\n":
        start -= 1
    while text[end] in ") \t\r\n":
        end += 1
    return stripped_span(text[start:end], start)


def _item_label(item: Expression) -> str:
    """Return the longest text in an item; empty if it has none."""
    constants = [node.value for node in walk(item) if isinstance(node, Constant)]
    return max((text for text in constants if isinstance(text, str)), key=len, default="")


def _with_comma(text: str, spans: list[Span], index: int) -> Span:
    """Return the span of an item and the comma that becomes superfluous without it."""
    if index + 1 < len(spans):
        return Span(spans[index].start, spans[index + 1].start)
    if index:
        return Span(spans[index - 1].end, spans[index].end)
    comma = text.find(",", spans[index].end, spans[index].end + 2)
    return Span(spans[index].start, comma + 1 if comma >= 0 else spans[index].end)
