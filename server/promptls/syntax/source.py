"""A text as promptls holds it: immutable, cut into chunks, edited by replacing chunks."""

from __future__ import annotations

from bisect import bisect_right
from functools import cached_property
from itertools import accumulate
from typing import Final

from promptls.syntax.chunk import Chunk, cut
from promptls.text.lines import Place, Unit, column_from_units, place_of, units_from_column
from promptls.text.span import Span


class Source:
    """One text and its chunks; `edited` gives a new one that shares the unchanged chunks.

    `at_items` says that the YAML under the Jinja is a list, whose items begin chunks; it is
    a fact of the text, found from what stands before the first item.
    """

    __slots__ = ("__dict__", "at_items", "chunks", "first_lines", "starts")

    def __init__(self, chunks: tuple[Chunk, ...], *, at_items: bool) -> None:
        self.chunks: Final = chunks
        self.at_items: Final = at_items
        lengths = [len(chunk.text) for chunk in chunks]
        self.starts: Final = list(accumulate(lengths, initial=0))
        """The offset of each chunk, and the length of the text."""
        self.first_lines: Final = list(accumulate((chunk.line_ends for chunk in chunks), initial=0))
        """The line that each chunk begins on, and the last line of the text."""

    @classmethod
    def of(cls, text: str) -> Source:
        """The source of `text`."""
        chunks = cut(text, at_items=True)
        if chunks[0].has_content and not _begins_with_item(chunks[0]):
            return cls(tuple(cut(text, at_items=False)), at_items=False)
        return cls(tuple(chunks), at_items=True)

    @cached_property
    def text(self) -> str:
        """The whole text, as it was given."""
        return "".join(chunk.text for chunk in self.chunks)

    def __len__(self) -> int:
        return self.starts[-1]

    # -- places ---------------------------------------------------------------

    def chunk_at(self, offset: int) -> int:
        """The index of the chunk that holds `offset`, clamped to the text."""
        return min(max(bisect_right(self.starts, offset) - 1, 0), len(self.chunks) - 1)

    def place(self, offset: int) -> Place:
        """The line and code point column of `offset`, clamped to the text."""
        offset = min(max(offset, 0), len(self))
        index = self.chunk_at(offset)
        line, column = place_of(self.chunks[index].line_starts, offset - self.starts[index])
        return Place(self.first_lines[index] + line, column)

    def _chunk_of_line(self, line: int) -> int:
        return min(max(bisect_right(self.first_lines, line) - 1, 0), len(self.chunks) - 1)

    def line_span(self, line: int) -> Span:
        """The span of a line without its line end; past the last line an empty span at the end."""
        index = self._chunk_of_line(line)
        chunk = self.chunks[index]
        inside = line - self.first_lines[index]
        if line < 0:
            return Span(0, 0)
        if inside >= len(chunk.line_starts):
            return Span(len(self), len(self))
        begin = chunk.line_starts[inside]
        last = inside + 1 >= len(chunk.line_starts)
        end = len(chunk.text) if last else chunk.line_starts[inside + 1]
        content = chunk.text[begin:end].rstrip("\r\n") if not last else chunk.text[begin:end]
        return Span(begin, begin + len(content)).shifted(self.starts[index])

    def line(self, line: int) -> str:
        """The text of a line, without its line end."""
        return self.slice(self.line_span(line))

    def slice(self, span: Span) -> str:
        """The text of a span."""
        first = self.chunk_at(span.start)
        begin = self.starts[first]
        if span.end <= self.starts[first + 1]:
            return self.chunks[first].text[span.start - begin : span.end - begin]
        last = self.chunk_at(span.end)
        text = "".join(chunk.text for chunk in self.chunks[first : last + 1])
        return text[span.start - begin : span.end - begin]

    def offset(self, line: int, units: int, unit: Unit) -> int:
        """The offset of a protocol position, clamped to the line and to the text."""
        span = self.line_span(line)
        if line > self.first_lines[-1]:
            return len(self)
        return span.start + column_from_units(self.slice(span), units, unit)

    def units(self, offset: int, unit: Unit) -> tuple[int, int]:
        """The protocol position of an offset: its line, and its column in `unit`."""
        place = self.place(offset)
        return place.line, units_from_column(self.line(place.line), place.column, unit)

    # -- edits ----------------------------------------------------------------

    def edited(self, span: Span, text: str) -> Source:
        """The source with `span` replaced by `text`; chunks that the edit leaves alone are shared."""
        first, last = self.chunk_at(span.start), self.chunk_at(span.end)
        first = min([first, *(index for index, end in self._reaching if span.start <= end)])
        if span.start <= self.starts[first] + 1:
            first -= 1  # the edit may take away the dash that begins the chunk
        if not self.at_items or first <= 0:
            return self._edited_from_start(span, text)
        begin = self.starts[first]
        old = "".join(chunk.text for chunk in self.chunks[first : last + 1])
        new = old[: span.start - begin] + text + old[span.end - begin :]
        return self._recut(first, last, new)

    @cached_property
    def _reaching(self) -> list[tuple[int, int]]:
        """The chunks that depend on text behind them, and the offset up to which they do."""
        return [
            (index, self.starts[index + 1] + chunk.reach)
            for index, chunk in enumerate(self.chunks)
            if chunk.reach
        ]

    def _edited_from_start(self, span: Span, text: str) -> Source:
        last = self.chunk_at(span.end)
        old = "".join(chunk.text for chunk in self.chunks[: last + 1])
        new = old[: span.start] + text + old[span.end :]
        if not self.at_items:
            return Source.of(new)
        recut = self._recut(0, last, new)
        head = recut.chunks[0]
        if head.has_content and not _begins_with_item(head):
            return Source.of(recut.text)
        return recut

    def _recut(self, first: int, last: int, text: str) -> Source:
        """The source with the chunks from `first` to `last` replaced by those of `text`.

        The text grows over the following chunks as long as what it says is not settled by
        itself: a tag may close further down, or the text may not end with its line.
        """
        step = 1
        while last + 1 < len(self.chunks):
            chunks = cut(text, at_items=True)
            if text.endswith(("\n", "\r")) and _is_settled(chunks):
                break
            following = self.chunks[last + 1 : last + 1 + step]
            text += "".join(chunk.text for chunk in following)
            last += len(following)
            step *= 4
        else:
            chunks = cut(text, at_items=True)
        shared = {chunk.text: chunk for chunk in self.chunks[first : last + 1]}
        fresh = tuple(
            known
            if (known := shared.get(chunk.text)) and (known.tags, known.reach) == (chunk.tags, chunk.reach)
            else chunk
            for chunk in chunks
        )
        return Source((*self.chunks[:first], *fresh, *self.chunks[last + 1 :]), at_items=True)


def _is_settled(chunks: list[Chunk]) -> bool:
    """Whether no chunk depends on text behind the last one."""
    behind = 0
    for chunk in reversed(chunks):
        if chunk.reach > behind:
            return False
        behind += len(chunk.text)
    return True


def _begins_with_item(chunk: Chunk) -> bool:
    """Whether the chunk's first line begins a list item, in a text without anything before it."""
    return chunk.text.removeprefix("\ufeff").startswith(("- ", "-\n", "-\r", "-\t"))
