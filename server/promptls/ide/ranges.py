"""Folding ranges, selection ranges and linked editing ranges."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from typing import Final, Literal, NamedTuple

from promptls.ide.symbols import places_here, symbol_at
from promptls.semantic.kind import Kind
from promptls.semantic.names.mentions import chunk_mentions
from promptls.semantic.parts import chunk_items, written_end
from promptls.semantic.template import Template
from promptls.syntax.chunk import Chunk, chunk_fact
from promptls.syntax.jinja.file_blocks import (
    FileBlock,
    block_at,
    blocks_across,
    blocks_around,
    blocks_inside,
    with_ends_of_blocks,
)
from promptls.syntax.jinja.nodes import Attribute, Filter, Keyword, Statement, Test, walk
from promptls.syntax.jinja.problems import tag_tree
from promptls.syntax.jinja.scanner import Tag
from promptls.syntax.yaml.nodes import Mapping, Node, Scalar, Sequence
from promptls.syntax.yaml.under_jinja import chunk_yaml
from promptls.text.positions import LineColumn, Span, line_column, line_end, line_start, word_at
from promptls.workspace.snapshot import Snapshot


class Fold(NamedTuple):
    """A foldable range: `span` is hidden when folded.

    `closing` means that its last line begins with the closing delimiter, which remains visible. `text` is
    displayed in its place.
    """

    span: Span
    kind: Literal["region", "comment", ""] = ""
    closing: bool = False
    text: str = "…"


class LineFold(NamedTuple):
    """A fold by whole lines, whose first line remains visible."""

    first: int
    last: int
    fold: Fold

    def shifted(self, lines: int, by: int) -> LineFold:
        """Return the same fold in a text that begins this many lines and characters earlier."""
        (start, end), kind, closing, text = self.fold
        fold = Fold(Span(start + by, end + by), kind, closing, text)
        return LineFold(self.first + lines, self.last + lines, fold)


_MAX_TEXT: Final = 60


def folds(snapshot: Snapshot, path: str, limit: int | None = None) -> list[LineFold]:
    """Return the folds of the file at `path` in order, at most one for each line.

    If there is a limit, only the `limit` largest.

    Folds do not cross. If two begin on one line, the larger one is returned, as in editors.
    """
    template = snapshot.template(path)
    if template is None or snapshot.kind(path) is Kind.OTHER:
        return []
    source = template.source
    found = [_by_lines(source.line_column, fold) for fold in _of_header(template)]
    found += (
        fold.shifted(located.first_line, located.start)
        for located in source.root.placed()
        for fold in _of_chunk(located.chunk)
    )
    for block in blocks_across(source.root):
        found += [_by_lines(source.line_column, fold) for fold in _of_block(block)]
    lines = list(_nested(found))
    if limit is not None and len(lines) > limit:
        lines = sorted(sorted(lines, key=lambda each: each.first - each.last)[:limit])
    return lines


def _by_lines(line_column_of: Callable[[int], LineColumn], fold: Fold) -> LineFold:
    return LineFold(
        line_column_of(fold.span.start).line, line_column_of(fold.span.end).line - fold.closing, fold
    )


def _of_header(template: Template) -> Iterator[Fold]:
    header = template.header
    if header is None:
        return
    name = header.settings.name
    text = f" {name} " if name and len(name) < _MAX_TEXT else " … "
    yield Fold(
        Span(header.span.start + len("{#---"), header.span.end - len("---#}")),
        "region",
        closing=True,
        text=text,
    )
    yield from _of_entries(header.tree)


def _of_entries(tree: Node | None, chunk: Chunk | None = None) -> Iterator[Fold]:
    """Yield the values of a mapping's keys, and the items of lists in it, such as examples.

    In a `chunk`, their ends are those of the source text, regardless of Jinja.
    """
    stack: list[Node] = [tree] if tree is not None else []
    while stack:
        node = stack.pop()
        if isinstance(node, Sequence):
            for item in node.items:
                if not isinstance(item, Scalar):
                    end = item.span.end
                    if chunk is not None and isinstance(item, Mapping):
                        end = written_end(chunk, item.entries)
                    yield Fold(Span(item.span.start, end))
                    stack.append(item)
        elif isinstance(node, Mapping):
            for entry in node.entries:
                if entry.value.span.start >= entry.key.span.end:  # an alias has the position of its anchor
                    end = entry.value.span.end if chunk is None else written_end(chunk, (entry,))
                    yield Fold(Span(entry.key.span.end, end))
                    if not isinstance(entry.value, Scalar):
                        stack.append(entry.value)


@chunk_fact
def _of_chunk(chunk: Chunk) -> tuple[LineFold, ...]:
    """Return the folds of a chunk that span more than a line, relative to its start."""
    lines = (
        _by_lines(lambda offset: line_column(chunk.line_starts, offset), fold) for fold in _chunk_folds(chunk)
    )
    return tuple(_nested(lines))


def _chunk_folds(chunk: Chunk) -> Iterator[Fold]:
    for tag in chunk.tags:
        if tag.kind in {"comment", "raw"} and not tag.unclosed and not tag.text.startswith("{#---"):
            inside = Span(tag.span.start + 2, tag.span.end - 2)
            yield Fold(inside, "comment" if tag.kind == "comment" else "")
    for block in blocks_inside(chunk):
        yield from _of_block(block)
    for part in chunk_items(chunk).parts:
        name = part.name
        end = with_ends_of_blocks(chunk, Span(part.span.start, written_end(chunk, part.entries))).end
        yield Fold(Span(part.span.start, end), "region", text=f" {name} …" if name else "…")
        for entry in part.entries:
            for fold in _of_entries(Mapping(part.span, (entry,)), chunk):
                yield fold._replace(span=with_ends_of_blocks(chunk, fold.span))


def _of_block(block: FileBlock) -> Iterator[Fold]:
    """Yield the contents between the tags of a block, one fold for each branch.

    Nothing while the block is unclosed.
    """
    if block.is_closed:
        for opening, closing in pairwise(block.tags):
            yield Fold(Span(opening.end, max(closing.start, opening.end)), closing=True)


def _nested(found: Iterable[LineFold]) -> Iterator[LineFold]:
    """Yield the folds of more than a line in order, at most one for each line, without crossing ones."""
    around: list[LineFold] = []
    for each in sorted(found, key=lambda each: (each.fold.span.start, -each.fold.span.end)):
        while around and around[-1].fold.span.end <= each.fold.span.start:
            around.pop()
        fold = each
        if around:
            outer = around[-1]
            if each.fold.span.end > outer.fold.span.end or each.first == outer.first:
                continue
            if each.last > outer.last:
                fold = each._replace(last=outer.last)
        if fold.last > fold.first:
            around.append(fold)
            yield fold


def selections(snapshot: Snapshot, path: str, offset: int) -> tuple[Span, ...]:
    """Return the ranges around `offset`, the smallest first, each inside the next.

    The file is the last one.
    """
    template = snapshot.template(path)
    if template is None:
        return ()
    grown: list[Span] = []
    for span in sorted(set(_around(template, offset)), key=lambda span: (span.end - span.start, span)):
        inside = not grown or (span.start <= grown[-1].start and grown[-1].end <= span.end)
        if inside and not span.is_empty() and span.touches(offset):
            grown.append(span)
    return tuple(grown) or (Span(0, len(template.source)),)


def _around(template: Template, offset: int) -> Iterator[Span]:
    source = template.source.uncut()
    located = source.located(offset)
    inside = offset - located.start
    yield Span(0, len(source))
    yield from (span.shifted(located.start) for span in _chunk_spans(located.chunk, inside))
    header = template.header
    if header is not None and header.span.touches(offset):
        yield header.span
        if header.tree is not None:
            text = source.located(header.span.start).chunk.text
            yield from _nodes(header.tree, text, lambda span: span.touches(offset))
    for block in blocks_around(source.root, offset):
        if block.is_closed and block.span.touches(offset):
            yield from _block(block)


def _chunk_spans(chunk: Chunk, offset: int) -> Iterator[Span]:
    line = line_start(chunk.text, offset)
    end = line_end(chunk.text, offset)
    yield Span(line, end)
    bare = chunk.text[line:end].strip()
    if bare:
        start = chunk.text.index(bare, line)
        yield Span(start, start + len(bare))
    word = word_at(chunk.text, offset)
    if word is not None:
        yield word
    for tag in chunk.tags:
        if tag.span.touches(offset):
            yield from (span.shifted(tag.span.start) for span in _tag(tag))
    for block in blocks_inside(chunk):
        if block.span.touches(offset):
            yield from _block(block)
    for part in chunk_items(chunk).parts:
        end = max(part.span.end, written_end(chunk, part.entries))
        yield with_ends_of_blocks(chunk, Span(part.span.start, end))
        for entry in part.entries:
            yield with_ends_of_blocks(chunk, Span(entry.key.span.start, written_end(chunk, (entry,))))
    for root in chunk_yaml(chunk).roots:
        for span in _nodes(root, chunk.text, lambda span: with_ends_of_blocks(chunk, span).touches(offset)):
            yield with_ends_of_blocks(chunk, span)


def _tag(tag: Tag) -> Iterator[Span]:
    yield Span(0, len(tag.text))
    bare = tag.text[tag.inner_start : tag.inner_end].strip()
    if bare:
        start = tag.text.index(bare, tag.inner_start)
        yield Span(start, start + len(bare))
    if tag.kind == "raw":
        yield tag.body.shifted(-tag.span.start)
    if tag.kind in {"output", "statement"}:
        yield from _statement(tag_tree(tag).statement)


def _statement(statement: Statement) -> Iterator[Span]:
    tests = () if statement.loop_test is None else (statement.loop_test,)
    for expression in (*statement.targets, *statement.expressions, *tests):
        for node in walk(expression):
            yield node.span
            if isinstance(node, Attribute | Filter | Test):
                yield node.name_span
            elif isinstance(node, Keyword):
                yield Span(node.span.start, node.span.start + len(node.name))
    for parameter in statement.parameters:
        yield parameter.span
        if parameter.default is not None:
            yield Span(parameter.span.start, parameter.default.span.end)
    if statement.parameters:
        yield Span(statement.parameters[0].span.start, statement.parameters[-1].span.end)


def _block(block: FileBlock) -> Iterator[Span]:
    """Yield each branch without and with its tag, and the whole block."""
    for opening, closing in pairwise(block.tags):
        yield Span(opening.end, max(closing.start, opening.end))
        yield Span(opening.start, max(closing.start, opening.end))
    yield block.span


def _nodes(root: Node, text: str, is_near: Callable[[Span], bool]) -> Iterator[Span]:
    """Yield the nodes of a tree that are near, and the entries that they belong to."""
    stack = [root]
    seen: set[int] = set()
    while stack:
        node = stack.pop()
        if id(node) in seen or not is_near(node.span):
            continue
        seen.add(id(node))
        yield node.span
        if isinstance(node, Sequence):
            stack.extend(node.items)
        elif isinstance(node, Mapping):
            for entry in node.entries:
                whole = Span(entry.key.span.start, max(entry.value.span.end, entry.key.span.end))
                if is_near(whole):
                    yield whole
                    stack += (entry.key, entry.value)
        elif isinstance(node, Scalar):
            yield from _inside_scalar(node, text[node.span.start : node.span.end])


def _inside_scalar(scalar: Scalar, written: str) -> Iterator[Span]:
    """Yield the text of a scalar without its quotes, or without its block header."""
    if scalar.style in {"'", '"'} and len(written) > 1:
        yield Span(scalar.span.start + 1, scalar.span.end - 1)
    elif scalar.style in {"|", ">"} and "\n" in written:
        yield Span(scalar.span.start + written.index("\n") + 1, scalar.span.end)


_NAMES: Final = frozenset({"file", "part", "section"})
"""Kinds of symbols that are neither read nor written."""


class Highlight(NamedTuple):
    """A highlighted range, and whether the symbol is written, read, or neither there."""

    span: Span
    kind: Literal["text", "read", "write"]


def highlights(snapshot: Snapshot, path: str, offset: int) -> tuple[Highlight, ...]:
    """Return the occurrences in the file of the symbol at `offset`, in order."""
    symbol = symbol_at(snapshot, path, offset)
    if symbol is not None:
        return tuple(
            Highlight(
                each.span, "text" if symbol.kind in _NAMES else "read" if each.use == "read" else "write"
            )
            for each in places_here(snapshot, symbol)
        )
    template = snapshot.template(path)
    block = block_at(template.source, offset) if template is not None else None
    return tuple(Highlight(span, "text") for span in block.keywords) if block is not None else ()


WORD_PATTERN = r"[A-Za-z_]\w*"
"""The pattern of texts that may be typed without ending linked editing."""


def linked_places(snapshot: Snapshot, path: str, offset: int) -> tuple[Span, ...]:
    """Return the places that are linked with the one at `offset`, including itself.

    Empty if it is not linked.
    """
    template = snapshot.template(path)
    if template is None:
        return ()
    block = block_at(template.source, offset)
    if block is not None:
        places = _keywords(block)
        return places if any(span.touches(offset) for span in places) else ()
    return _names(template, offset)


def _keywords(block: FileBlock) -> tuple[Span, ...]:
    if not block.is_closed:
        return ()
    closing = block.keywords[-1]
    return (block.keywords[0], Span(closing.start + len("end"), closing.end))


def _names(template: Template, offset: int) -> tuple[Span, ...]:
    """Return the names in the tags of the block whose name is at `offset`."""
    located = template.source.located(offset)
    at = next(
        (
            mention.span.shifted(located.start)
            for mention in chunk_mentions(located.chunk)
            if mention.kind == "block" and mention.span.touches(offset - located.start)
        ),
        None,
    )
    if at is None:
        return ()
    near = (block.shifted(located.start) for block in blocks_inside(located.chunk))
    for block in (*near, *blocks_around(template.source.root, offset)):
        if block.keyword == "block" and block.is_closed:
            places = [_name_in(template, tag) for tag in (block.tags[0], block.tags[-1])]
            if at in places and None not in places:
                return tuple(span for span in places if span is not None)
    return ()


def _name_in(template: Template, tag: Span) -> Span | None:
    located = template.source.located(tag.start)
    for mention in chunk_mentions(located.chunk):
        span = mention.span.shifted(located.start)
        if mention.kind == "block" and tag.start <= span.start and span.end <= tag.end:
            return span
    return None
