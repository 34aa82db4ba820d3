"""Names that a file binds and nobody reads."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from promptls.meaning.scopes import Binding
from promptls.rules.fixes.removed_tag import tag_at
from promptls.rules.rule import FileContext
from promptls.syntax.jinja.refusals import CONSTANTS
from promptls.text.span import Span
from promptls.workspace.contract import contract_of, names_handed_on

_STRING: Final = re.compile(r"'[^'\r\n]*(?:'|$)|\"[^\"\r\n]*(?:\"|$)", re.MULTILINE)
"""A string, which reads nothing; one that is not closed ends with its line."""


def unread(context: FileContext, kind: str) -> Iterator[Binding]:
    """The bindings of a kind whose names neither the file nor anything it includes reads.

    None where an include cannot be followed, or where another file names this one and may import what
    it binds. In a file with syntax errors, a name that stands anywhere else counts as read.
    """
    names = context.template.names
    unread_here = names.bound_names(kind) - names.read_names
    if not unread_here or context.snapshot.includers(context.path):
        return
    if not contract_of(context.snapshot, context.path).is_whole:
        return
    read = names_handed_on(context.snapshot, context.path)
    if unread_here <= read:
        return
    for binding in names.bindings_of(kind):
        if binding.name not in unread_here or binding.name in read or binding.name.startswith("_"):
            continue
        if binding.name in CONSTANTS:
            continue  # that nothing can be assigned to it is told
        if not may_be_read_in_broken_text(context, binding.name, binding.span):
            yield binding


def may_be_read_in_broken_text(context: FileContext, name: str, known: Span) -> bool:
    """Whether an error in a tag may hide that a name is read: it stands in that tag or behind it on its line.

    The place `known`, where the name is bound, is no reading. A raw block that is never closed may hide what stands behind it.
    """
    source = context.template.source
    found = False
    for problem in context.template.syntax_problems:
        if found or problem.language != "jinja":
            continue
        located = source.located(problem.span.start)
        number = tag_at(located.chunk, problem.span.start - located.start)
        if number is None:
            continue
        tag = located.chunk.tags[number]
        start = located.start + tag.span.start
        end = source.line_span(source.place(located.start + tag.span.end).line).end
        if tag.kind == "raw":
            end = located.start + located.chunk.length
        text = source.slice(Span(start, end))
        if tag.kind != "raw":
            text = _STRING.sub(lambda match: " " * len(match.group()), text)
        words = re.compile(rf"\b{re.escape(name)}\b").finditer(text)
        found = any(not known.start <= start + word.start() < known.end for word in words)
    return found
