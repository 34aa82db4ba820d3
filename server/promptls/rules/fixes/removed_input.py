"""The fix that takes a name out of the declared inputs."""

from __future__ import annotations

from collections.abc import Sequence as Items

from promptls.meaning.header import InputKey
from promptls.rules.rule import Edit, FileContext, Fix
from promptls.syntax.source import Source
from promptls.syntax.yaml.nodes import Mapping, Sequence
from promptls.text.span import Span


def removed_input(context: FileContext, key: InputKey, *, preferred: bool = False) -> tuple[Fix, ...]:
    """A fix that takes `key` out of `input_keys`; none where its place cannot be told."""
    tree = context.template.declarations.tree
    node = tree.value("input_keys") if tree else None
    if isinstance(node, Sequence):
        spans = [item.span for item in node.items]
    elif isinstance(node, Mapping):
        spans = [
            Span(entry.key.span.start, max(entry.key.span.end, entry.value.span.end))
            for entry in node.entries
        ]
    else:
        return ()
    index = next((number for number, span in enumerate(spans) if span.start == key.span.start), None)
    if index is None:
        return ()
    source = context.template.source
    is_flow = source.slice(Span(node.span.start, node.span.start + 1)) in {"[", "{"}
    removed = _in_brackets(spans, index) if is_flow else _on_lines(source, spans, index)
    if removed is None:
        return ()
    return (Fix(f"Remove `{key.name}` from `input_keys`", (Edit(removed, ""),), preferred),)


def _in_brackets(spans: Items[Span], index: int) -> Span:
    if index:
        return Span(spans[index - 1].end, spans[index].end)
    return Span(spans[0].start, spans[1].start if len(spans) > 1 else spans[0].end)


def _on_lines(source: Source, spans: Items[Span], index: int) -> Span | None:
    """The lines from an item up to the next one, or to the end of its own; None for the only item."""
    if len(spans) == 1:
        return None
    first = source.place(spans[index].start).line
    last = source.place(max(spans[index].end - 1, spans[index].start)).line
    if index + 1 < len(spans):
        last = source.place(spans[index + 1].start).line - 1
    start = source.line_span(first).start
    end = source.line_span(last + 1).start
    return Span(start, end) if first <= last else None
