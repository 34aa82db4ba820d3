"""The attributes of a `namespace(…)`: what it begins with, where they are set, where they are read."""

from __future__ import annotations

from collections.abc import Iterator

from promptls.features.symbols.symbol import Occurrence, Symbol
from promptls.meaning.mentions import Mention, mention_at, mentions_of
from promptls.meaning.statement_places import placed_statement_at
from promptls.meaning.template import Template
from promptls.meaning.variables import NamePlace, Variable, name_at, variable_at
from promptls.syntax.jinja.nodes import Attribute, Call, Expression, Name
from promptls.text.span import Span


def attribute_at(template: Template, path: str, offset: int) -> Symbol | None:
    """The attribute of a namespace whose name stands at `offset`."""
    mention = mention_at(template.source, offset)
    if mention is None or namespace_of(template, mention) is None:
        return None
    return Symbol("attribute", mention.name, path, mention.span, path, mention.span)


def attribute_places(template: Template, symbol: Symbol) -> Iterator[Occurrence]:
    """The places of an attribute in the file of its namespace."""
    asked = mention_at(template.source, symbol.anchor.start) if symbol.anchor is not None else None
    owner = namespace_of(template, asked) if asked is not None else None
    for mention in mentions_of(template.source, symbol.name) if owner is not None else ():
        if namespace_of(template, mention) == owner:
            if mention.kind == "argument":
                yield Occurrence(symbol.home, mention.span, "declaration")
            else:
                is_set = _is_target(template, mention.span)
                yield Occurrence(symbol.home, mention.span, "write" if is_set else "read")


def namespace_of(template: Template, mention: Mention) -> Variable | None:
    """The namespace that an attribute, or an argument of `namespace(…)`, belongs to."""
    if mention.kind == "attribute":
        if not _may_be_set(template, mention.owner):
            return None
        place = name_at(template, mention.owner.start)
        variable = variable_at(template, place) if place is not None else None
        return variable if variable is not None and _is_namespace(template, variable) else None
    if mention.kind != "argument":
        return None
    found = placed_statement_at(template, mention.span.start)
    if found is None:
        return None
    statement, begin = found
    targets = [each for each in statement.targets if isinstance(each, Name)]
    made = [each for each in statement.expressions if _makes_namespace(each)]
    if statement.keyword != "set" or len(targets) != 1 or len(made) != 1:
        return None
    is_own = isinstance(made[0], Call) and made[0].function.span.shifted(begin) == mention.owner
    place = NamePlace(targets[0].name, targets[0].span.shifted(begin))
    return variable_at(template, place) if is_own else None


def _may_be_set(template: Template, owner: Span) -> bool:
    """Whether what is read at a place may be a namespace, as the blocks around it tell."""
    for reading in template.names.readings_in(owner.start):
        if reading.span == owner:
            return reading.binding is not None and reading.binding.kind == "set"
    return True


def is_handed_on(template: Template, variable: Variable) -> bool:
    """Whether a namespace is used in any other way than for one of its attributes."""
    behind = (Span(reading.span.end, reading.span.end + 1) for reading in variable.readings)
    return any(template.source.slice(each) != "." for each in behind)


def _is_namespace(template: Template, variable: Variable) -> bool:
    made = [placed_statement_at(template, binding.span.start) for binding in variable.bindings]
    return bool(made) and all(
        found is not None and len(found[0].expressions) == 1 and _makes_namespace(found[0].expressions[0])
        for found in made
    )


def _makes_namespace(node: Expression) -> bool:
    return isinstance(node, Call) and isinstance(node.function, Name) and node.function.name == "namespace"


def _is_target(template: Template, span: Span) -> bool:
    found = placed_statement_at(template, span.start)
    targets = found[0].targets if found is not None else ()
    begin = found[1] if found is not None else 0
    return any(isinstance(each, Attribute) and each.name_span.shifted(begin) == span for each in targets)
