"""Selected text made into a macro, which is called where the text stood."""

from __future__ import annotations

from typing import Final

from promptls.format.frame import is_blank
from promptls.ide.refactor.refactoring import Change, Offer, Place, fresh_name, line_break, refused
from promptls.lint.rule import Edit
from promptls.semantic.kind import Kind
from promptls.semantic.names.events import NameEvent, chunk_events
from promptls.semantic.names.scopes import GLOBALS, INJECTED
from promptls.syntax.chunk import Chunk
from promptls.syntax.jinja.blocks import block_tags
from promptls.text.positions import Span

_KIND: Final = "refactor.extract"
_TITLE: Final = "Extract the selection into a macro"
_NAME: Final = "excerpt"


def extract_macro(place: Place) -> Offer | None:
    """Return the selection as the body of a macro at the top of the file; what it reads are parameters."""
    if place.kind not in {Kind.PARTS, Kind.SECTION, Kind.TEXT} or not place.selected.strip():
        return None
    found = place.template.source.located(place.span.start)
    inside = place.span.shifted(-found.start)
    if inside.end > len(found.chunk.text):
        return None
    reason = _reason(found.chunk, inside)
    if reason:
        return refused(_TITLE, _KIND, reason)

    def change() -> Change:
        names = place.template.names
        taken = names.read_names | {binding.name for binding in names.bindings}
        name = fresh_name(_NAME, taken)
        parameters = ", ".join(_parameters(place, found.chunk, inside))
        end = line_break(place.template)
        macro = f"{{% macro {name}({parameters}) %}}{place.selected}{{% endmacro %}}"
        at = _top(place)
        before = end if at and not place.template.source.slice(Span(at - 1, at)).isspace() else ""
        behind = "" if before else end
        return Change(
            (
                Edit(Span(at, at), f"{before}{macro}{behind}"),
                Edit(place.span, f"{{{{ {name}({parameters}) }}}}"),
            )
        )

    return Offer(_TITLE, _KIND, change)


def _top(place: Place) -> int:
    """Return the place behind the header, or the start of the file."""
    header = place.template.header
    if header is not None:
        return header.span.end
    return 1 if place.template.source.first_chunk.text.startswith("\ufeff") else 0


def _parameters(place: Place, chunk: Chunk, inside: Span) -> list[str]:
    """Return what the selection reads and does not bind, but for what every macro sees."""
    called = {
        reading.name
        for name in {event.name for event in _events(chunk, inside)}
        for reading in place.template.names.readings_of(name)
        if reading.how == "call" and reading.is_input
    }
    macros = {
        binding.name for kind in ("macro", "import") for binding in place.template.names.bindings_of(kind)
    }
    own: set[str] = set()
    found: dict[str, None] = {}
    for event in _events(chunk, inside):
        own |= {name for name, _, _ in event.bound}
        if event.action == "bind":
            own.add(event.name)
        elif event.action == "read" and event.name not in own:
            found[event.name] = None
    return [name for name in found if name not in {*GLOBALS, *INJECTED, *called, *macros}]


def _events(chunk: Chunk, inside: Span) -> list[NameEvent]:
    return [event for event in chunk_events(chunk) if inside.start <= event.span.start < inside.end]


def _reason(chunk: Chunk, inside: Span) -> str:
    """Return why the selection can be no macro; else an empty text."""
    return _cut(chunk, inside) or _trimmed(chunk, inside) or _bound(chunk, inside)


def _cut(chunk: Chunk, inside: Span) -> str:
    """Return what the edges of the selection go through."""
    if any(chunk.text[max(edge - 1, 0) : edge + 1] == "\r\n" for edge in inside):
        return "the selection cuts a line end of two characters"
    if any(tag.span.start < edge < tag.span.end for tag in chunk.tags for edge in inside):
        return "the selection cuts a tag"
    depth = 0
    for tag in block_tags(chunk):
        if inside.start <= tag.span.start < inside.end:
            depth += {"open": 1, "close": -1}.get(tag.action, 0)
            if depth < 0 or (tag.action == "middle" and depth == 0):
                return "the selection cuts a block"
    return "the selection cuts a block" if depth else ""


def _trimmed(chunk: Chunk, inside: Span) -> str:
    """Return which tags trim over an edge of the selection."""
    within = [tag for tag in chunk.tags if inside.start <= tag.span.start < inside.end]
    if any(
        (tag.trims_before and is_blank(chunk.text, inside.start, tag.span.start))
        or (tag.trims_after and is_blank(chunk.text, tag.span.end, inside.end))
        for tag in within
    ):
        return "a tag at the edge of the selection trims what stands outside of it"
    before = [tag for tag in chunk.tags if tag.span.end <= inside.start and tag.trims_after]
    behind = [tag for tag in chunk.tags if tag.span.start >= inside.end and tag.trims_before]
    if (before and is_blank(chunk.text, before[-1].span.end, inside.start)) or (
        behind and is_blank(chunk.text, inside.end, behind[0].span.start)
    ):
        return "a tag beside the selection trims into it"
    return ""


def _bound(chunk: Chunk, inside: Span) -> str:
    """Return what the selection binds that a macro would keep inside."""
    events = chunk_events(chunk)
    for event in _events(chunk, inside):
        if event.action == "open" and event.name == "macro":
            return "the selection defines a macro"
        if event.action == "bind" and any(
            each.action == "read" and each.name == event.name and each.span.start >= inside.end
            for each in events
        ):
            return f"the selection sets `{event.name}`, which is read behind it"
    return ""
