"""Names that a file binds but that are never read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from promptls.lint.analysis.undeclared import declared_names, names_in_scope
from promptls.lint.fixes.jinja import tag_at
from promptls.lint.rule import Edit, File, Fix
from promptls.semantic.flow.shapes import used_shapes
from promptls.semantic.names.scopes import Binding, Reading
from promptls.semantic.names.template_names import statement_at
from promptls.semantic.template import Template
from promptls.syntax.jinja.nodes import Name, Operation, Statement
from promptls.syntax.jinja.problems import CONSTANTS
from promptls.text.positions import Span
from promptls.text.suggest import is_close, is_typo
from promptls.workspace.contract import contract_of, names_handed_on

_STRING: Final = re.compile(r"'[^'\r\n]*(?:'|$)|\"[^\"\r\n]*(?:\"|$)", re.MULTILINE)
"""A string, which contains no names; an unclosed one ends at the end of the line."""
_MAX_PROBLEMS: Final = 50
"""In a file with more errors than this, any name may be read in one of them."""
_MAX_SEARCHED: Final = 2_000
"""The maximum number of characters after a broken tag that are searched for a name."""


def unread(file: File, kind: str) -> Iterator[Binding]:
    """Yield the bindings of a kind whose names are not read in the file or anything it includes.

    Yield nothing if an include cannot be resolved, or if another file includes this one and may import its
    names. In a file with syntax errors, a name counts as read if it appears near an error.
    """
    names = file.template.names
    unread_here = names.bound_names(kind) - names.read_names
    if not unread_here or file.snapshot.includers(file.path):
        return
    if not contract_of(file.snapshot, file.path).is_whole:
        return
    read = names_handed_on(file.snapshot, file.path)
    if unread_here <= read:
        return
    for binding in names.bindings_of(kind):
        if binding.name not in unread_here or binding.name in read or binding.name.startswith("_"):
            continue
        if binding.name in CONSTANTS:
            continue  # assignments to constants are reported elsewhere
        if not may_be_read_in_broken_text(file, binding.name, binding.span):
            yield binding


def may_be_read_in_broken_text(file: File, name: str, known: Span) -> bool:
    """Return whether a name may be read in a broken tag, or after it on the same line.

    The span `known`, where the name is bound, is excluded. After an unclosed raw block, the rest of the
    chunk is searched.
    """
    source = file.template.source
    found = False
    problems = file.template.syntax_problems
    if len(problems) > _MAX_PROBLEMS:
        return True
    for problem in problems:
        if found or problem.language != "jinja":
            continue
        located = source.located(problem.span.start)
        tag_index = tag_at(located.chunk, problem.span.start - located.start)
        if tag_index is None:
            continue
        tag = located.chunk.tags[tag_index]
        start = located.start + tag.span.start
        end = source.line_span(source.line_column(located.start + tag.span.end).line).end
        end = min(end, located.start + tag.span.end + _MAX_SEARCHED)
        if tag.kind == "raw":
            end = min(located.start + located.chunk.length, located.start + tag.span.end + _MAX_SEARCHED)
        text = source.slice(Span(start, end))
        if tag.kind != "raw":
            text = _STRING.sub(lambda match: " " * len(match.group()), text)
        matches = re.compile(rf"\b{re.escape(name)}\b").finditer(text)
        found = any(not known.start <= start + word.start() < known.end for word in matches)
    return found


_MIN_LENGTH: Final = 4
"""The minimum length of a name for another name to be considered a typo of it."""


def typos_of_loop_variables(file: File) -> Iterator[tuple[Reading, Binding]]:
    """Yield typos of loop variables, each with the binding, in a file that declares no inputs.

    Any unknown name may be an input there. It is a typo if it is only read inside of the loop, and if it is
    similar to an unread variable of the loop or an abbreviation of it.
    """
    if declared_names(file) is not None:
        return
    names = file.template.names
    for binding in unread(file, "for"):
        for name in sorted(names.input_names):
            if not _is_like(name, binding.name) and not _is_short_for(file, name, binding.name):
                continue
            readings = list(names.readings_of(name))
            if all(_is_inside(file, reading, binding) for reading in readings):
                yield from ((reading, binding) for reading in readings)


def _is_like(name: str, known: str) -> bool:
    is_plural = name in {f"{known}s", f"{known}es"} or known in {f"{name}s", f"{name}es"}
    return len(known) >= _MIN_LENGTH and not is_plural and is_typo(name, known) and is_close(name, known)


def _is_short_for(file: File, name: str, known: str) -> bool:
    """Return whether one name abbreviates the other, if attributes of `name` are read."""
    shorter, longer = sorted((name.casefold(), known.casefold()), key=len)
    letters = iter(longer)
    if shorter[:1] != longer[:1] or not all(letter in letters for letter in shorter):
        return False
    shape = used_shapes(file.template).get(name)
    return shape is not None and shape.kind == "mapping"


def _is_inside(file: File, reading: Reading, binding: Binding) -> bool:
    if reading.binding is not None or reading.how == "call":
        return False
    return binding.name in names_in_scope(file.template.names, reading.span.start)


def adds_up(template: Template, name: str, outer: Binding, inner: Span) -> bool:
    """Return whether a `set` at `inner` adds to its own variable while the outer one is read later."""
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
    """Return whether the value that a `set` at `inner` sets is never read, but the outer variable is."""
    is_outer_read = False
    for reading in template.names.readings_of(name):
        if reading.binding is None or reading.binding.span == inner:
            return False
        is_outer_read |= reading.span.start > inner.end and reading.binding.span == outer.span
    return is_outer_read


def in_namespace(template: Template, name: str, outer: Binding) -> Iterator[Fix]:
    """Yield the fix that stores the variable in a namespace, wherever it is set or read.

    Yield nothing if another file may read it, or if the name is also bound in another way.
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
    """Return whether a tag sets one name to one value."""
    is_single = len(statement.targets) == 1 and len(statement.expressions) == 1
    return is_single and isinstance(statement.targets[0], Name) and not statement.opens_block
