"""A variable of the template written down among its inputs."""

from __future__ import annotations

from typing import Final

from promptls.features.refactorings.add_header import added_header
from promptls.features.refactorings.refactoring import Change, Offer, Place, line_break
from promptls.meaning.header_text import OPENING
from promptls.meaning.kind import Kind
from promptls.meaning.name_events import chunk_events
from promptls.meaning.scopes import GLOBALS, INJECTED
from promptls.rules.fixes.added_input import added_input
from promptls.rules.rule import Edit, FileContext
from promptls.text.span import Span

_KIND: Final = "refactor.rewrite"


def declare_input(place: Place) -> Offer | None:
    """The variable at the cursor added to `input_keys`, with a header where there is none."""
    template = place.template
    found = template.source.located(place.span.start)
    here = place.span.start - found.start
    name = next(
        (
            event.name
            for event in chunk_events(found.chunk)
            if event.action == "read" and event.span.contains(here) and event.detail != "call"
        ),
        None,
    )
    if name is None or name in {*GLOBALS, *INJECTED} or name not in template.names.input_names:
        return None
    if not any(
        reading.is_input and reading.span.contains(place.span.start)
        for reading in template.names.readings_of(name)
    ):
        return None
    if place.kind not in {Kind.PARTS, Kind.OBJECT} or any(
        key.name == name for key in template.declarations.inputs or ()
    ):
        return None
    title = f"Declare the input `{name}`"
    tree = template.declarations.tree
    if tree is not None and tree.entry("input_keys") is not None:
        project = place.snapshot.project(place.path).settings
        context = FileContext(place.snapshot, place.path, template, place.kind, project)
        fixes = added_input(context, name)
        return Offer(title, _KIND, lambda: Change(fixes[0].edits)) if fixes else None
    if template.header is None:
        if place.kind is not Kind.PARTS:
            return None
        return Offer(f"{title} in a new header", _KIND, lambda: added_header(place, name))
    if template.declarations.problems and tree is None:
        return None
    start = template.header.span.start + len(OPENING)
    edit = Edit(Span(start, start), f"{line_break(template)}input_keys: [{name}]")
    return Offer(title, _KIND, lambda: Change((edit,)))
