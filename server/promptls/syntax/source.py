"""The text of a file with its chunks; an edit computes only those again that it affects.

Texts that are larger, or nested deeper, than any prompt that works are refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from enum import Enum
from functools import cached_property
from itertools import chain, islice
from typing import Final, NamedTuple

from promptls.facts import current, unrecorded
from promptls.syntax.chunk import (
    Chunk,
    ChunkList,
    Located,
    Piece,
    Role,
    chunk_fact,
    cut,
    fact_values,
    join_chunks,
    set_fact,
    text_of,
)
from promptls.syntax.cutting import (
    ANCHOR,
    cut_json,
    cut_mapping,
    ends_alike,
    json_pieces,
    pieces,
    share_chunks,
    spans_blocks,
)
from promptls.syntax.facts import file_fact, placed_fact, summary
from promptls.syntax.jinja.blocks import block_tags
from promptls.syntax.jinja.problems import keyword_of
from promptls.syntax.jinja.scanner import Tag, tag_after_edit
from promptls.syntax.language import JINJA_YAML, Host, Language
from promptls.syntax.yaml.mapping_chunks import first_unsound, has_entries, mapping_yaml, sound
from promptls.syntax.yaml.under_jinja import ChunkYaml, chunk_yaml
from promptls.text.positions import (
    LineColumn,
    PositionEncoding,
    Span,
    column_from_units,
    line_end,
    stripped_span,
    units_from_column,
)

MAX_CHARACTERS: Final = 2_000_000
"""About 60,000 lines. Opening such a file takes seconds."""
MAX_UNCLOSED_TAGS: Final = 200
MAX_OPEN_BLOCKS: Final = 100
"""How many blocks may be open at the same time. Python cannot compile templates with deeper nesting."""

MAX_REFERENCES: Final = 200
"""How many tags may name other templates; each name is resolved through the variables of the file."""


class Refusal(NamedTuple):
    """Why a text is not analyzed, and the position to report it at."""

    span: Span
    message: str


@placed_fact
def _refusal_of(root: ChunkList) -> Refusal | None:
    """Return why the text of these chunks is not analyzed, or None if it is."""
    if root.length > MAX_CHARACTERS:
        first = next(root.placed()).chunk
        message = f"the file has {root.length:,} characters, and files are analyzed up to {MAX_CHARACTERS:,}"
        return Refusal(Span(0, line_end(first.text, 0)), message)
    if _unclosed(root) > MAX_UNCLOSED_TAGS:
        message = f"more than {MAX_UNCLOSED_TAGS} tags are not closed, from this one on"
        return Refusal(_first(root, _unclosed, _is_unclosed), f"{message}: the file is not analyzed")
    if (index := _too_deep(root)) is not None:
        steps = (
            tag.span.shifted(located.start)
            for located in root.placed()
            for tag in block_tags(located.chunk)
            if tag.action in _STEPS
        )
        message = f"more than {MAX_OPEN_BLOCKS} blocks are open here"
        return Refusal(next(islice(steps, index, None)), f"{message}: the file is not analyzed")
    if _references(root) > MAX_REFERENCES:
        message = f"more than {MAX_REFERENCES} tags name other templates, from this one on"
        return Refusal(_first(root, _references, _is_reference), f"{message}: the file is not analyzed")
    return None


_STEPS: Final = {"open": 1, "close": -1}
"""How tags change the number of open blocks."""
_steps: Final = chunk_fact(
    lambda chunk: tuple([_STEPS[tag.action] for tag in block_tags(chunk) if tag.action in _STEPS])
)


@file_fact
def _too_deep(chunks: ChunkList) -> int | None:
    """Return the index, among the tags that open or close blocks, of the first that exceeds the limit."""
    total = lowest = 0
    for index, step in enumerate(chain.from_iterable(fact_values(_steps, chunks.chunks))):
        total += step
        lowest = min(lowest, total)
        if total - lowest > MAX_OPEN_BLOCKS:
            return index
    return None


def _is_unclosed(tag: Tag) -> bool:
    return bool(tag.unclosed)


def _is_reference(tag: Tag) -> bool:
    return keyword_of(tag) in NAMING


def _sum(numbers: list[int]) -> int:
    return sum(numbers)


NAMING: Final = frozenset({"include", "import", "from", "extends"})
"""The tags that name another template."""
_unclosed: Final[Callable[[Piece], int]] = summary(lambda chunk: sum(map(_is_unclosed, chunk.tags)), _sum)
_references: Final[Callable[[Piece], int]] = summary(lambda chunk: sum(map(_is_reference, chunk.tags)), _sum)


def _first(root: ChunkList, number: Callable[[Piece], int], is_one: Callable[[Tag], bool]) -> Span:
    """Return the first of the tags that `number` counts."""
    located = next(iter(root.where(number)))
    return next(filter(is_one, located.chunk.tags)).span.shifted(located.start)


def _depending_on(root: ChunkList, span: Span) -> Located:
    """Return the first chunk whose tags may change when `span` does: its own, or an earlier one."""
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
    """Return the text of the chunks from `first` to index `last`, with `span` replaced in it."""
    chunks = islice(root.placed(first.index), last - first.index + 1)
    old = "".join([located.chunk.text for located in chunks])
    return old[: span.start - first.start] + text + old[span.end - first.start :]


def _recut_chunks(root: ChunkList, first: int, last: int, text: str) -> ChunkList:
    """Return the list with the chunks from index `first` to `last` replaced by those of `text`.

    The text is extended by the following chunks until it can be cut independently of them:
    a tag may be closed further down, or the text may not end with a complete line.
    """
    step = 1
    chunks = cut(text, at_items=True)
    while last + 1 < len(root.chunks) and not (text.endswith(("\n", "\r")) and _is_self_contained(chunks)):
        following = [located.chunk for located in islice(root.placed(last + 1), step)]
        text += "".join([chunk.text for chunk in following])
        last += len(following)
        step *= 4
        chunks = cut(text, at_items=True)
    before = islice(root.placed(first), last - first + 1)
    known = {(located.chunk.text, located.chunk.role): located.chunk for located in before}
    return root.replaced(first, last, tuple(share_chunks(chunks, known)))


def _is_self_contained(chunks: list[Chunk]) -> bool:
    """Return whether no chunk depends on text after the last one."""
    after = 0
    for chunk in reversed(chunks):
        if chunk.reach > after:
            return False
        after += chunk.length
    return True


_PLAIN: Final = re.compile(r"[^{}%#\n\r-]*")
"""Text in which no tag, line or list item begins or ends."""
_SHORTEST_ITEM: Final = 3
"""Edits closer to the beginning of a chunk may remove its dash."""


class Layout(Enum):
    """How a text is cut into chunks."""

    LIST = "list"
    """At list items in the first column."""
    MAPPING = "mapping"
    """At entries of the outermost mapping, and at items of lists directly below them."""
    WHOLE = "whole"
    """Not at all."""


class Source:
    """A text and its chunks; `edited` returns a new source that shares the unchanged chunks.

    `root` contains the chunks. `layout` is how the text is cut.
    """

    __slots__ = ("__dict__", "language", "layout", "root")

    def __init__(self, root: ChunkList, layout: Layout, language: Language = JINJA_YAML) -> None:
        self.root: Final = root
        self.layout: Final = layout
        self.language: Final = language

    @classmethod
    def of(cls, text: str, language: Language = JINJA_YAML) -> Source:
        """Return the source of `text`; a text that is too large to be analyzed is one chunk without tags."""
        chunks, layout = _cut(text, language, {})
        return cls(ChunkList.of(tuple(chunks)), layout, language)

    @property
    def serial(self) -> int:
        """The serial number of this version of the file."""
        return self.root.serial

    @property
    def text(self) -> str:
        """The whole text, unchanged."""
        reads = current.get()
        if reads is not None:
            reads.is_whole = True
        return self._whole_text

    @cached_property
    def _whole_text(self) -> str:
        return text_of(self.chunks)

    @property
    def refusal(self) -> Refusal | None:
        """Why the text is not analyzed, or None if it is."""
        return _refusal_of(self.root)

    def __len__(self) -> int:
        return self.root.length

    # -- chunks ---------------------------------------------------------------

    @property
    def chunks(self) -> tuple[Chunk, ...]:
        """All chunks, in order; for callers that have to process the whole file."""
        return self.root.chunks

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """The offset of each chunk, and the length of the text."""
        return tuple(self.root.starts)

    def beginning(self, count: int) -> Source:
        """Return the source of the text up to the end of the first `count` chunks, which it shares."""
        return Source(ChunkList.of(self.chunks[:count]), self.layout, self.language)

    @property
    def first_chunk(self) -> Chunk:
        """The chunk that the text begins with."""
        return self.root.at_index(0).chunk

    @property
    def whole(self) -> Chunk:
        """The whole text as one chunk; reading it depends on all of the text."""
        if len(self.root.chunks) == 1:
            return self.first_chunk
        reads = current.get()
        if reads is not None:
            reads.is_whole = True
        return self._whole

    @cached_property
    def _whole(self) -> Chunk:
        chunk = unrecorded(join_chunks, self.root.chunks, Role.BLOCK)
        if self.layout is Layout.MAPPING:
            set_fact(chunk, chunk_yaml, unrecorded(mapping_yaml, self.root))
        return chunk

    def uncut(self) -> Source:
        """Return a mapping as one chunk, for callers that need a position's context; else the source.

        Calling it for a mapping depends on all of the text.
        """
        if self.layout is not Layout.MAPPING:
            return self
        reads = current.get()
        if reads is not None:
            reads.is_whole = True  # here, because `_uncut` is computed only once
        return self._uncut

    @cached_property
    def _uncut(self) -> Source:
        return Source(ChunkList.of((unrecorded(lambda: self.whole),)), Layout.WHOLE, self.language)

    @property
    def yaml(self) -> ChunkYaml:
        """The YAML of a text that is not a list of parts; spans count from the start of the text."""
        return mapping_yaml(self.root) if self.layout is Layout.MAPPING else chunk_yaml(self.whole)

    def located(self, offset: int) -> Located:
        """Return the chunk that contains `offset`, clamped to the text; at a boundary, the second chunk."""
        return self.root.at_offset(offset)

    # -- places ---------------------------------------------------------------

    def line_column(self, offset: int) -> LineColumn:
        """Return the line and code point column of `offset`, clamped to the text."""
        offset = min(max(offset, 0), len(self))
        located = self.located(offset)
        line, column = located.chunk.line_column(offset - located.start)
        return LineColumn(located.first_line + line, column)

    def line_span(self, line: int) -> Span:
        """Return the span of a line without its line break; past the last line an empty span at the end."""
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

    def stripped_line(self, line: int) -> Span:
        """Return the span of a line without the white space around it; of the whole line if it is blank."""
        span = self.line_span(line)
        stripped = stripped_span(self.slice(span), span.start)
        return span if stripped.is_empty() else stripped

    def line(self, line: int) -> str:
        """Return the text of a line, without its line break."""
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

    def offset(self, line: int, units: int, encoding: PositionEncoding) -> int:
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
        return located.start + begin + column_from_units(text, units, encoding)

    def units(self, offset: int, encoding: PositionEncoding) -> tuple[int, int]:
        """Return the protocol position of an offset: its line, and its column in `encoding`."""
        offset = min(max(offset, 0), len(self))
        located = self.located(offset)
        inside = offset - located.start
        line, column = located.chunk.line_column(inside)
        before = located.chunk.text[inside - column : inside]
        return located.first_line + line, units_from_column(before, column, encoding)

    # -- edits ----------------------------------------------------------------

    def edited(self, span: Span, text: str) -> Source:
        """Return the source with `span` replaced by `text`; unchanged chunks are shared."""
        length = len(self) + len(text) - (span.end - span.start)
        made = None
        if max(len(self), length) <= MAX_CHARACTERS:
            if self.layout is Layout.LIST:
                made = self._typed(span, text) or self._edited_list(span, text)
            elif self.layout is Layout.MAPPING:
                made = self._edited_mapping(span, text)
        return made or self._cut_again(self._text_with(span, text))

    def _text_with(self, span: Span, text: str) -> str:
        whole = self._whole_text
        return whole[: span.start] + text + whole[span.end :]

    def _cut_again(self, text: str) -> Source:
        """Return the source of a new text; chunks that are in both are shared."""
        old = self.root.chunks
        chunks, layout = _cut(text, self.language, {(chunk.text, chunk.role): chunk for chunk in old})
        first = 0
        while first < min(len(old), len(chunks)) - 1 and old[first] is chunks[first]:
            first += 1
        after = 0
        while after < min(len(old), len(chunks)) - first - 1 and old[-1 - after] is chunks[-1 - after]:
            after += 1
        if layout is not self.layout:  # a change that no step records
            return Source(ChunkList.of(tuple(chunks)), layout, self.language)
        fresh = tuple(chunks[first : len(chunks) - after])
        return Source(self.root.replaced(first, len(old) - after - 1, fresh), layout, self.language)

    def _edited_mapping(self, span: Span, text: str) -> Source | None:
        """Return the source after an edit that affects only a few chunks, or None if it may affect others."""
        first, last = self.located(span.start), self.located(span.end)
        if span.start == first.start and first.index:
            first = self.root.at_index(first.index - 1)
        if self.root.is_reaching or not self._is_sound:
            return None
        old = self.root.chunks[first.index : last.index + 1]
        new = text_with(self.root, first, last.index, span, text)
        after = self.root.chunks[last.index + 1 : last.index + 2]
        if (after and not new.endswith("\n")) or any(map(spans_blocks, old)):
            return None
        if ANCHOR.search(new):
            return None
        known = {(chunk.text, chunk.role): chunk for chunk in old}
        if self.language.host is Host.JSON:
            fresh = json_pieces(new, first.chunk, self.root.chunks[1], known) if first.index else []
        elif after and not _continues_alike("".join([chunk.text for chunk in old]), new, old[0], after[0]):
            return None
        else:
            fresh = pieces(new, first.chunk if first.index else None, known)
        above = self.root.chunks[: first.index]
        is_local = not any(chunk.reach or chunk_yaml(chunk).aliases or spans_blocks(chunk) for chunk in fresh)
        if not fresh or not is_local or not (first.index or has_entries(fresh[0])):
            return None
        around = (*above, *fresh, *after)
        is_end = last.index + len(after) == len(self.root.chunks) - 1
        if not _are_alike(old, fresh) and first_unsound(around, len(above), is_end=is_end) is not None:
            return None
        made = Source(self.root.replaced(first.index, last.index, tuple(fresh)), self.layout, self.language)
        vars(made)["_is_sound"] = True
        return made

    @cached_property
    def _is_sound(self) -> bool:
        """Whether the chunks of a mapping can be parsed independently."""
        return unrecorded(first_unsound, self.root.chunks) is None

    def _typed(self, span: Span, text: str) -> Source | None:
        """Return the source after an edit that moves tags or is inside one; None if it may do more."""
        located = self.located(span.start)
        chunk, begin, end = located.chunk, span.start - located.start, span.end - located.start
        if self.root.is_reaching or located.index == 0:
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
            if tag.span.start < end < tag.span.end or tag.span.covers(begin):
                changed = tag_after_edit(tag, Span(begin, end), text)
                if changed is None:
                    return None
                tags.append(changed)
            else:
                tags.append(tag if tag.span.end <= begin else tag.shifted(growth))
        new = Chunk(chunk.text[:begin] + text + chunk.text[end:], tuple(tags), reach=0)
        return Source(self.root.replaced(located.index, located.index, (new,)), Layout.LIST)

    def _edited_list(self, span: Span, text: str) -> Source | None:
        """Return the source after any edit; None if the text may no longer be a list."""
        first, last = _depending_on(self.root, span), self.located(span.end).index
        if span.start <= first.start + 1 and first.index > 0:
            first = self.root.at_index(first.index - 1)  # the edit may remove its dash
        new = text_with(self.root, first, last, span, text)
        made = Source(_recut_chunks(self.root, first.index, last, new), Layout.LIST)
        return made if first.index or _is_list(made.first_chunk) else None


def _continues_alike(old: str, new: str, first: Chunk, after: Chunk) -> bool:
    """Return whether the chunk after a range, and those after that, begin the same way if it is replaced.

    The chunk after the range is examined too, because the range may end with the key of a list in it.
    """
    return ends_alike(old, new, first) and ends_alike(old + after.text, new + after.text, first)


def _are_alike(old: tuple[Chunk, ...], fresh: list[Chunk]) -> bool:
    """Return whether both groups of chunks have the same effect on a mapping."""
    return len(old) == len(fresh) and all(
        sound(before) is not None and sound(before) == sound(chunk)
        for before, chunk in zip(old, fresh, strict=True)
    )


def _cut(text: str, language: Language, known: dict[tuple[str, Role], Chunk]) -> tuple[list[Chunk], Layout]:
    """Return the chunks of a text; `known` chunks are reused."""
    whole = [Chunk(text, (), reach=0)]
    if len(text) > MAX_CHARACTERS or language.host is Host.TEXT:
        return whole, Layout.WHOLE
    if language.host is Host.JSON:
        members = cut_json(text, known)
        return (members, Layout.MAPPING) if members is not None else (whole, Layout.WHOLE)
    chunks = cut(text, at_items=True)
    if _is_list(chunks[0]):
        return share_chunks(chunks, known), Layout.LIST
    mapping = cut_mapping(text, known)
    if mapping is not None:
        return mapping, Layout.MAPPING
    return share_chunks(cut(text, at_items=False), known), Layout.WHOLE


def _is_list(first: Chunk) -> bool:
    """Return whether the YAML under the Jinja is a list, judging by the text before its second item."""
    return not first.has_printed_content or _begins_with_item(first)


def _begins_with_item(chunk: Chunk) -> bool:
    """Return whether the chunk's first line begins a list item, in a text without anything before it."""
    return chunk.text.removeprefix("\ufeff").startswith(("- ", "-\n", "-\r", "-\t"))
