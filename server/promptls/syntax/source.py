"""The chunks that an edit makes anew, in a text whose list items begin chunks."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from functools import cached_property
from itertools import islice
from typing import Final

from promptls.facts.reads import current, ignoring_reads
from promptls.syntax.chunk import Chunk, cut, succeed
from promptls.syntax.chunk_list import ChunkList, Located
from promptls.syntax.facts import recorded_property
from promptls.syntax.jinja.scanner import Tag, items_pattern, next_tag, retyped
from promptls.syntax.refusal import MAX_CHARACTERS, Refusal, refusal_of
from promptls.text.positions import Place, Span, Unit, column_from_units, place_of, units_from_column


def depending_on(root: ChunkList, span: Span) -> Located:
    """Return the first chunk whose tags may change when `span` does: its own, or one that reaches it."""
    first = root.at_offset(span.start)
    if not root.is_reaching:
        return first
    for located in root.where(lambda piece: piece.is_reaching):
        if located.index >= first.index:
            break
        if span.start <= located.start + located.chunk.length + located.chunk.reach:
            return located
    return first


def text_with(root: ChunkList, first: Located, last: int, span: Span, text: str) -> str:
    """Return the text of the chunks from `first` to number `last`, with `span` replaced in it."""
    chunks = islice(root.placed(first.index), last - first.index + 1)
    old = "".join([located.chunk.text for located in chunks])
    return old[: span.start - first.start] + text + old[span.end - first.start :]


def recut(root: ChunkList, first: int, last: int, text: str) -> ChunkList:
    """Return the list with the chunks from number `first` to `last` replaced by those of `text`.

    The text grows over the following chunks as long as what it says is not settled by
    itself: a tag may close further down, or the text may not end with its line.
    """
    step = 1
    chunks = cut(text, at_items=True)
    while last + 1 < len(root.chunks) and not (text.endswith(("\n", "\r")) and _is_settled(chunks)):
        following = [located.chunk for located in islice(root.placed(last + 1), step)]
        text += "".join([chunk.text for chunk in following])
        last += len(following)
        step *= 4
        chunks = cut(text, at_items=True)
    before = islice(root.placed(first), last - first + 1)
    shared = {located.chunk.text: located.chunk for located in before}
    fresh = tuple(
        known
        if (known := shared.pop(chunk.text, None)) and (known.tags, known.reach) == (chunk.tags, chunk.reach)
        else chunk
        for chunk in chunks
    )
    return root.replaced(first, last, fresh)


def _is_settled(chunks: list[Chunk]) -> bool:
    """Return whether no chunk depends on text behind the last one."""
    behind = 0
    for chunk in reversed(chunks):
        if chunk.reach > behind:
            return False
        behind += chunk.length
    return True


_LINE: Final = re.compile(r"^[A-Za-z_\"'][^\r\n]*\n", re.MULTILINE)
"""A line that certainly is more than a comment or a part of a tag, and no list item."""

_DEFINES: Final = re.compile(r"macro|set[^=]*\Z")
"""What may begin a block whose text is printed elsewhere, and so says nothing of the list."""


def says_no_list(chunk: Chunk, offset: int) -> bool:
    """Return whether the text ahead of an offset alone says that the YAML under the Jinja is no list.

    Then a line with content stands there, ahead of every line that could begin an item.
    """
    position = 0
    line = None
    for tag in chunk.tags:
        if tag.unclosed or tag.span.start >= offset:
            break
        if tag.kind == "statement" and _DEFINES.search(tag.text):
            return False
        line = _LINE.search(chunk.text, position, tag.span.start)
        if line is not None:
            break
        position = tag.span.end
    if line is None and position < offset:
        until = next((tag.span.start for tag in chunk.tags if tag.span.start >= position), chunk.length)
        line = _LINE.search(chunk.text, position, min(until, offset))
    if line is None or line.end() > offset:
        return False
    return not chunk.text.startswith("-") and not items_pattern(chunk.text).search(
        chunk.text, 0, line.start()
    )


def rescanned(chunk: Chunk, span: Span, text: str) -> Chunk | None:
    """Return the chunk with `span` replaced by `text`.

    None if a tag may depend on what stands behind it.
    """
    if chunk.is_reaching or any(tag.unclosed for tag in chunk.tags):
        return None
    whole = chunk.text[: span.start] + text + chunk.text[span.end :]
    growth = len(text) - (span.end - span.start)
    kept = bisect_right(chunk.tags, span.start, key=_end)
    tags = list(chunk.tags[:kept])
    position = tags[-1].span.end if tags else 0
    following = bisect_left(chunk.tags, span.end, key=_start)
    starts = {tag.span.start + growth: number for number, tag in enumerate(chunk.tags[following:], following)}
    while (found := next_tag(whole, position)) is not None:
        tag, is_sure = found
        if tag.span.start in starts:
            tags += [each.shifted(growth) for each in chunk.tags[starts[tag.span.start] :]]
            break
        if not is_sure or tag.unclosed:
            return None
        tags.append(tag)
        position = tag.span.end
    return Chunk(whole, tuple(tags), reach=0, lines=_line_starts(chunk, span, text))


def _start(tag: Tag) -> int:
    return tag.span.start


def _end(tag: Tag) -> int:
    return tag.span.end


def _line_starts(chunk: Chunk, span: Span, text: str) -> list[int] | None:
    """Return where the lines begin after the edit; None if line ends of two characters may break or join."""
    if "\r" in chunk.text or "\r" in text:
        return None
    before = chunk.line_starts
    growth = len(text) - (span.end - span.start)
    typed = [span.start + offset + 1 for offset, letter in enumerate(text) if letter == "\n"]
    behind = before[bisect_right(before, span.end) :]
    return [*before[: bisect_right(before, span.start)], *typed, *[start + growth for start in behind]]


_PLAIN: Final = re.compile(r"[^{}%#\n\r-]*")
"""Text in which no tag, no line and no list item begins or ends."""
_SHORTEST_ITEM: Final = 3
"""Edits nearer to the beginning of a chunk may take its dash away."""


class Source:
    """One text and its chunks; `edited` gives a new one that shares the unchanged chunks.

    `root` holds the chunks. `at_items` says that the YAML under the Jinja is a list,
    whose items begin chunks; it is a fact of the text, found from what stands before the first item.
    """

    __slots__ = ("__dict__", "at_items", "has_jinja", "root")

    def __init__(self, root: ChunkList, *, at_items: bool, has_jinja: bool = True) -> None:
        self.root: Final = root
        self.at_items: Final = at_items
        self.has_jinja: Final = has_jinja
        """Whether tags are looked for: a JSON file has none, whatever its texts look like."""

    @classmethod
    def of(cls, text: str) -> Source:
        """Return the source of `text`; one that is too large to be analysed is a chunk without tags."""
        if len(text) > MAX_CHARACTERS:
            return cls(ChunkList((Chunk(text, (), reach=0),)), at_items=False)
        chunks = cut(text, at_items=True)
        if chunks[0].has_printed_content and not _begins_with_item(chunks[0]):
            return cls(ChunkList(tuple(cut(text, at_items=False))), at_items=False)
        return cls(ChunkList(tuple(chunks)), at_items=True)

    @classmethod
    def plain(cls, text: str) -> Source:
        """Return the source of a text that is no Jinja: one chunk without tags."""
        return cls(ChunkList((Chunk(text, (), reach=0),)), at_items=False, has_jinja=False)

    @property
    def serial(self) -> int:
        """The number of this version of the file."""
        return self.root.serial

    @property
    def text(self) -> str:
        """The whole text, as it was given."""
        reads = current.get()
        if reads is not None:
            reads.is_whole = True
        return self._whole_text

    @cached_property
    def _whole_text(self) -> str:
        with ignoring_reads():
            return "".join([chunk.text for chunk in self.chunks])

    @recorded_property
    def refusal(self) -> Refusal | None:
        """Why the text is not analysed; None for one that is."""
        return refusal_of(self.root)

    def __len__(self) -> int:
        return self.root.length

    # -- chunks ---------------------------------------------------------------

    @property
    def chunks(self) -> tuple[Chunk, ...]:
        """All chunks, in order; for what cannot do without going over the whole file."""
        return self.root.chunks

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """The offset of each chunk, and the length of the text."""
        return tuple(self.root.starts)

    @property
    def first_chunk(self) -> Chunk:
        """The chunk that the text begins with."""
        return self.root.at_index(0).chunk

    def located(self, offset: int) -> Located:
        """Return the chunk that holds `offset`, clamped to the text; of two that meet there, the second."""
        return self.root.at_offset(offset)

    # -- places ---------------------------------------------------------------

    def place(self, offset: int) -> Place:
        """Return the line and code point column of `offset`, clamped to the text."""
        offset = min(max(offset, 0), len(self))
        located = self.located(offset)
        line, column = place_of(located.chunk.line_starts, offset - located.start)
        return Place(located.first_line + line, column)

    def line_span(self, line: int) -> Span:
        """Return the span of a line without its line end; past the last line an empty span at the end."""
        if line < 0:
            return Span(0, 0)
        located = self.root.at_line(line)
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
        """Return the text of a line, without its line end."""
        return self.slice(self.line_span(line))

    def slice(self, span: Span) -> str:
        """Return the text of a span."""
        first = self.located(span.start)
        begin = first.start
        if span.end <= begin + first.chunk.length:
            return first.chunk.text[span.start - begin : span.end - begin]
        pieces = []
        for located in self.root.placed(first.index):
            if located.start >= span.end:
                break
            pieces.append(located.chunk.text)
        return "".join(pieces)[span.start - begin : span.end - begin]

    def offset(self, line: int, units: int, unit: Unit) -> int:
        """Return the offset of a protocol position, clamped to the line and to the text."""
        if not 0 <= line <= self.root.line_ends:
            return 0 if line < 0 else len(self)
        located = self.root.at_line(line)
        chunk, inside = located.chunk, line - located.first_line
        begin = chunk.line_starts[inside]
        if inside + 1 < len(chunk.line_starts):
            text = chunk.text[begin : chunk.line_starts[inside + 1]].rstrip("\r\n")
        else:
            text = chunk.text[begin:]
        return located.start + begin + column_from_units(text, units, unit)

    def units(self, offset: int, unit: Unit) -> tuple[int, int]:
        """Return the protocol position of an offset: its line, and its column in `unit`."""
        offset = min(max(offset, 0), len(self))
        located = self.located(offset)
        inside = offset - located.start
        line, column = place_of(located.chunk.line_starts, inside)
        before = located.chunk.text[inside - column : inside]
        return located.first_line + line, units_from_column(before, column, unit)

    # -- edits ----------------------------------------------------------------

    def edited(self, span: Span, text: str) -> Source:
        """Return the source with `span` replaced by `text`; unchanged chunks are shared."""
        length = len(self) + len(text) - (span.end - span.start)
        if self.has_jinja and max(len(self), length) > MAX_CHARACTERS:
            return Source.of(self.text[: span.start] + text + self.text[span.end :])
        typed = self._typed(span, text)
        if typed is not None:
            return typed
        made = self._edited(span, text)
        old = self.located(span.start)
        if len(made.root.chunks) == len(self.root.chunks) and span.end <= old.start + old.chunk.length:
            new = made.root.at_index(old.index).chunk
            place = span.shifted(-old.start)
            if new.text == old.chunk.text[: place.start] + text + old.chunk.text[place.end :]:
                succeed(old.chunk, new, place)
        return made

    def _typed(self, span: Span, text: str) -> Source | None:
        """Return the source after an edit that moves tags or stays inside one; None if it may do more."""
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
        return Source(self.root.replaced(located.index, located.index, (new,)), at_items=True)

    def _edited(self, span: Span, text: str) -> Source:
        first, last = depending_on(self.root, span), self.located(span.end).index
        if span.start <= first.start + 1 and first.index > 0:
            first = self.root.at_index(first.index - 1)  # its dash may be what the edit takes away
        if not self.at_items or first.index == 0:
            return self._edited_from_start(span, last, text)
        new = text_with(self.root, first, last, span, text)
        return Source(recut(self.root, first.index, last, new), at_items=True)

    def _edited_from_start(self, span: Span, last: int, text: str) -> Source:
        new = text_with(self.root, self.root.at_index(0), last, span, text)
        if not self.at_items:
            return self._edited_whole(span, new, text)
        made = Source(recut(self.root, 0, last, new), at_items=True)
        head = made.first_chunk
        if head.has_printed_content and not _begins_with_item(head):
            return Source.of(made.text)
        return made

    def _edited_whole(self, span: Span, new: str, typed: str) -> Source:
        """Return the source after an edit of a text that is one chunk; `new` is what it is then."""
        if not self.has_jinja:
            plain = Chunk(new, (), reach=0)
            last = len(self.root.chunks) - 1
            return Source(self.root.replaced(0, last, (plain,)), at_items=False, has_jinja=False)
        chunk = self.first_chunk
        if not says_no_list(chunk, min(span.start, chunk.length)):
            return Source.of(new)
        again = rescanned(chunk, Span(min(span.start, chunk.length), min(span.end, chunk.length)), typed)
        chunks = cut(new, at_items=False) if again is None else [again]
        return Source(self.root.replaced(0, len(self.root.chunks) - 1, tuple(chunks)), at_items=False)


def _begins_with_item(chunk: Chunk) -> bool:
    """Return whether the chunk's first line begins a list item, in a text without anything before it."""
    return chunk.text.removeprefix("\ufeff").startswith(("- ", "-\n", "-\r", "-\t"))
