"""Names that a file binds and nobody reads."""

from __future__ import annotations

import re
from collections.abc import Iterator

from promptls.meaning.scopes import Binding
from promptls.rules.rule import FileContext
from promptls.text.span import Span
from promptls.workspace.contract import contract_of, names_handed_on


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
        if not may_be_read_in_broken_text(context, binding.name, binding.span):
            yield binding


def may_be_read_in_broken_text(context: FileContext, name: str, known: Span) -> bool:
    """Whether a syntax error may hide that a name is read: it stands in the text outside of the span `known`."""
    if not context.template.syntax_problems:
        return False
    words = re.compile(rf"\b{re.escape(name)}\b").finditer(context.template.source.text)
    return any(not known.start <= word.start() < known.end for word in words)
