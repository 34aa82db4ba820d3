"""Fixes that add a name to the declared inputs, or remove it."""

from __future__ import annotations

from collections.abc import Sequence as Items

from promptls.lint.rule import Edit, File, Fix
from promptls.semantic.header import InputKey
from promptls.syntax.source import Source
from promptls.syntax.yaml.nodes import Mapping, Node, Sequence
from promptls.text.positions import Span


def added_input(file: File, name: str) -> tuple[Fix, ...]:
    """Return a fix that adds `name` after the last input key; none if the position cannot be determined."""
    declarations = file.template.declarations
    entry = declarations.tree.entry("input_keys") if declarations.tree else None
    if entry is None:
        return ()
    edit = _edit(file.template.source, entry.value, name)
    return (Fix(f"Add `{name}` to `input_keys`", (edit,)),) if edit else ()


def _edit(source: Source, node: Node, name: str) -> Edit | None:
    is_flow = source.slice(Span(node.span.start, node.span.start + 1)) in {"[", "{"}
    inside = Span(node.span.start + 1, node.span.start + 1)
    if isinstance(node, Sequence):
        if is_flow:
            last = _after(node.items[-1].span) if node.items else inside
            return Edit(last, f", {name}" if node.items else name)
        return (
            _line_after(source, node.items[-1].span.end, node.span.start, f"- {name}") if node.items else None
        )
    if not isinstance(node, Mapping):
        return None
    if not node.entries:
        return Edit(inside, f"{name}: {{}}") if is_flow else None
    last_entry = node.entries[-1]
    end = max(last_entry.value.span.end, last_entry.key.span.end)
    if not is_flow:
        return _line_after(source, end, node.entries[0].key.span.start, f"{name}: {{}}")
    return None if source.slice(Span(end, end + 1)) == ":" else Edit(Span(end, end), f", {name}: {{}}")


def _after(span: Span) -> Span:
    return Span(span.end, span.end)


def _line_after(source: Source, last: int, first: int, written: str) -> Edit:
    """Return a new line after the line where the last item ends, indented like the first item."""
    end = source.line_span(source.line_column(last - 1).line).end
    return Edit(Span(end, end), f"\n{' ' * source.line_column(first).column}{written}")


def removed_input(file: File, key: InputKey, *, preferred: bool = False) -> tuple[Fix, ...]:
    """Return a fix that removes `key` from `input_keys`; none if its position cannot be determined."""
    tree = file.template.declarations.tree
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
    source = file.template.source
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
    """Return the lines of an item, up to the next item if there is one; None for the only item."""
    if len(spans) == 1:
        return None
    first = source.line_column(spans[index].start).line
    last = source.line_column(max(spans[index].end - 1, spans[index].start)).line
    if index + 1 < len(spans):
        last = source.line_column(spans[index + 1].start).line - 1
    start = source.line_span(first).start
    end = source.line_span(last + 1).start
    return Span(start, end) if first <= last else None
