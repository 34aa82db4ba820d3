"""Names that a file binds and nobody reads."""

from __future__ import annotations

from collections.abc import Iterator

from promptls.meaning.scopes import Binding
from promptls.rules.rule import FileContext
from promptls.workspace.contract import contract_of, names_handed_on


def unread(context: FileContext, kind: str) -> Iterator[Binding]:
    """The bindings of a kind whose names neither the file nor anything it includes reads.

    None where an include cannot be followed, where the file is broken, or where another file
    names this one and may import what it binds.
    """
    names = context.template.names
    unread_here = names.bound_names(kind) - names.read_names
    if not unread_here or context.template.syntax_problems or context.snapshot.includers(context.path):
        return
    if not contract_of(context.snapshot, context.path).is_whole:
        return
    read = names_handed_on(context.snapshot, context.path)
    if unread_here <= read:
        return
    for binding in names.bindings_of(kind):
        if binding.name in unread_here and binding.name not in read and not binding.name.startswith("_"):
            yield binding
