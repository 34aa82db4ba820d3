"""A text as promptls holds it: immutable, cut into chunks, edited by replacing chunks."""

from __future__ import annotations

import re
from functools import cached_property
from typing import Final, NamedTuple

from promptls.syntax.chunk import Chunk, cut, succeed
from promptls.syntax.group import (
    Group,
    Located,
    chunk_of_index,
    chunk_of_line,
    chunk_of_offset,
    chunks_from,
    grouped,
    replaced,
)
from promptls.syntax.jinja.tag import retyped
from promptls.syntax.recut import depending_on, recut, text_with
from promptls.syntax.rescan import rescanned, says_no_list
from promptls.text.lines import Place, Unit, column_from_units, place_of, units_from_column
from promptls.text.span import Span

_PLAIN: Final = re.compile(r"[^{}%#\n\r-]*")
"""Text in which no tag, no line and no list item begins or ends."""
_SHORTEST_ITEM: Final = 3
"""Edits nearer to the beginning of a chunk may take its dash away."""
_MOST_UNDONE: Final = 16
"""Edits that can be taken back without reading the text again."""


class Former(NamedTuple):
    """A text as it was before an edit, without the source around it, and the edit that takes it back."""

    root: Group
    identity: object
    at_items: bool
    span: Span
    text: str


class Source:
    """One text and its chunks; `edited` gives a new one that shares the unchanged chunks.

    `root` is the tree of the chunks. `at_items` says that the YAML under the Jinja is a list,
    whose items begin chunks; it is a fact of the text, found from what stands before the first item.
    """

    __slots__ = ("__dict__", "at_items", "has_jinja", "root", "undo")

    def __init__(self, root: Group, *, at_items: bool, has_jinja: bool = True) -> None:
        self.root: Final = root
        self.at_items: Final = at_items
        self.has_jinja: Final = has_jinja
        """Whether tags are looked for: a JSON file has none, whatever its texts look like."""
        self.undo: tuple[Former, ...] = ()
        """The edits that can be taken back without reading the text again, the last one first."""

    @classmethod
    def of(cls, text: str) -> Source:
        """The source of `text`."""
        chunks = cut(text, at_items=True)
        if chunks[0].has_printed_content and not _begins_with_item(chunks[0]):
            return cls(grouped(cut(text, at_items=False)), at_items=False)
        return cls(grouped(chunks), at_items=True)

    @classmethod
    def plain(cls, text: str) -> Source:
        """The source of a text that is no Jinja: one chunk without tags."""
        return cls(grouped([Chunk(text, (), reach=0)]), at_items=False, has_jinja=False)

    @cached_property
    def text(self) -> str:
        """The whole text, as it was given."""
        return "".join([chunk.text for chunk in self.chunks])

    @cached_property
    def identity(self) -> object:
        """An object of this text alone, for what is kept with its chunks and must not hold on to it."""
        return object()

    def __len__(self) -> int:
        return self.root.length

    # -- chunks ---------------------------------------------------------------

    @cached_property
    def chunks(self) -> tuple[Chunk, ...]:
        """All chunks, in order; for what cannot do without going over the whole file."""
        return tuple(located.chunk for located in chunks_from(self.root, 0))

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """The offset of each chunk, and the length of the text."""
        return (*(located.start for located in chunks_from(self.root, 0)), len(self))

    @property
    def first_chunk(self) -> Chunk:
        """The chunk that the text begins with."""
        return chunk_of_index(self.root, 0).chunk

    def located(self, offset: int) -> Located:
        """The chunk that holds `offset`, clamped to the text; of two that meet there, the second."""
        return chunk_of_offset(self.root, offset)

    # -- places ---------------------------------------------------------------

    def place(self, offset: int) -> Place:
        """The line and code point column of `offset`, clamped to the text."""
        offset = min(max(offset, 0), len(self))
        located = self.located(offset)
        line, column = place_of(located.chunk.line_starts, offset - located.start)
        return Place(located.first_line + line, column)

    def line_span(self, line: int) -> Span:
        """The span of a line without its line end; past the last line an empty span at the end."""
        if line < 0:
            return Span(0, 0)
        located = chunk_of_line(self.root, line)
        chunk = located.chunk
        inside = line - located.first_line
        if inside >= len(chunk.line_starts):
            return Span(len(self), len(self))
        begin = chunk.line_starts[inside]
        last = inside + 1 >= len(chunk.line_starts)
        end = len(chunk.text) if last else chunk.line_starts[inside + 1]
        content = chunk.text[begin:end].rstrip("\r\n") if not last else chunk.text[begin:end]
        return Span(begin, begin + len(content)).shifted(located.start)

    def line(self, line: int) -> str:
        """The text of a line, without its line end."""
        return self.slice(self.line_span(line))

    def slice(self, span: Span) -> str:
        """The text of a span."""
        first = self.located(span.start)
        begin = first.start
        if span.end <= begin + first.chunk.length:
            return first.chunk.text[span.start - begin : span.end - begin]
        pieces = []
        for located in chunks_from(self.root, first.index):
            if located.start >= span.end:
                break
            pieces.append(located.chunk.text)
        return "".join(pieces)[span.start - begin : span.end - begin]

    def offset(self, line: int, units: int, unit: Unit) -> int:
        """The offset of a protocol position, clamped to the line and to the text."""
        if not 0 <= line <= self.root.line_ends:
            return 0 if line < 0 else len(self)
        located = chunk_of_line(self.root, line)
        chunk, inside = located.chunk, line - located.first_line
        begin = chunk.line_starts[inside]
        if inside + 1 < len(chunk.line_starts):
            text = chunk.text[begin : chunk.line_starts[inside + 1]].rstrip("\r\n")
        else:
            text = chunk.text[begin:]
        return located.start + begin + column_from_units(text, units, unit)

    def units(self, offset: int, unit: Unit) -> tuple[int, int]:
        """The protocol position of an offset: its line, and its column in `unit`."""
        offset = min(max(offset, 0), len(self))
        located = self.located(offset)
        inside = offset - located.start
        line, column = place_of(located.chunk.line_starts, inside)
        before = located.chunk.text[inside - column : inside]
        return located.first_line + line, units_from_column(before, column, unit)

    # -- edits ----------------------------------------------------------------

    def edited(self, span: Span, text: str) -> Source:
        """The source with `span` replaced by `text`; chunks that the edit leaves alone are shared.

        An edit that takes back the one that made this source, as Backspace does, gives the source that
        was there, with all that is known of it.
        """
        former = self.undo[0] if self.undo else None
        if former is not None and former.span == span and former.text == text:
            found = Source(former.root, at_items=former.at_items, has_jinja=self.has_jinja)
            found.identity, found.undo = former.identity, self.undo[1:]
            return found
        made = self._newly_edited(span, text)
        back = Span(span.start, span.start + len(text))
        former = Former(self.root, self.identity, self.at_items, back, self.slice(span))
        made.undo = (former, *self.undo[: _MOST_UNDONE - 1])
        return made

    def _newly_edited(self, span: Span, text: str) -> Source:
        typed = self._typed(span, text)
        if typed is not None:
            return typed
        made = self._edited(span, text)
        old = self.located(span.start)
        if made.root.count == self.root.count and span.end <= old.start + old.chunk.length:
            new = chunk_of_index(made.root, old.index).chunk
            place = span.shifted(-old.start)
            if new.text == old.chunk.text[: place.start] + text + old.chunk.text[place.end :]:
                succeed(old.chunk, new, place)
        return made

    def _typed(self, span: Span, text: str) -> Source | None:
        """The source after an edit that moves tags or stays inside one; None where it may do more."""
        located = self.located(span.start)
        chunk, begin, end = located.chunk, span.start - located.start, span.end - located.start
        if not self.at_items or self.root.is_reaching or located.index == 0:
            return None
        if begin < _SHORTEST_ITEM or end >= chunk.length or chunk.text[begin - 1] in "{-\n\r":
            return None
        if not (_PLAIN.fullmatch(text) and _PLAIN.fullmatch(chunk.text, begin, end)):
            return None
        tags = []
        growth = len(text) - (end - begin)
        for tag in chunk.tags:
            if tag.unclosed:
                return None
            if tag.span.start < end < tag.span.end or tag.span.start <= begin < tag.span.end:
                changed = retyped(tag, Span(begin, end), text)
                if changed is None:
                    return None
                tags.append(changed)
            else:
                tags.append(tag if tag.span.end <= begin else tag.shifted(growth))
        new = Chunk(chunk.text[:begin] + text + chunk.text[end:], tuple(tags), reach=0)
        succeed(chunk, new, Span(begin, end))
        return Source(replaced(self.root, located.index, located.index, (new,)), at_items=True)

    def _edited(self, span: Span, text: str) -> Source:
        first, last = depending_on(self.root, span), self.located(span.end).index
        if span.start <= first.start + 1 and first.index > 0:
            first = chunk_of_index(self.root, first.index - 1)  # its dash may be what the edit takes away
        if not self.at_items or first.index == 0:
            return self._edited_from_start(span, last, text)
        new = text_with(self.root, first, last, span, text)
        return Source(recut(self.root, first.index, last, new), at_items=True)

    def _edited_from_start(self, span: Span, last: int, text: str) -> Source:
        new = text_with(self.root, chunk_of_index(self.root, 0), last, span, text)
        if not self.at_items:
            return self._edited_whole(span, new, text)
        made = Source(recut(self.root, 0, last, new), at_items=True)
        head = made.first_chunk
        if head.has_printed_content and not _begins_with_item(head):
            return Source.of(made.text)
        return made

    def _edited_whole(self, span: Span, new: str, typed: str) -> Source:
        """The source after an edit of a text that is one chunk; `new` is what it is then."""
        if not self.has_jinja:
            return Source.plain(new)
        chunk = self.first_chunk
        if not says_no_list(chunk, min(span.start, chunk.length)):
            return Source.of(new)
        again = rescanned(chunk, Span(min(span.start, chunk.length), min(span.end, chunk.length)), typed)
        chunks = cut(new, at_items=False) if again is None else [again]
        return Source(grouped(chunks), at_items=False)


def _begins_with_item(chunk: Chunk) -> bool:
    """Whether the chunk's first line begins a list item, in a text without anything before it."""
    return chunk.text.removeprefix("\ufeff").startswith(("- ", "-\n", "-\r", "-\t"))
