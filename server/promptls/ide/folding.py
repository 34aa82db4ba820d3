"""What can be folded: the header, parts, sections, texts, branches of blocks, comments, examples."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from typing import Final, Literal, NamedTuple

from promptls.semantic.kind import Kind
from promptls.semantic.parts import chunk_items, written_end
from promptls.semantic.template import Template
from promptls.syntax.chunk import Chunk, chunk_fact
from promptls.syntax.jinja.file_blocks import FileBlock, blocks_across, blocks_inside, with_ends_of_blocks
from promptls.syntax.yaml.nodes import Mapping, Node, Scalar, Sequence
from promptls.text.positions import Place, Span, place_of
from promptls.workspace.snapshot import Snapshot


class Fold(NamedTuple):
    """A stretch that can be folded away: `span` is what disappears.

    `closing` says that its last line begins with what closes it, and is to stay. `text` may stand in
    its place.
    """

    span: Span
    kind: Literal["region", "comment", ""] = ""
    closing: bool = False
    text: str = "…"


class LineFold(NamedTuple):
    """A fold by whole lines, of which the first stays."""

    first: int
    last: int
    fold: Fold

    def shifted(self, lines: int, by: int) -> LineFold:
        """Return the same fold in a text that begins so many lines and characters earlier."""
        (start, end), kind, closing, text = self.fold
        fold = Fold(Span(start + by, end + by), kind, closing, text)
        return LineFold(self.first + lines, self.last + lines, fold)


_MAX_TEXT: Final = 60


def folds(snapshot: Snapshot, path: str, most: int | None = None) -> list[LineFold]:
    """Return the folds of the file at `path` in order, one a line at most.

    The `most` largest if there is a limit.

    None crosses another one. Of two that begin on one line the larger counts, as editors have it.
    """
    template = snapshot.template(path)
    if template is None or snapshot.kind(path) is Kind.OTHER:
        return []
    source = template.source
    found = [_by_lines(source.place, fold) for fold in _of_header(template)]
    found += (
        fold.shifted(located.first_line, located.start)
        for located in source.root.placed()
        for fold in _of_chunk(located.chunk)
    )
    for block in blocks_across(source):
        found += [_by_lines(source.place, fold) for fold in _of_block(block)]
    lines = list(_nested(found))
    if most is not None and len(lines) > most:
        lines = sorted(sorted(lines, key=lambda each: each.first - each.last)[:most])
    return lines


def _by_lines(place: Callable[[int], Place], fold: Fold) -> LineFold:
    return LineFold(place(fold.span.start).line, place(fold.span.end).line - fold.closing, fold)


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

    Those of a `chunk` reach as far as they are written, whatever Jinja makes of it.
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
                if entry.value.span.start >= entry.key.span.end:  # an alias stands where its anchor does
                    end = entry.value.span.end if chunk is None else written_end(chunk, (entry,))
                    yield Fold(Span(entry.key.span.end, end))
                    if not isinstance(entry.value, Scalar):
                        stack.append(entry.value)


@chunk_fact
def _of_chunk(chunk: Chunk) -> tuple[LineFold, ...]:
    """Return the folds of a chunk that take up more than a line, counted from its beginning."""
    lines = (_by_lines(lambda offset: place_of(chunk.line_starts, offset), fold) for fold in _in_chunk(chunk))
    return tuple(_nested(lines))


def _in_chunk(chunk: Chunk) -> Iterator[Fold]:
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
    """Yield what stands between the tags of a block, one fold a branch.

    None while the block is not closed.
    """
    if block.is_closed:
        for opening, closing in pairwise(block.tags):
            yield Fold(Span(opening.end, max(closing.start, opening.end)), closing=True)


def _nested(found: Iterable[LineFold]) -> Iterator[LineFold]:
    """Yield the folds of more than a line in order, without those that cross the one before, one a line."""
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
