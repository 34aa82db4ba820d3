"""Symbols inside templates: blocks, macros, namespaces and part names."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from promptls.ide.key_facts import bare_span
from promptls.ide.symbols.symbol import Occurrence, Symbol, SymbolKind
from promptls.ide.symbols.variable_symbols import imported_variable
from promptls.semantic.names.mentions import Mention, chunk_mentions, mention_at, mentions_of
from promptls.semantic.names.scopes import Binding, chunk_events
from promptls.semantic.names.template_names import placed_statement_at
from promptls.semantic.names.variables import NamePlace, Variable, name_at, variable_at
from promptls.semantic.parts import Part, chunk_items
from promptls.semantic.template import Template
from promptls.syntax.chunk import Chunk, Located
from promptls.syntax.facts import summary, union
from promptls.syntax.jinja.nodes import Attribute, Call, Expression, Name
from promptls.syntax.jinja.problems import tag_tree
from promptls.syntax.yaml.nodes import Node, scalar_text
from promptls.text.positions import Span
from promptls.workspace.snapshot import Snapshot


def block_places(snapshot: Snapshot, path: str, name: str) -> Iterator[Occurrence]:
    """Yield the occurrences of a block in the file at `path` and in all files related to it by `extends`."""
    for other in family(snapshot, path):
        template = snapshot.template(other)
        if template is not None:
            yield from blocks_in(template, other, name)


def blocks_in(template: Template, path: str, name: str) -> Iterator[Occurrence]:
    """Yield the occurrences of a block in one file: its begin and end tags, and uses on `self`."""
    for mention in mentions_of(template.source, name):
        if mention.kind == "block":
            opens = _opens(template, mention.span)
            yield Occurrence(path, mention.span, "declaration" if opens else "read")


def block_names(template: Template) -> tuple[str, ...]:
    """Return the names of the blocks that a file itself defines, in order."""
    names: dict[str, None] = {}
    for located in template.source.root.where(_blocks):
        names.update(dict.fromkeys(_blocks(located.chunk)))
    return tuple(names)


def _chunk_blocks(chunk: Chunk) -> tuple[str, ...]:
    statements = (tag_tree(tag).statement for tag in chunk.tags if tag.kind == "statement")
    return tuple(each.name for each in statements if each.keyword == "block" and each.name)


_blocks: Final = summary(_chunk_blocks, lambda found: tuple(name for each in found for name in each))
"""The names of the blocks that a piece of a file defines."""


def _opens(template: Template, span: Span) -> bool:
    located = template.source.located(span.start)
    for tag in located.chunk.tags:
        begin = located.start + tag.span.start
        if begin <= span.start < begin + len(tag.text):
            return tag.text[tag.inner_start :].lstrip().startswith("block")
    return False


def family(snapshot: Snapshot, path: str) -> tuple[str, ...]:
    """Return the files transitively related to the one at `path` by `extends`, starting with itself."""
    found: dict[str, None] = {}
    pending = [path]
    while pending:
        current = pending.pop(0)
        if current in found:
            continue
        found[current] = None
        pending += _parents(snapshot, current)
        children = sorted(snapshot.includers(current))
        pending += (child for child in children if current in _parents(snapshot, child))
    return tuple(found)


def _parents(snapshot: Snapshot, path: str) -> list[str]:
    template = snapshot.template(path)
    references = template.references if template is not None else ()
    targets = (snapshot.resolve(path, each) for each in references if each.keyword == "extends")
    return [target for target in targets if target is not None]


class Macro(NamedTuple):
    """A macro of the file at `path`, identified by the span of its name in its own tag."""

    path: str
    name: str
    span: Span


def macro_meant(snapshot: Snapshot, path: str, place: NamePlace | Mention) -> Macro | None:
    """Return the macro that a name, or an attribute of an imported file, refers to."""
    seen: set[tuple[str, NamePlace | Mention]] = set()
    while (path, place) not in seen:
        seen.add((path, place))
        template = snapshot.template(path)
        if template is None:
            return None
        if isinstance(place, NamePlace):
            binding = _binding(template, place)
            if binding is None:
                return None
            if binding.kind == "macro":
                return Macro(path, binding.name, binding.span)
            mention = _imported(template, binding.span) if binding.kind == "import" else None
            if mention is None:
                return None
            place = mention
            continue
        imported = imported_variable(snapshot, path, template, place)
        if imported is None:
            return None
        path, place = imported.path, NamePlace(place.name, imported.variable.bindings[-1].span)
    return None


def _binding(template: Template, place: NamePlace) -> Binding | None:
    """Return the binding that a name refers to where it is read, or the binding itself where it is bound."""
    variable = variable_at(template, place)
    for reference in variable.references if variable is not None else ():
        if reference.span == place.span:
            return reference.binding
    bindings = variable.bindings if variable is not None else ()
    return next((binding for binding in bindings if binding.span == place.span), None)


def _imported(template: Template, alias: Span) -> Mention | None:
    """Return the imported name that is bound at `alias`, directly or under another name."""
    located = template.source.located(alias.start)
    inside = alias.shifted(-located.start)
    found = [each for each in chunk_mentions(located.chunk) if each.span.start <= inside.start]
    last = found[-1] if found else None
    return last.shifted(located.start) if last is not None and last.kind == "imported" else None


def parameters_of(snapshot: Snapshot, macro: Macro) -> dict[str, Span]:
    """Return the parameters of a macro, each with its span."""
    template = snapshot.template(macro.path)
    found = placed_statement_at(template, macro.span.start) if template is not None else None
    if found is None:
        return {}
    statement, begin = found
    return {item.name: item.span.shifted(begin) for item in statement.parameters}


def macro_of(template: Template, path: str, parameter: Variable) -> Macro | None:
    """Return the macro that the variable is a parameter of."""
    found = placed_statement_at(template, parameter.bindings[0].span.start)
    if found is None or found[0].keyword != "macro" or not found[0].name:
        return None
    statement, begin = found
    return Macro(path, statement.name, statement.name_span.shifted(begin))


def arguments_of(template: Template, name: str, is_call: Callable[[Span], bool]) -> Iterator[Span]:
    """Yield the keyword arguments of this name in calls whose called name satisfies `is_call`."""
    for mention in mentions_of(template.source, name):
        if mention.kind == "argument" and is_call(mention.owner):
            yield mention.span


def other_names(template: Template, imported: Span) -> Iterator[Span]:
    """Yield the uses of the alias under which a file imports the name at `imported`."""
    located = template.source.located(imported.start)
    inside = imported.shifted(-located.start)
    if not any(each.kind == "imported" and each.span == inside for each in chunk_mentions(located.chunk)):
        return
    for event in chunk_events(located.chunk):
        if event.action == "bind" and event.span.start >= inside.start:
            alias = variable_at(template, NamePlace(event.name, event.span.shifted(located.start)))
            if alias is not None and event.span != inside:
                yield from (reference.span for reference in alias.references)
            return


def attribute_at(template: Template, path: str, offset: int) -> Symbol | None:
    """Return the namespace attribute whose name is at `offset`."""
    mention = mention_at(template.source, offset)
    if mention is None or namespace_of(template, mention) is None:
        return None
    return Symbol("attribute", mention.name, path, mention.span, path, mention.span)


def attribute_places(template: Template, symbol: Symbol) -> Iterator[Occurrence]:
    """Yield the occurrences of an attribute in the file of its namespace."""
    anchor = mention_at(template.source, symbol.anchor.start) if symbol.anchor is not None else None
    owner = namespace_of(template, anchor) if anchor is not None else None
    for mention in mentions_of(template.source, symbol.name) if owner is not None else ():
        if namespace_of(template, mention) == owner:
            if mention.kind == "argument":
                yield Occurrence(symbol.home, mention.span, "declaration")
            else:
                is_set = _is_target(template, mention.span)
                yield Occurrence(symbol.home, mention.span, "write" if is_set else "read")


def namespace_of(template: Template, mention: Mention) -> Variable | None:
    """Return the namespace that an attribute, or an argument of `namespace(…)`, belongs to."""
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
    """Return whether what is read at a place may be a namespace, according to the enclosing blocks."""
    for reference in template.names.references_in(owner.start):
        if reference.span == owner:
            return reference.binding is not None and reference.binding.kind == "set"
    return True


def is_handed_on(template: Template, variable: Variable) -> bool:
    """Return whether a namespace is used other than through its attributes."""
    after = (Span(reference.span.end, reference.span.end + 1) for reference in variable.references)
    return any(template.source.slice(each) != "." for each in after)


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


class Named(NamedTuple):
    """The name of a part or section, with its span in the file."""

    kind: SymbolKind
    name: str
    span: Span


def names_of_parts(template: Template, located: Located) -> Iterator[Named]:
    """Yield the literal names of the parts and sections in one chunk."""
    for part in chunk_items(located.chunk).parts:
        for kind, value in _named(part):
            text = scalar_text(value)
            if value is None or not text:
                continue
            span = bare_span(template, value.span.shifted(located.start), text)
            if span is not None:
                yield Named(kind, text, span)


def _named(part: Part) -> Iterator[tuple[SymbolKind, Node | None]]:
    yield "part", part.value("name")
    for section in part.sections:
        yield "section", section.value("name")


def part_name_at(template: Template, offset: int) -> Named | None:
    """Return the name of a part or section at `offset`."""
    named = names_of_parts(template, template.source.located(offset))
    return next((each for each in named if each.span.touches(offset)), None)


def part_places(template: Template, path: str, kind: SymbolKind, name: str) -> Iterator[Occurrence]:
    """Yield the occurrences of a name of parts, or of sections, in one file."""
    for located in template.source.root.where(lambda piece: name in _names(piece)):
        for each in names_of_parts(template, located):
            if (each.kind, each.name) == (kind, name):
                yield Occurrence(path, each.span, "declaration")


def _chunk_names(chunk: Chunk) -> frozenset[str]:
    values = (value for part in chunk_items(chunk).parts for _, value in _named(part))
    return frozenset(text for value in values if (text := scalar_text(value)))


_names: Final = summary(_chunk_names, union)
