"""Names that a file takes from another one which does not have them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import Any

from promptls.meaning.references import TemplateReference
from promptls.meaning.template import Template
from promptls.rules.macro_calls import called_names, chunk_calls, statement_at
from promptls.rules.misspelt import misspelt
from promptls.rules.rule import FileContext, Finding
from promptls.syntax.chunk import Chunk
from promptls.syntax.jinja.nodes import Attribute, Constant


def lacking_imports(context: FileContext) -> Iterator[Finding]:
    """The names in `from … import` that the file behind it neither defines nor sets."""
    for reference in context.template.references:
        if reference.keyword != "from" or reference.alternatives:
            continue
        statement = statement_at(context.template, reference.span)
        exported = _exports(context, reference)
        if statement is None or exported is None:
            continue
        tag_start = reference.span.start - (statement.template.span.start if statement.template else 0)
        file, known = exported
        for each in statement.imported:
            if each.name not in known:
                message = f"`{file}` has no macro or variable `{each.name}`"
                yield misspelt(each.span.shifted(tag_start), message, each.name, known)


def modules(context: FileContext) -> dict[str, object]:
    """What is in the files behind the imported names that the file calls something of."""
    called = called_names(context.template.source.root)
    names = context.template.names
    imported = called & names.bound_names("import")
    if not imported:
        return {}
    bindings = [binding for binding in names.bindings_of("import") if binding.name in imported]
    found: dict[str, object] = {}
    for name in imported:
        own = [binding for binding in bindings if binding.name == name]
        is_plain = len(own) == 1 and not any(name in names.bound_names(kind) for kind in _OTHERWISE)
        statement = statement_at(context.template, own[0].span) if is_plain else None
        node = statement.template if statement else None
        if statement is None or statement.keyword != "import" or not isinstance(node, Constant):
            continue
        exported = _exports(context, TemplateReference("import", str(node.value), node.span))
        if exported is not None:
            found[name] = exported
    return found


_OTHERWISE = ("set", "for", "with", "parameter", "macro")


def lacking_members(chunk: Chunk, known: Mapping[str, Any]) -> Iterator[Finding]:
    """The calls in the chunk of macros that the imported file does not have."""
    for start, name, call in chunk_calls(chunk):
        function = call.function
        if name not in known or not isinstance(function, Attribute) or function.name.startswith("_"):
            continue
        file, members = known[name]
        if function.name not in members:
            message = f"`{file}` has no macro `{function.name}`"
            yield misspelt(function.name_span.shifted(start), message, function.name, members)


def _exports(context: FileContext, reference: TemplateReference) -> tuple[str, frozenset[str]] | None:
    """The name of the file behind an import, and what can be taken from it; None where nobody can tell."""
    path = context.snapshot.resolve(context.path, reference)
    template = context.snapshot.template(path) if path else None
    if path is None or template is None or template.syntax_problems or _extends(template):
        return None
    return PurePath(path).name, template.names.bound_names("macro") | template.names.bound_names("set")


def _extends(template: Template) -> bool:
    return any(reference.keyword == "extends" for reference in template.references)
