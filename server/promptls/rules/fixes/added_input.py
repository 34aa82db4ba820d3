"""The fix that declares a name as an input, in the way in which the file declares the others."""

from __future__ import annotations

from promptls.rules.rule import Edit, FileContext, Fix
from promptls.syntax.source import Source
from promptls.syntax.yaml.nodes import Mapping, Node, Sequence
from promptls.text.span import Span


def added_input(context: FileContext, name: str) -> tuple[Fix, ...]:
    """A fix that adds `name` behind the last input key; none where its place cannot be told."""
    declarations = context.template.declarations
    entry = declarations.tree.entry("input_keys") if declarations.tree else None
    if entry is None:
        return ()
    edit = _edit(context.template.source, entry.value, name)
    return (Fix(f"Add `{name}` to `input_keys`", (edit,)),) if edit else ()


def _edit(source: Source, node: Node, name: str) -> Edit | None:
    is_flow = source.slice(Span(node.span.start, node.span.start + 1)) in {"[", "{"}
    inside = Span(node.span.start + 1, node.span.start + 1)
    if isinstance(node, Sequence):
        if is_flow:
            last = _behind(node.items[-1].span) if node.items else inside
            return Edit(last, f", {name}" if node.items else name)
        return (
            _line_behind(source, node.items[-1].span.end, node.span.start, f"- {name}")
            if node.items
            else None
        )
    if not isinstance(node, Mapping):
        return None
    if not node.entries:
        return Edit(inside, f"{name}: {{}}") if is_flow else None
    last_entry = node.entries[-1]
    end = max(last_entry.value.span.end, last_entry.key.span.end)
    if not is_flow:
        return _line_behind(source, end, node.entries[0].key.span.start, f"{name}: {{}}")
    return None if source.slice(Span(end, end + 1)) == ":" else Edit(Span(end, end), f", {name}: {{}}")


def _behind(span: Span) -> Span:
    return Span(span.end, span.end)


def _line_behind(source: Source, last: int, first: int, written: str) -> Edit:
    """A new line behind the one on which the last item ends, indented as the first item is."""
    end = source.line_span(source.place(last - 1).line).end
    return Edit(Span(end, end), f"\n{' ' * source.place(first).column}{written}")
