"""Variables that are set in a loop for what follows behind it, where they are gone."""

from __future__ import annotations

from collections.abc import Iterator

from promptls.meaning.scopes import Binding
from promptls.meaning.statement_places import statement_at
from promptls.meaning.template import Template
from promptls.rules.rule import Edit, Fix
from promptls.syntax.jinja.nodes import Name, Operation, Statement
from promptls.text.span import Span


def adds_up(template: Template, name: str, outer: Binding, inner: Span) -> bool:
    """Whether a `set` at `inner` adds to its own variable, and the outer one of the name is read behind it."""
    statement = statement_at(template, inner.start)
    if statement is None or len(statement.expressions) != 1:
        return False
    value = statement.expressions[0]
    if not isinstance(value, Operation) or not set(value.operators) <= {"+", "~"}:
        return False
    if not any(isinstance(operand, Name) and operand.name == name for operand in value.operands):
        return False
    behind = inner.end - statement.targets[0].span.end + value.span.end
    return any(
        reading.span.start >= behind and reading.binding is not None and reading.binding.span == outer.span
        for reading in template.names.readings_of(name)
    )


def is_lost(template: Template, name: str, outer: Binding, inner: Span) -> bool:
    """Whether nothing reads what a `set` at `inner` sets, and the outer variable of the name is read behind it."""
    is_read_behind = False
    for reading in template.names.readings_of(name):
        if reading.binding is None or reading.binding.span == inner:
            return False
        is_read_behind |= reading.span.start > inner.end and reading.binding.span == outer.span
    return is_read_behind


def in_namespace(template: Template, name: str, outer: Binding) -> Iterator[Fix]:
    """The fix that keeps the variable in a namespace: where it is set, and wherever it is read.

    None where another file may read it, or where the name also means something else.
    """
    names = template.names
    others = ("for", "with", "parameter", "macro", "import")
    if template.references or any(name in names.bound_names(kind) for kind in others):
        return
    edits = []
    for binding in names.bindings_of("set"):
        if binding.name != name:
            continue
        statement = statement_at(template, binding.span.start)
        if statement is None or not _is_plain(statement):
            return
        if binding.span == outer.span:
            start = binding.span.start - statement.targets[0].span.start
            value = statement.expressions[0].span.shifted(start)
            text = template.source.slice(value)
            edits.append(Edit(value, f"namespace(value={text})"))
        else:
            edits.append(Edit(binding.span, f"{name}.value"))
    if sum(edit.text.startswith("namespace(") for edit in edits) != 1:
        return
    for reading in names.readings_of(name):
        if reading.binding is None or reading.how == "call":
            return
        edits.append(Edit(reading.span, f"{name}.value"))
    yield Fix("Keep it in a namespace", tuple(sorted(edits, key=lambda edit: edit.span)))


def _is_plain(statement: Statement) -> bool:
    """Whether a tag sets one name to one value."""
    is_single = len(statement.targets) == 1 and len(statement.expressions) == 1
    return is_single and isinstance(statement.targets[0], Name) and not statement.opens_block
