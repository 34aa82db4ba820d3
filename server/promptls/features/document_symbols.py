"""The outline of a prompt file: header, parts with their sections, macros, blocks, examples."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from promptls.meaning.kind import Kind
from promptls.meaning.template import PlacedPart, Template
from promptls.syntax.jinja.blocks import chunk_blocks
from promptls.syntax.jinja.problems import tag_tree
from promptls.syntax.yaml.nodes import Mapping, Sequence, key_text, scalar_text
from promptls.text.span import Span
from promptls.workspace.snapshot import Snapshot

SymbolKind = Literal["header", "part", "section", "macro", "block", "key", "example"]


@dataclass(frozen=True, slots=True)
class Symbol:
    """One entry of the outline: `span` is all of it, `name_span`, inside, what to jump to."""

    name: str
    kind: SymbolKind
    span: Span
    name_span: Span
    detail: str = ""
    children: tuple[Symbol, ...] = ()


def document_symbols(snapshot: Snapshot, path: str) -> tuple[Symbol, ...]:
    """The symbols of the file at `path`, in the order of their places."""
    template = snapshot.template(path)
    kind = snapshot.kind(path)
    if template is None or kind is Kind.OTHER:
        return ()
    found = [*_header(template), *_jinja(template)]
    if kind in {Kind.PARTS, Kind.SECTION}:
        found += [_part(template, index, placed) for index, placed in enumerate(template.parts)]
    elif template.header is None and template.root is not None:
        found += _keys(template, template.root)
    return tuple(sorted(found, key=lambda symbol: symbol.span))


def _header(template: Template) -> Iterator[Symbol]:
    header = template.header
    if header is None:
        return
    children = tuple(_keys(template, header.tree)) if header.tree else ()
    name_span = Span(header.span.start, min(header.span.start + len("{#---"), header.span.end))
    name = header.settings.name or ""
    yield Symbol("header", "header", header.span, name_span, name, children)


def _keys(template: Template, tree: Mapping) -> Iterator[Symbol]:
    for entry in tree.entries:
        name = key_text(entry)
        if not name:
            continue
        span = Span(entry.key.span.start, max(entry.value.span.end, entry.key.span.end))
        children: tuple[Symbol, ...] = ()
        if name == "examples":
            children = tuple(
                Symbol(
                    f"example {number}", "example", example.span, Span(example.span.start, example.span.start)
                )
                for number, example in enumerate(template.declarations.examples, start=1)
            )
        elif name == "experiments" and isinstance(entry.value, Mapping):
            children = tuple(_keys(template, entry.value))
        yield Symbol(name, "key", span, entry.key.span, "", children)


def _part(template: Template, index: int, placed: PlacedPart) -> Symbol:
    part = placed.part
    name_value = part.value("name")
    name_span = (
        name_value.span.shifted(placed.start) if name_value else Span(placed.span.start, placed.span.start)
    )
    name = part.name or template.source.slice(name_span).strip().strip("\"'") or f"part {index + 1}"
    role = scalar_text(part.value("role")) or ""
    return Symbol(name, "part", placed.span, name_span, role, tuple(_sections(placed)))


def _sections(placed: PlacedPart) -> Iterator[Symbol]:
    sections = placed.part.value("sections")
    if not isinstance(sections, Sequence):
        return
    for number, item in enumerate(sections.items, start=1):
        if isinstance(item, Mapping):
            value = item.value("name")
            span = item.span.shifted(placed.start)
            name_span = value.span.shifted(placed.start) if value else Span(span.start, span.start)
            yield Symbol(scalar_text(value) or f"section {number}", "section", span, name_span)


def _jinja(template: Template) -> Iterator[Symbol]:
    for start, chunk in zip(template.source.starts, template.source.chunks, strict=False):
        ends = {pair.opening: chunk.tags[pair.closing].span.end for pair in chunk_blocks(chunk).pairs}
        for index, tag in enumerate(chunk.tags):
            if tag.kind != "statement":
                continue
            statement = tag_tree(tag).statement
            if statement.keyword in {"macro", "block"} and statement.name:
                span = Span(tag.span.start, ends.get(index, tag.span.end)).shifted(start)
                name_span = statement.name_span.shifted(tag.span.start + start)
                detail = ", ".join(parameter.name for parameter in statement.parameters)
                kind: SymbolKind = "macro" if statement.keyword == "macro" else "block"
                yield Symbol(statement.name, kind, span, name_span, f"({detail})" if kind == "macro" else "")
