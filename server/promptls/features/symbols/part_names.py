"""Names of parts and of sections: those of one name in a file are one, as counts by name have it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from promptls.features.scalar_span import bare_span
from promptls.features.symbols.symbol import Occurrence, SymbolKind
from promptls.meaning.parts import Part, chunk_items
from promptls.meaning.template import Template
from promptls.syntax.chunk import Chunk
from promptls.syntax.group import Located, chunks_where, union, united
from promptls.syntax.yaml.nodes import Mapping, Node, Sequence, scalar_text
from promptls.text.span import Span


class Named(NamedTuple):
    """The name of a part or section, with its place in the file."""

    kind: SymbolKind
    name: str
    span: Span


def names_of_parts(template: Template, located: Located) -> Iterator[Named]:
    """The written-out names of the parts and sections in one chunk."""
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
    sections = part.value("sections")
    for item in sections.items if isinstance(sections, Sequence) else ():
        if isinstance(item, Mapping):
            yield "section", item.value("name")


def part_name_at(template: Template, offset: int) -> Named | None:
    """The name of a part or section that stands at `offset`."""
    named = names_of_parts(template, template.source.located(offset))
    return next((each for each in named if each.span.contains(offset)), None)


def part_places(template: Template, path: str, kind: SymbolKind, name: str) -> Iterator[Occurrence]:
    """The places of a name of parts, or of sections, in one file."""
    for located in chunks_where(template.source.root, lambda piece: name in _names(piece)):
        for each in names_of_parts(template, located):
            if (each.kind, each.name) == (kind, name):
                yield Occurrence(path, each.span, "declaration")


def _chunk_names(chunk: Chunk) -> frozenset[str]:
    values = (value for part in chunk_items(chunk).parts for _, value in _named(part))
    return frozenset(text for value in values if (text := scalar_text(value)))


_names: Final = united(_chunk_names, union)
"""The names of a piece's parts and sections."""
