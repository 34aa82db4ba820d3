"""The call hierarchy of files and macros, in which an include is a call.

An include, import or `extends` is a call of a file; code outside of macros is attributed to its file.
"""

from __future__ import annotations

from collections.abc import Iterator
from operator import itemgetter
from typing import Literal, NamedTuple

from promptls.ide.document_symbols import shown_path
from promptls.ide.symbols import symbol_at
from promptls.ide.symbols.declared import include_places, name_span
from promptls.ide.symbols.jinja import Macro, macro_meant, other_names
from promptls.ide.symbols.variable_symbols import imported_file, shared_variable
from promptls.semantic.names.mentions import Mention, chunk_mentions, mention_at
from promptls.semantic.names.scopes import chunk_events
from promptls.semantic.names.template_names import placed_statement_at
from promptls.semantic.names.variables import NamePlace, name_at, variable_at
from promptls.semantic.template import Template
from promptls.syntax.facts import summary
from promptls.syntax.jinja.blocks import block_tags
from promptls.syntax.jinja.file_blocks import FileBlock, blocks_across, blocks_inside
from promptls.text.positions import Span
from promptls.workspace.snapshot import Snapshot


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
        if called is not None and not any(each.start <= span.start < each.end for each in without):
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
            if within.start <= reference.span.start < within.end:
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
            if within.start <= place.span.start < within.end:
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
    found = [*inside, *blocks_across(template.source)]
    macros = (block for block in found if block.keyword == "macro" and block.is_closed)
    return sorted(macros, key=lambda block: block.span)
