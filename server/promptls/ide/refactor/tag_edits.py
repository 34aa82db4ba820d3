"""Refactorings that add tags: wrap lines in `if` or `for`, extract a macro."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from promptls.format.frame import is_blank, scalar_texts
from promptls.ide.refactor import refactoring
from promptls.lint.rule import Edit
from promptls.semantic.kind import Kind
from promptls.semantic.names.scopes import GLOBALS, INJECTED, NameEvent, chunk_events
from promptls.semantic.parts import chunk_items, value_end
from promptls.syntax.chunk import Chunk
from promptls.syntax.jinja.blocks import block_tags
from promptls.syntax.projection import project
from promptls.syntax.source import Source
from promptls.syntax.yaml.nodes import Mapping, Scalar
from promptls.syntax.yaml.under_jinja import chunk_yaml
from promptls.text.positions import Span, line_end


def wrap_in_if(place: refactoring.RefactorSelection) -> refactoring.Offer | None:
    """Return the wrapping of the selected lines in an `if` block."""
    return _wrap(place, "Wrap the lines in `if`", "if condition", "endif")


def wrap_in_for(place: refactoring.RefactorSelection) -> refactoring.Offer | None:
    """Return the wrapping of the selected lines in a `for` block."""
    return _wrap(place, "Wrap the lines in `for`", "for item in items", "endfor")


class _Lines(NamedTuple):
    """Whole lines of a file, without the last line break.

    `in_text` means that they are text of a scalar, and `continues` that the scalar continues after them.
    """

    span: Span
    indentation: str
    in_text: bool
    continues: bool


def _wrap(
    place: refactoring.RefactorSelection, title: str, opening: str, closing: str
) -> refactoring.Offer | None:
    if place.kind is Kind.OTHER or not place.selected.strip():
        return None
    lines = _lines(place)
    reason = _wrap_obstacle(place, lines)
    if reason:
        return refactoring.refuse(title, "refactor.rewrite", reason)

    def change() -> refactoring.Change:
        start, end = lines.span
        source = place.template.source
        newline = refactoring.line_break(place.template)
        trims = lines.in_text and _may_trim(source, lines.span)
        begin = "{%-" if trims else "{%"
        before, after = f"{begin} {opening} %}}", f"{begin} {closing} %}}"
        if trims or not lines.in_text:
            before, after = f"{lines.indentation}{before}{newline}", f"{newline}{lines.indentation}{after}"
        elif lines.continues:
            end = source.line_span(source.line_column(end).line + 1).start
        return refactoring.Change((Edit.insert(start, before), Edit.insert(end, after)))

    return refactoring.Offer(title, "refactor.rewrite", change)


def _may_trim(source: Source, lines: Span) -> bool:
    """Return whether tags that trim remove only the line breaks before them, and no white space of a text."""
    above = source.line(source.line_column(lines.start).line - 1)
    last = source.line(source.line_column(lines.end).line)
    return bool(above.strip()) and above == above.rstrip() and last == last.rstrip()


def _lines(place: refactoring.RefactorSelection) -> _Lines:
    source = place.template.source
    first, last = source.line_column(place.span.start).line, source.line_column(place.span.end).line
    if last > first and source.line_column(place.span.end).column == 0:
        last -= 1
    while first < last and not source.line(first).strip():
        first += 1
    while first < last and not source.line(last).strip():
        last -= 1
    span = Span(source.line_span(first).start, source.line_span(last).end)
    line = source.line(first)
    found = source.located(span.start)
    inside = span.start - found.start
    text = next((text for text in _texts(found.chunk) if text.start < inside <= text.end), None)
    continues = text is not None and source.line_span(last + 1).start - found.start < text.end
    return _Lines(span, line[: len(line) - len(line.lstrip())], text is not None, continues)


def _texts(chunk: Chunk) -> Iterator[Span]:
    """Yield the texts of the chunk's scalars, including lines of only Jinja under a block scalar."""
    yaml = chunk_yaml(chunk)
    # If a printed value determines the YAML structure, the text lines are unknown.
    parts = chunk_items(chunk).parts if yaml.roots or yaml.problems else ()
    entries = [entry for part in parts for entry in part.entries]
    entries += [entry for root in yaml.roots if isinstance(root, Mapping) for entry in root.entries]
    for entry in entries:
        if isinstance(entry.value, Scalar) and entry.value.style in {"|", ">"}:
            yield Span(line_end(chunk.text, entry.value.span.start), value_end(chunk, entry))
    yield from scalar_texts(chunk)


def _wrap_obstacle(place: refactoring.RefactorSelection, lines: _Lines) -> str:
    """Return why the lines cannot be wrapped; else an empty text."""
    source = place.template.source
    header = place.template.header
    if header is not None and lines.span.start < header.span.end:
        return "the lines are in the header"
    depth = 0
    start = source.located(lines.span.start).start
    while start < lines.span.end:
        chunk = source.located(start).chunk
        inside = lines.span.shifted(-start)
        if any(tag.span.start < edge < tag.span.end for tag in chunk.tags for edge in inside):
            return "the lines cut a tag"
        if not lines.in_text and not chunk_yaml(chunk).roots and project(chunk).text.strip():
            return "the YAML around the lines cannot be read"
        if _trims(chunk, inside):
            return "a tag at the edge of the lines trims what is on its other side"
        depth = _depth(chunk, inside, depth)
        if depth < 0:
            return "the lines cut a block"
        start += max(len(chunk.text), 1)
    if depth:
        return "the lines cut a block"
    if not lines.in_text:
        last = source.located(lines.span.end)
        end = lines.span.end - last.start
        after = source.line_span(source.line_column(lines.span.end).line + 1).start - last.start
        if any(text.start <= end and after < text.end for text in _texts(last.chunk)):
            return "the lines end in the middle of a text"
        return ""
    first = source.located(lines.span.start)
    if lines.span.end - first.start > len(first.chunk.text):
        return "the lines begin in a text and end outside of it"
    return ""


def _trims(chunk: Chunk, inside: Span) -> bool:
    """Return whether a tag at an edge of the lines trims white space across the edge."""
    for tag in chunk.tags:
        if tag.trims_after and tag.span.end <= inside.end:
            edge = inside.start if tag.span.end <= inside.start else inside.end
            if is_blank(chunk.text, tag.span.end, edge):
                return True
        if tag.trims_before and tag.span.start >= inside.start:
            edge = inside.end if tag.span.start >= inside.end else inside.start
            if is_blank(chunk.text, edge, tag.span.start):
                return True
    return False


def _depth(chunk: Chunk, inside: Span, depth: int) -> int:
    """Return the number of blocks that the lines leave open.

    Negative if they close blocks opened before them.
    """
    for tag in block_tags(chunk):
        if inside.covers(tag.span.start):
            depth += {"open": 1, "close": -1}.get(tag.action, 0)
            if depth < 0 or (tag.action == "middle" and depth == 0):
                return -1
    return depth


_TITLE: Final = "Extract the selection into a macro"
_NAME: Final = "excerpt"


def extract_macro(place: refactoring.RefactorSelection) -> refactoring.Offer | None:
    """Return the extraction of the selection to a macro, with the variables that it reads as parameters."""
    if place.kind not in {Kind.PARTS, Kind.SECTION, Kind.TEXT} or not place.selected.strip():
        return None
    found = place.template.source.located(place.span.start)
    inside = place.span.shifted(-found.start)
    if inside.end > len(found.chunk.text):
        return None
    reason = _cut(found.chunk, inside) or _trimmed(found.chunk, inside) or _bound(found.chunk, inside)
    if reason:
        return refactoring.refuse(_TITLE, "refactor.extract", reason)

    def change() -> refactoring.Change:
        names = place.template.names
        taken = names.read_names | {binding.name for binding in names.bindings}
        name = refactoring.fresh_name(_NAME, taken)
        parameters = ", ".join(_parameters(place, found.chunk, inside))
        end = refactoring.line_break(place.template)
        macro = f"{{% macro {name}({parameters}) %}}{place.selected}{{% endmacro %}}"
        at = _top(place)
        before = end if at and not place.template.source.slice(Span(at - 1, at)).isspace() else ""
        after = "" if before else end
        return refactoring.Change(
            (
                Edit.insert(at, f"{before}{macro}{after}"),
                Edit(place.span, f"{{{{ {name}({parameters}) }}}}"),
            )
        )

    return refactoring.Offer(_TITLE, "refactor.extract", change)


def _top(place: refactoring.RefactorSelection) -> int:
    """Return the offset after the header, or the start of the file."""
    header = place.template.header
    if header is not None:
        return header.span.end
    return 1 if place.template.source.first_chunk.text.startswith("\ufeff") else 0


def _parameters(place: refactoring.RefactorSelection, chunk: Chunk, inside: Span) -> list[str]:
    """Return the variables that the selection reads without binding them, except for global ones."""
    called = {
        reference.name
        for name in {event.name for event in _events(chunk, inside)}
        for reference in place.template.names.references_of(name)
        if reference.how == "call" and reference.is_input
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
    return [event for event in chunk_events(chunk) if inside.covers(event.span.start)]


def _cut(chunk: Chunk, inside: Span) -> str:
    """Return a description of what the edges of the selection split."""
    if any(chunk.text[max(edge - 1, 0) : edge + 1] == "\r\n" for edge in inside):
        return "the selection cuts a line end of two characters"
    if any(tag.span.start < edge < tag.span.end for tag in chunk.tags for edge in inside):
        return "the selection cuts a tag"
    return "the selection cuts a block" if _depth(chunk, inside, 0) else ""


def _trimmed(chunk: Chunk, inside: Span) -> str:
    """Return a description of the tags that trim across an edge of the selection."""
    within = [tag for tag in chunk.tags if inside.covers(tag.span.start)]
    if any(
        (tag.trims_before and is_blank(chunk.text, inside.start, tag.span.start))
        or (tag.trims_after and is_blank(chunk.text, tag.span.end, inside.end))
        for tag in within
    ):
        return "a tag at the edge of the selection trims what is outside of it"
    before = [tag for tag in chunk.tags if tag.span.end <= inside.start and tag.trims_after]
    after = [tag for tag in chunk.tags if tag.span.start >= inside.end and tag.trims_before]
    if (before and is_blank(chunk.text, before[-1].span.end, inside.start)) or (
        after and is_blank(chunk.text, inside.end, after[0].span.start)
    ):
        return "a tag beside the selection trims into it"
    return ""


def _bound(chunk: Chunk, inside: Span) -> str:
    """Return a description of the bindings in the selection, which a macro would hide."""
    read_later = {
        each.name for each in chunk_events(chunk) if each.action == "read" and each.span.start >= inside.end
    }
    for event in _events(chunk, inside):
        if event.action == "open" and event.name == "macro":
            return "the selection defines a macro"
        if event.action == "bind" and event.name in read_later:
            return f"the selection sets `{event.name}`, which is read after it"
    return ""
