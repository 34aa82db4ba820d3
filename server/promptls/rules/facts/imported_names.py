"""Names that a file takes from another one which does not have them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import Any, Final, NamedTuple

from promptls.meaning.references import TemplateReference
from promptls.meaning.statement_places import statement_at
from promptls.meaning.template import Template
from promptls.rules.fixes.misspelt import misspelt
from promptls.rules.rule import FileContext, Finding
from promptls.syntax.chunk import Chunk, kept
from promptls.syntax.group import union, united
from promptls.syntax.jinja.nodes import Attribute, Call, Constant, Filter, Item, Name, Test
from promptls.syntax.jinja.problems import expressions_in
from promptls.text.span import Span


def lacking_imports(context: FileContext) -> Iterator[Finding]:
    """The names in `from … import` that the file behind it neither defines nor sets."""
    for reference in context.template.references:
        if reference.keyword != "from" or reference.alternatives or reference.is_choice:
            continue
        statement = statement_at(context.template, reference.span.start)
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
    """What is in the files behind the imported names of which the file asks something."""
    names = context.template.names
    imported = owner_names(context.template.source.root) & names.bound_names("import")
    if not imported:
        return {}
    bindings = [binding for binding in names.bindings_of("import") if binding.name in imported]
    found: dict[str, object] = {}
    for name in imported:
        own = [binding for binding in bindings if binding.name == name]
        is_plain = len(own) == 1 and not any(name in names.bound_names(kind) for kind in _OTHERWISE)
        statement = statement_at(context.template, own[0].span.start) if is_plain else None
        node = statement.template if statement else None
        if statement is None or statement.keyword != "import" or not isinstance(node, Constant):
            continue
        exported = _exports(context, TemplateReference("import", str(node.value), node.span))
        if exported is not None:
            found[name] = exported
    return found


_OTHERWISE = ("set", "for", "with", "parameter", "macro")


def lacking_members(chunk: Chunk, known: Mapping[str, Any]) -> Iterator[Finding]:
    """What the chunk asks of imported files that they do not have: macros that it calls, and variables."""
    for member in _members(chunk):
        if member.owner not in known or member.name.startswith("_"):
            continue
        file, members = known[member.owner]
        if member.name not in members:
            what = "macro" if member.is_called else "macro or variable"
            yield misspelt(member.span, f"`{file}` has no {what} `{member.name}`", member.name, members)


class _Member(NamedTuple):
    """An attribute that is asked of a name, and whether it is called."""

    owner: str
    name: str
    span: Span
    is_called: bool


@kept
def _members(chunk: Chunk) -> tuple[_Member, ...]:
    """The attributes of names in the chunk, without those that are asked whether they are there."""
    nodes = list(expressions_in(chunk))
    called = {id(node.function) for _, node in nodes if isinstance(node, Call)}
    asked = {
        id(node.target)
        for _, node in nodes
        if isinstance(node, (Filter, Test)) and node.name in {"default", "d", "defined", "undefined"}
    }
    found = []
    for start, node in nodes:
        match node:
            case Attribute(target=Name(name=owner), name=name, name_span=span) if name:
                pass
            case Item(target=Name(name=owner), key=Constant(value=str() as name, span=quoted)):
                span = Span(quoted.start + 1, max(quoted.end - 1, quoted.start + 1))
            case _:
                continue
        if id(node) not in asked:
            found.append(_Member(owner, name, span.shifted(start), id(node) in called))
    return tuple(found)


owner_names: Final = united(
    lambda chunk: frozenset(member.owner for member in _members(chunk)), union, of_tags=True
)
"""The names of which a piece asks attributes."""


def owners(context: FileContext) -> object:
    """The names of which the file asks attributes, as an aspect of it."""
    return owner_names(context.template.source.root)


def _exports(context: FileContext, reference: TemplateReference) -> tuple[str, frozenset[str]] | None:
    """The name of the file behind an import, and what can be taken from it; None where nobody can tell."""
    path = context.snapshot.resolve(context.path, reference)
    template = context.snapshot.template(path) if path else None
    if path is None or template is None or template.syntax_problems or _extends(template):
        return None
    return PurePath(path).name, template.names.bound_names("macro") | template.names.bound_names("set")


def _extends(template: Template) -> bool:
    return any(reference.keyword == "extends" for reference in template.references)
