"""Definitions and declarations, document links, and the call hierarchy, in which an include is a call."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from operator import itemgetter
from pathlib import PurePath
from typing import Final, Literal, NamedTuple

from promptls.ide.document_symbols import shown_path
from promptls.ide.key_facts import bare_span
from promptls.ide.symbols import Occurrence, Symbol, occurrence_steps, symbol_at
from promptls.ide.symbols.declared import (
    NamedValue,
    file_beside,
    include_places,
    metric_file,
    name_span,
    named_value_at,
    named_values,
)
from promptls.ide.symbols.jinja import Macro, macro_meant, other_names
from promptls.ide.symbols.occurrences import NO_VARIABLES, is_parsed_as_prompt, symbol_variable
from promptls.ide.symbols.variable_symbols import declared_key_places, imported_file, shared_variable
from promptls.semantic.names.mentions import Mention, TemplateReference, chunk_mentions, mention_at
from promptls.semantic.names.scopes import GLOBALS, INJECTED, Binding, chunk_events
from promptls.semantic.names.template_names import placed_statement_at
from promptls.semantic.names.variables import NamePlace, name_at, variable_at
from promptls.semantic.template import Template
from promptls.syntax.facts import summary
from promptls.syntax.jinja.blocks import block_tags
from promptls.syntax.jinja.file_blocks import FileBlock, blocks_across, blocks_inside
from promptls.text.positions import Span
from promptls.text.steps import Steps
from promptls.workspace.contract import functions_path
from promptls.workspace.python_functions import functions_in
from promptls.workspace.settings import place_of_setting
from promptls.workspace.snapshot import Snapshot

_QUOTED: Final = re.compile(r"'([^'\n]*)'|\"([^\"\n]*)\"")


@dataclass(frozen=True, slots=True)
class DocumentLink:
    """A range of the file that links to the file at `target`."""

    span: Span
    target: str

    @property
    def tooltip(self) -> str:
        """The tooltip of the link."""
        return f"Open {PurePath(self.target).name}"


def document_links(snapshot: Snapshot, path: str) -> tuple[DocumentLink, ...]:
    """Return the links of the file at `path`: includes, imports, and existing files in the header."""
    template = snapshot.template(path)
    if template is None:
        return ()
    links = [
        link for reference in template.references for link in _named(snapshot, path, template, reference)
    ]
    for value in named_values(template):
        target = _target(snapshot, path, value)
        if target is not None and snapshot.exists(target):
            links.append(DocumentLink(value.span, target))
    return tuple(sorted(links, key=lambda link: link.span))


def _target(snapshot: Snapshot, path: str, value: NamedValue) -> str | None:
    """Return the file that a value of the declarations refers to."""
    if value.file is not None:
        return file_beside(path, value.file)
    project = snapshot.project(path)
    is_named = value.kind == "model" and value.name in project.settings.models and project.path is not None
    return str(project.path) if is_named else None


def _named(
    snapshot: Snapshot, path: str, template: Template, reference: TemplateReference
) -> Iterator[DocumentLink]:
    """Yield the files that one include, import or `extends` names: for a list, those that exist."""
    written = template.source.slice(reference.span)
    for match in _QUOTED.finditer(written):
        name = match.group(1) or match.group(2) or ""
        if name in (reference.alternatives or (reference.name,)):
            target = snapshot.resolve(path, reference._replace(name=name, alternatives=()))
            start = reference.span.start + match.start() + 1
            if target is not None:
                yield DocumentLink(Span(start, start + len(name)), target)


def link_at(snapshot: Snapshot, path: str, offset: int) -> DocumentLink | None:
    """Return the link at `offset`; None if there is none."""
    return next((link for link in document_links(snapshot, path) if link.span.touches(offset)), None)


class Target(NamedTuple):
    """A target: `span` in the file at `path`; `origin` is the name at the requested offset."""

    path: str
    span: Span
    origin: Span


_TOP = Span(0, 0)


def definition_steps(snapshot: Snapshot, path: str, offset: int) -> Steps[tuple[Target, ...]]:
    """Return the definitions of the symbol at `offset`, the most likely first."""
    in_prompt = is_parsed_as_prompt(snapshot, path)
    near = _certain_bindings(snapshot, path, offset) if in_prompt else None
    if near is not None:
        return near
    symbol = symbol_at(snapshot, path, offset)
    if in_prompt and (symbol is None or symbol.kind == "named metric"):
        template = snapshot.template(path)
        value = named_value_at(template, offset) if template is not None else None
        if value is not None:
            return tuple(Target(*place, value.span) for place in _definition_named(snapshot, path, value))
    if symbol is None:
        link = link_at(snapshot, path, offset) if in_prompt else None
        return (Target(link.target, _TOP, link.span),) if link is not None else ()
    places = dict.fromkeys((yield from _defined(snapshot, symbol)))
    return tuple(Target(file, span, symbol.span) for file, span in places)


def declaration_steps(snapshot: Snapshot, path: str, offset: int) -> Steps[tuple[Target, ...]]:
    """Return the declarations of the symbol at `offset`: the import, if its definition is elsewhere.

    For an input this is its declaration, for a metric with options the place that names it, and for
    everything else its definition.
    """
    symbol = symbol_at(snapshot, path, offset)
    variable = symbol_variable(snapshot, symbol) if symbol is not None else None
    if symbol is not None and symbol.kind == "import" and variable is not None:
        return tuple(Target(symbol.home, binding.span, symbol.span) for binding in variable.bindings)
    if symbol is not None and symbol.kind in {"input", "named metric"}:
        declared = _declarations((yield from occurrence_steps(snapshot, symbol, in_data=False)))
        if declared:
            return tuple(Target(*place, symbol.span) for place in declared)
    return (yield from definition_steps(snapshot, path, offset))


def _certain_bindings(snapshot: Snapshot, path: str, offset: int) -> tuple[Target, ...] | None:
    """Return the bindings that are certain to define the variable at `offset`, without other places.

    None if they cannot be determined.
    """
    template = snapshot.template(path)
    place = name_at(template, offset) if template is not None else None
    if template is None or place is None:
        return None
    reference = next((each for each in template.names.references_in(offset) if each.span == place.span), None)
    if reference is None or not reference.certain:
        return None
    if reference.binding is not None:
        is_indirect = reference.binding.kind in {"import", "implied"}
        return None if is_indirect else (Target(path, reference.binding.span, place.span),)
    if place.name in GLOBALS or place.name in INJECTED:
        return ()
    for key in template.declarations.inputs:
        if key.name == place.name:
            return (Target(path, bare_span(template, key.span, key.name) or key.span, place.span),)
    return None


def _defined(snapshot: Snapshot, symbol: Symbol) -> Steps[list[tuple[str, Span]]]:
    if symbol.kind == "file":
        return [(symbol.home, _TOP)]
    template = snapshot.template(symbol.home)
    if template is not None and symbol.kind == "key":
        declared = _declarations(declared_key_places(template, symbol.home, symbol.key_path))
        return declared or list(_declarations_or_writes((yield from occurrence_steps(snapshot, symbol))))
    if symbol.kind in NO_VARIABLES:
        return _declarations((yield from occurrence_steps(snapshot, symbol)))
    variable = symbol_variable(snapshot, symbol)
    if template is None or variable is None or symbol.kind == "own":
        return []
    if symbol.kind == "function":
        return list(_function(snapshot, symbol))
    places: list[tuple[str, Span]] = []
    for binding in _ordered_bindings(variable.bindings, symbol, template):
        places += _binding_targets(snapshot, symbol.home, template, binding)
    if variable.is_input:
        found = yield from occurrence_steps(snapshot, symbol, in_data=False)
        assigned = [
            (each.path, each.span) for each in found if each.use == "write" and each.where == "template"
        ]
        passed = [(each.path, each.span) for each in found if each.where == "python"]
        places += _declarations(found) or assigned or passed
    return places


def _declarations_or_writes(places: tuple[Occurrence, ...]) -> Iterator[tuple[str, Span]]:
    """Yield the declarations of a key; without one, its first assignment in each file."""
    declared = _declarations(places)
    if declared:
        yield from declared
        return
    first: dict[str, Span] = {}
    for each in places:
        if each.use == "write":
            first.setdefault(each.path, each.span)
    yield from first.items()


def _ordered_bindings(bindings: tuple[Binding, ...], symbol: Symbol, template: Template) -> list[Binding]:
    """Return the bindings, starting with the one that the symbol's own place refers to."""
    referenced = None
    if symbol.anchor is not None:
        for reference in template.names.references_in(symbol.anchor.start):
            if reference.span == symbol.anchor:
                referenced = reference.binding
        referenced = referenced or next((each for each in bindings if each.span == symbol.anchor), None)
    return sorted(bindings, key=lambda binding: (binding != referenced, binding.span))


def _binding_targets(
    snapshot: Snapshot, path: str, template: Template, binding: Binding
) -> Iterator[tuple[str, Span]]:
    """Yield the binding, or the definition that it imports."""
    if binding.kind != "import":
        yield path, binding.span
        return
    macro = macro_meant(snapshot, path, NamePlace(binding.name, binding.span))
    if macro is not None:
        yield macro.path, macro.span
        return
    mention = mention_at(template.source, binding.span.start)
    target = imported_file(snapshot, path, template, mention) if mention is not None else None
    yield (target, _TOP) if target is not None else (path, binding.span)


def _declarations(places: Iterable[Occurrence]) -> list[tuple[str, Span]]:
    return [(each.path, each.span) for each in places if each.use == "declaration"]


def _definition_named(snapshot: Snapshot, path: str, value: NamedValue) -> Iterator[tuple[str, Span]]:
    """Yield the definition of a value of the header: a file, a metric's function, a model of the project."""
    if value.kind == "metric":
        file, name = metric_file(snapshot, path, value)
        places = tuple(_in_program(snapshot, file, name)) if file is not None else ()
        if file is not None and (places or snapshot.exists(file)):
            yield file, next(iter(places), _TOP)
    elif value.kind == "model":
        place = place_of_setting(snapshot.project(path), ("models", value.name))
        settings = snapshot.template(str(place.path)) if place is not None else None
        if place is not None and settings is not None:
            line = settings.source.line_span(place.line or 0)
            at = settings.source.slice(line).find(value.name)
            start = line.start + max(at, 0)
            yield str(place.path), Span(start, start + len(value.name)) if at >= 0 else line
    elif value.file is not None and snapshot.exists(file_beside(path, value.file)):
        yield file_beside(path, value.file), _TOP


def _function(snapshot: Snapshot, symbol: Symbol) -> Iterator[tuple[str, Span]]:
    file = functions_path(snapshot, symbol.home)
    if file is not None:
        for span in _in_program(snapshot, file, symbol.name):
            yield file, span


def _in_program(snapshot: Snapshot, file: str, name: str) -> Iterator[Span]:
    """Yield the definitions of a function with this name in a Python file."""
    program = snapshot.template(file)
    if program is None:
        return
    for function in functions_in(file) or ():
        if function.name == name:
            line = program.source.line_span(function.line)
            at = max(program.source.slice(line).find(name), 0)
            yield Span(line.start + at, line.start + at + len(name))


class CallItem(NamedTuple):
    """A file or a macro: `span` is its full range, `name_span` its name, or for a file its beginning."""

    kind: Literal["file", "macro"]
    name: str
    path: str
    span: Span
    name_span: Span


class Calls(NamedTuple):
    """A caller or callee, and the ranges of its calls, which are in the caller's file."""

    item: CallItem
    places: tuple[Span, ...]


def call_item(snapshot: Snapshot, path: str, offset: int) -> CallItem | None:
    """Return the macro or file named at `offset`; by default the file itself."""
    template = snapshot.template(path)
    if template is None:
        return None
    place = name_at(template, offset) or mention_at(template.source, offset)
    macro = macro_meant(snapshot, path, place) if place is not None else None
    if macro is not None:
        return macro_item(snapshot, macro)
    mention = mention_at(template.source, offset)
    target = imported_file(snapshot, path, template, mention) if mention is not None else None
    if target is None:
        symbol = symbol_at(snapshot, path, offset)
        target = symbol.home if symbol is not None and symbol.kind == "file" else path
    return file_item(snapshot, target)


def file_item(snapshot: Snapshot, path: str) -> CallItem | None:
    """Return a file as an item; None if it cannot be read."""
    template = snapshot.template(path)
    if template is None:
        return None
    return CallItem("file", shown_path(snapshot, path), path, Span(0, len(template.source)), Span(0, 0))


def macro_item(snapshot: Snapshot, macro: Macro) -> CallItem | None:
    """Return a macro as an item; None if it no longer exists."""
    template = snapshot.template(macro.path)
    found = placed_statement_at(template, macro.span.start) if template is not None else None
    if template is None or found is None:
        return None
    block = next((block for block in _macros(template) if block.span.start == found[1]), None)
    span = block.span if block is not None else macro.span
    return CallItem("macro", macro.name, macro.path, span, macro.span)


def macro_named(snapshot: Snapshot, path: str, name: str, near: int) -> CallItem | None:
    """Return the macro with this name in the file at `path`; the nearest to `near` if there are several."""
    template = snapshot.template(path)
    macros = (
        [Macro(path, each.name, each.span) for each in template.names.bindings_of("macro")]
        if template
        else []
    )
    named = [macro for macro in macros if macro.name == name]
    if not named:
        return None
    return macro_item(snapshot, min(named, key=lambda macro: abs(macro.span.start - near)))


# -- incoming -------------------------------------------------------------------


def incoming(snapshot: Snapshot, item: CallItem) -> tuple[Calls, ...]:
    """Return the callers of the item, in the order of files and positions."""
    found: dict[CallItem, list[Span]] = {}
    places = _callers_of_file if item.kind == "file" else _callers_of_macro
    for path, span in sorted(set(places(snapshot, item))):
        template = snapshot.template(path)
        caller = _caller(snapshot, path, template, span) if template is not None else None
        if caller is not None:
            found.setdefault(caller, []).append(span)
    return tuple(Calls(caller, tuple(spans)) for caller, spans in found.items())


def _callers_of_file(snapshot: Snapshot, item: CallItem) -> Iterator[tuple[str, Span]]:
    for each in include_places(snapshot, item.path):
        yield each.path, each.span


def _callers_of_macro(snapshot: Snapshot, item: CallItem) -> Iterator[tuple[str, Span]]:
    template = snapshot.template(item.path)
    variable = variable_at(template, NamePlace(item.name, item.name_span)) if template is not None else None
    if variable is None:
        return
    shared, references = shared_variable(snapshot, item.path, variable, by_data=False)
    for each in shared:
        for reference in each.variable.references:
            yield each.path, reference.span
    for occurrence in references:
        other = snapshot.template(occurrence.path)
        mention = mention_at(other.source, occurrence.span.start) if other is not None else None
        if other is None or mention is None:
            continue
        if mention.kind == "attribute":
            yield occurrence.path, occurrence.span
        else:
            yield from ((occurrence.path, span) for span in other_names(other, occurrence.span))


def _caller(snapshot: Snapshot, path: str, template: Template, span: Span) -> CallItem | None:
    """Return the macro around a place, or else the file."""
    inner = None
    for block in _macros(template):
        if block.tags[0].end <= span.start and span.end <= block.tags[-1].start:
            inner = block
    if inner is None:
        return file_item(snapshot, path)
    found = placed_statement_at(template, inner.span.start)
    if found is None:
        return None
    statement, begin = found
    return CallItem("macro", statement.name, path, inner.span, statement.name_span.shifted(begin))


# -- outgoing -------------------------------------------------------------------


def outgoing(snapshot: Snapshot, item: CallItem) -> tuple[Calls, ...]:
    """Return the callees of the item, in the order of their first calls; files exclude those of macros."""
    template = snapshot.template(item.path)
    if template is None:
        return ()
    found: dict[CallItem, list[Span]] = {}
    without = [block.span for block in _macros(template)] if item.kind == "file" else []
    for span, called in sorted(_calls(snapshot, item.path, template, item.span), key=itemgetter(0)):
        if called is not None and not any(each.covers(span.start) for each in without):
            found.setdefault(called, []).append(span)
    return tuple(Calls(called, tuple(spans)) for called, spans in found.items())


def _calls(
    snapshot: Snapshot, path: str, template: Template, within: Span
) -> Iterator[tuple[Span, CallItem | None]]:
    """Yield the calls in a range of a file, each with its callee."""
    references = iter(template.references)
    reference = next(references, None)
    for located in template.source.root.placed(template.source.located(within.start).index):
        if located.start >= within.end:
            break
        end = located.start + located.chunk.length
        while reference is not None and reference.span.start < end:
            if within.covers(reference.span.start):
                target = snapshot.resolve(path, reference)
                yield name_span(reference), file_item(snapshot, target) if target is not None else None
            reference = next(references, None)
        places: list[NamePlace | Mention] = [
            NamePlace(event.name, event.span.shifted(located.start))
            for event in chunk_events(located.chunk)
            if event.action == "read" and event.detail == "call"
        ]
        places += [
            mention.shifted(located.start)
            for mention in chunk_mentions(located.chunk)
            if mention.kind == "attribute"
        ]
        for place in places:
            if within.covers(place.span.start):
                macro = macro_meant(snapshot, path, place)
                yield place.span, macro_item(snapshot, macro) if macro is not None else None


# -- macros of a file -----------------------------------------------------------

_has_macro = summary(lambda chunk: any(tag.keyword == "macro" for tag in block_tags(chunk)), any)


def _macros(template: Template) -> list[FileBlock]:
    """Return the macros of the file, outer macros before nested ones."""
    inside = [
        block.shifted(located.start)
        for located in template.source.root.where(_has_macro)
        for block in blocks_inside(located.chunk)
    ]
    found = [*inside, *blocks_across(template.source.root)]
    macros = (block for block in found if block.keyword == "macro" and block.is_closed)
    return sorted(macros, key=lambda block: block.span)
