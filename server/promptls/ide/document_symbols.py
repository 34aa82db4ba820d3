"""The outline of a prompt file, and the workspace symbols."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal, NamedTuple

from promptls.semantic.kind import Kind
from promptls.semantic.parts import Part, chunk_items, written_end
from promptls.semantic.template import Template
from promptls.syntax.chunk import Chunk, chunk_fact
from promptls.syntax.facts import summary
from promptls.syntax.jinja.file_blocks import blocks_across, blocks_inside
from promptls.syntax.jinja.nodes import Name, Statement
from promptls.syntax.jinja.problems import tag_tree
from promptls.syntax.yaml.nodes import Mapping, Sequence, key_text, scalar_text
from promptls.text.positions import Span
from promptls.workspace.snapshot import Snapshot

SymbolKind = Literal["header", "part", "section", "macro", "block", "variable", "key", "input", "example"]


@dataclass(frozen=True, slots=True)
class DocumentSymbol:
    """An entry of the outline: `span` is its full range, `name_span` the range to select, inside `span`."""

    name: str
    kind: SymbolKind
    span: Span
    name_span: Span
    detail: str = ""
    children: tuple[DocumentSymbol, ...] = ()

    def shifted(self, by: int) -> DocumentSymbol:
        """Return the same symbol in a text that begins `by` characters earlier."""
        children = tuple([child.shifted(by) for child in self.children])
        span, name_span = self.span.shifted(by), self.name_span.shifted(by)
        return DocumentSymbol(self.name, self.kind, span, name_span, self.detail, children)


def document_symbols(snapshot: Snapshot, path: str) -> tuple[DocumentSymbol, ...]:
    """Return the symbols of the file at `path`, in the order of their positions.

    The contents of blocks are nested.
    """
    template = snapshot.template(path)
    kind = snapshot.kind(path)
    if template is None or kind is Kind.OTHER:
        return ()
    found = [*_header(template), *_jinja(template)]
    if kind in {Kind.PARTS, Kind.SECTION}:
        found += _parts(template)
    elif template.header is None and template.root is not None:
        found += _keys(template, template.root)
    return _nested(sorted(found, key=lambda symbol: (symbol.span.start, -symbol.span.end)))


def _nested(symbols: list[DocumentSymbol]) -> tuple[DocumentSymbol, ...]:
    """Return the symbols as a tree: symbols inside a macro or a block are its children."""
    found: list[DocumentSymbol] = []
    index = 0
    while index < len(symbols):
        first, following = symbols[index], index + 1
        index = following
        if first.kind in {"macro", "block"}:
            while index < len(symbols) and symbols[index].span.end <= first.span.end:
                index += 1
        inside = symbols[following:index]
        found.append(replace(first, children=(*first.children, *_nested(inside))) if inside else first)
    return tuple(found)


def _header(template: Template) -> Iterator[DocumentSymbol]:
    header = template.header
    if header is None:
        return
    children = tuple(_keys(template, header.tree)) if header.tree else ()
    name_span = Span(header.span.start, min(header.span.start + len("{#---"), header.span.end))
    name = header.settings.name or ""
    yield DocumentSymbol("header", "header", header.span, name_span, name, children)


def _keys(template: Template, tree: Mapping) -> Iterator[DocumentSymbol]:
    for entry in tree.entries:
        name = key_text(entry)
        if not name:
            continue
        span = Span(entry.key.span.start, max(entry.value.span.end, entry.key.span.end))
        children: tuple[DocumentSymbol, ...] = ()
        if name == "examples":
            children = tuple(
                DocumentSymbol(
                    f"example {number}", "example", example.span, Span(example.span.start, example.span.start)
                )
                for number, example in enumerate(template.declarations.examples, start=1)
            )
        elif name == "input_keys":
            children = tuple(
                DocumentSymbol(key.name, "input", key.span, key.span, str(key.schema.get("type") or ""))
                for key in template.declarations.inputs
            )
        elif name == "experiments" and isinstance(entry.value, Mapping):
            children = tuple(_keys(template, entry.value))
        yield DocumentSymbol(name, "key", span, entry.key.span, "", children)


def _parts(template: Template) -> Iterator[DocumentSymbol]:
    """Yield the parts with their sections; unnamed parts are numbered."""
    number = 0
    for located in template.source.root.placed():
        for symbol in _in_chunk(located.chunk):
            number += 1
            placed = symbol.shifted(located.start)
            yield placed if placed.name else replace(placed, name=f"part {number}")


@chunk_fact
def _in_chunk(chunk: Chunk) -> tuple[DocumentSymbol, ...]:
    """Return the parts of the chunk, with spans relative to its start."""
    return tuple(_part(chunk, part) for part in chunk_items(chunk).parts)


def _part(chunk: Chunk, part: Part) -> DocumentSymbol:
    value = part.value("name")
    name_span = value.span if value else Span(part.span.start, part.span.start)
    name = part.name or chunk.slice(name_span).strip().strip("\"'")
    role = scalar_text(part.value("role")) or ""
    span = Span(part.span.start, max(part.span.end, written_end(chunk, part.entries)))
    return DocumentSymbol(name, "part", span, name_span, role, tuple(_sections(chunk, part)))


def _sections(chunk: Chunk, part: Part) -> Iterator[DocumentSymbol]:
    sections = part.value("sections")
    if not isinstance(sections, Sequence):
        return
    for number, item in enumerate(sections.items, start=1):
        if isinstance(item, Mapping):
            value = item.value("name")
            name_span = value.span if value else Span(item.span.start, item.span.start)
            span = Span(item.span.start, max(item.span.end, written_end(chunk, item.entries)))
            yield DocumentSymbol(scalar_text(value) or f"section {number}", "section", span, name_span)


def _jinja(template: Template) -> Iterator[DocumentSymbol]:
    across = {block.tags[0]: block for block in blocks_across(template.source.root) if block.is_closed}
    for located in template.source.root.where(_has_named):
        inside = {block.tags[0]: block for block in blocks_inside(located.chunk)}
        for tag, statement in _named(located.chunk):
            begin = located.start + tag.start
            block = inside.get(tag)
            whole = block.shifted(located.start) if block else across.get(tag.shifted(located.start))
            span = whole.span if whole else tag.shifted(located.start)
            if statement.keyword == "set":
                for target in statement.targets:
                    if isinstance(target, Name):
                        place = target.span.shifted(begin)
                        yield DocumentSymbol(target.name, "variable", span, place)
                continue
            detail = ""
            if statement.keyword == "macro":
                detail = f"({', '.join(parameter.name for parameter in statement.parameters)})"
            kind: SymbolKind = "macro" if statement.keyword == "macro" else "block"
            yield DocumentSymbol(statement.name, kind, span, statement.name_span.shifted(begin), detail)


@chunk_fact
def _named(chunk: Chunk) -> tuple[tuple[Span, Statement], ...]:
    """Return the tags of the chunk that define a name, with their spans."""
    statements = ((tag.span, tag_tree(tag).statement) for tag in chunk.tags if tag.kind == "statement")
    return tuple(
        (span, statement)
        for span, statement in statements
        if (statement.keyword in {"macro", "block"} and statement.name) or statement.keyword == "set"
    )


_has_named: Final = summary(lambda chunk: bool(_named(chunk)), any)


WorkspaceSymbolKind = Literal["file", "part", "section", "macro", "block", "input"]


class NamedSymbol(NamedTuple):
    """A workspace symbol: `span` is the range of its name, `container` the file or part that contains it."""

    name: str
    kind: WorkspaceSymbolKind
    span: Span
    container: str


def named_symbols(snapshot: Snapshot, path: str) -> tuple[NamedSymbol, ...]:
    """Return the file at `path` and its symbols; empty if the file is not a prompt."""
    template = snapshot.template(path)
    if template is None or snapshot.kind(path) is Kind.OTHER:
        return ()
    shown = shown_path(snapshot, path)
    found = [NamedSymbol(Path(path).name, "file", Span(0, 0), str(Path(shown).parent.as_posix()).strip("."))]
    found += _listed(document_symbols(snapshot, path), shown)
    declared = {thing.name for thing in found if thing.kind == "input"}
    for name in sorted(template.names.input_names - declared):
        first = next((each for each in template.names.references_of(name) if each.is_input), None)
        if first is not None:
            found.append(NamedSymbol(name, "input", first.span, shown))
    return tuple(found)


def shown_path(snapshot: Snapshot, path: str) -> str:
    """Return the path relative to the workspace folder that contains the file."""
    for root in snapshot.roots:
        if Path(path).is_relative_to(root):
            return Path(path).relative_to(root).as_posix()
    return path


def _listed(symbols: Iterable[DocumentSymbol], container: str) -> Iterator[NamedSymbol]:
    for symbol in symbols:
        match symbol.kind:
            case "part" | "section" | "macro" | "block" | "input":
                yield NamedSymbol(symbol.name, symbol.kind, symbol.name_span, container)
        inner = symbol.name if symbol.kind == "part" else container
        yield from _listed(symbol.children, inner)


def match(query: str, name: str) -> int | None:
    """Return how well a name matches a query, higher is better; None if it lacks one of the letters.

    The letters of `query` must occur in `name` in order. Letters at the beginning of words and consecutive
    letters score higher; among equal matches, names that begin with the first letter come first, and then
    shorter ones.
    """
    pattern, letters = query.casefold(), name.casefold()
    if not pattern:
        return 0
    best = _walk(pattern, letters, name, letters.find(pattern)) if pattern in letters else None
    walked = _walk(pattern, letters, name, letters.find(pattern[0]))
    if walked is None:
        return None
    score = max(walked, best if best is not None else walked)
    return 10 * score + 5 * letters.startswith(pattern[0]) - min(len(name), 99)


def _walk(pattern: str, letters: str, name: str, start: int) -> int | None:
    """Return the score of matching each letter at its next occurrence from `start` on; None if none."""
    score = 0
    position, before = start, -2
    for letter in pattern:
        position = letters.find(letter, max(position, before + 1))
        if position < 0:
            return None
        begins = position == 0 or not name[position - 1 : position].isalnum()
        capital = name[position : position + 1].isupper() and not begins
        score += 4 + 8 * begins + 4 * capital + 6 * (position == before + 1)
        before = position
        position += 1
    return score
