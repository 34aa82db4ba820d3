"""The items of the list under the Jinja: the parts of a parts template by chunk, and their contents."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass
from operator import attrgetter
from typing import Final

from promptls.dialects.prompt_poet.vocabulary import PART_KEYS, ROLES
from promptls.syntax.chunk import Chunk, Role, chunk_fact
from promptls.syntax.jinja.blocks import chunk_blocks
from promptls.syntax.jinja.scanner import Tag
from promptls.syntax.projection import MOVED
from promptls.syntax.yaml.error_recovery import recovered_item
from promptls.syntax.yaml.nodes import Entry, Mapping, Node, Scalar, Sequence, key_text, scalar_text
from promptls.syntax.yaml.under_jinja import chunk_yaml
from promptls.text.positions import Span, leading_spaces, line_end, line_start
from promptls.text.suggest import nearest

_MODEL_ROLES: Final = frozenset(ROLES) - {"function", "tool"}


@dataclass(frozen=True, slots=True)
class Part:
    """A part; spans count from the start of its chunk.

    `entries` contains every key of every branch, in file order. If the part's YAML is broken, it contains
    the entries that can still be read, and `is_whole` is False.
    """

    span: Span
    entries: tuple[Entry, ...]
    is_whole: bool = True

    def entry(self, key: str) -> Entry | None:
        """Return the first entry with this key."""
        return next((entry for entry in self.entries if key_text(entry) == key), None)

    def value(self, key: str) -> Node | None:
        """Return the value under this key."""
        entry = self.entry(key)
        return entry.value if entry else None

    @property
    def first_key(self) -> Span:
        """The span of its first key, or of the part itself if it has no keys."""
        return self.entries[0].key.span if self.entries else self.span

    @property
    def name(self) -> str | None:
        """The part's name, if it is literal."""
        return scalar_text(self.value("name"))

    @property
    def sections(self) -> tuple[Mapping, ...]:
        """The mappings in the part's `sections`, in all branches."""
        return tuple(
            item
            for entry in self.entries
            if key_text(entry) == "sections" and isinstance(entry.value, Sequence)
            for item in entry.value.items
            if isinstance(item, Mapping)
        )

    @property
    def has_dynamic_keys(self) -> bool:
        """Whether the part may have unknown keys: printed by Jinja, or in broken YAML."""
        return not self.is_whole or any(key_text(entry) is None for entry in self.entries)

    @property
    def is_likely(self) -> bool:
        """Whether the item looks like a part of Prompt Poet and not like other YAML."""
        keys = {key_text(entry) for entry in self.entries}
        if {"name", "content"} <= keys or {"name", "sections"} <= keys or "truncation_priority" in keys:
            if all(key is None or nearest(key, PART_KEYS) for key in keys - set(PART_KEYS)):
                return True
            return {"role", "content"} <= keys and scalar_text(self.value("role")) in _MODEL_ROLES
        if "name" in keys and any(_is_typo(key, "content") for key in keys if key):
            return True
        if "role" in keys and "content" in keys:
            return True
        if {"role", "name"} <= keys:
            # Lists of people and of machines have names and roles too.
            role = scalar_text(self.value("role"))
            others = keys - {"role", "name", None}
            return role in _MODEL_ROLES and all(nearest(key or "", PART_KEYS) for key in others)
        return False


def _is_typo(word: str, meant: str) -> bool:
    """Return whether `word` is `meant` with transposed letters, or with one letter left out."""
    if word == meant or abs(len(word) - len(meant)) > 1:
        return False
    if sorted(word) == sorted(meant):
        return True
    return any(meant[:index] + meant[index + 1 :] == word for index in range(len(meant)))


@dataclass(frozen=True, slots=True)
class ChunkItems:
    """The list items of a chunk: those that are mappings, and the others."""

    parts: tuple[Part, ...]
    others: tuple[Node, ...]


@chunk_fact
def part_names(chunk: Chunk) -> tuple[tuple[str, Span], ...]:
    """Return the literal names of the chunk's parts, each with its span in the chunk."""
    return tuple(
        (name, value.span)
        for part in chunk_items(chunk).parts
        if (value := part.value("name")) and (name := scalar_text(value))
    )


@chunk_fact
def chunk_items(chunk: Chunk) -> ChunkItems:
    """Return the list items in the chunk."""
    found: dict[int, dict[int, Entry]] = {}
    spans: dict[int, Span] = {}
    others: list[Node] = []
    if chunk.role is not Role.BLOCK:
        return ChunkItems((), ())
    yaml = chunk_yaml(chunk)
    if not yaml.roots:
        return ChunkItems(tuple(_recover(chunk)), ())
    for root in yaml.roots:
        if not isinstance(root, Sequence):
            continue
        for item in root.items:
            if not isinstance(item, Mapping):
                others.append(item)
                continue
            start = item.span.start
            entries = found.setdefault(start, {})
            for entry in item.entries:
                entries.setdefault(entry.key.span.start, entry)
            known = spans.get(start, item.span)
            spans[start] = Span(start, max(known.end, item.span.end))
    parts = tuple(
        Part(spans[start], tuple(entries[place] for place in sorted(entries)))
        for start, entries in sorted(found.items())
    )
    return ChunkItems(parts, tuple(others))


def _recover(chunk: Chunk) -> Iterator[Part]:
    """Yield the part of a chunk whose YAML is broken.

    After the error, only keys of parts count as keys.
    """
    found = recovered_item(chunk)
    if found is not None:
        entries = tuple(
            entry
            for entry in found.entries
            if entry.key.span.start < found.broken or key_text(entry) in PART_KEYS
        )
        if entries:
            yield Part(found.span, entries, is_whole=False)


def value_end(chunk: Chunk, entry: Entry) -> int:
    """Return the start of the line after an entry.

    Lines after a block scalar that are indented like its text belong to it, whatever tags they contain.
    """
    key, value = entry.key.span, entry.value
    end = position = next_line(chunk.text, max(key.end, value.span.end))
    if not isinstance(value, Scalar) or value.style not in {"|", ">"}:
        return end
    column = key.start - line_start(chunk.text, key.start)
    while position < len(chunk.text):
        line = chunk.text[position : line_end(chunk.text, position)]
        indented = leading_spaces(line)
        if line.strip() and indented <= column:
            break
        first = bisect_left(chunk.tags, position, key=attrgetter("span.start"))
        after = bisect_left(chunk.tags, position + len(line), lo=first, key=attrgetter("span.start"))
        position = next_line(chunk.text, chunk.tags[after - 1].span.end if after > first else position)
        if line.strip():
            end = position
    return end


def next_line(text: str, offset: int) -> int:
    """Return the start of the line after the one that contains `offset`, or the end of the text."""
    end = line_end(text, offset)
    return end + (2 if text[end : end + 2] == "\r\n" else 1) if end < len(text) else end


def written_end(chunk: Chunk, entries: Iterable[Entry]) -> int:
    """Return the end of the last text of some entries, including lines that contain only tags.

    YAML ends a block scalar before such lines if only values are printed there.
    """
    return max((_end(chunk, entry) for entry in entries), default=0)


def _end(chunk: Chunk, entry: Entry) -> int:
    start, end = entry.key.span.end, max(entry.key.span.end, entry.value.span.end)
    last = _last_entry(entry)
    if isinstance(last.value, Scalar) and last.value.style in {"|", ">"}:
        end = max(end, value_end(chunk, last))
    return start + len(chunk.text[start:end].rstrip())


def _last_entry(entry: Entry) -> Entry:
    """Return the nested entry that an entry's text ends with, or the entry itself."""
    while True:
        node: Node = entry.value
        if isinstance(node, Sequence) and node.items:
            node = node.items[-1]
        if not isinstance(node, Mapping) or not node.entries:
            return entry
        last = max(node.entries, key=lambda each: each.key.span.start)
        if last.key.span.start <= entry.key.span.start:
            return entry  # an alias has the span of its anchor
        entry = last


_INDICATORS: Final = re.compile(r"[|>](?:[+-]?([1-9])|[1-9]?[+-]?)")
_PROPERTIES: Final = re.compile(r"(?:[&!][^\s\[\]{},]*[ \t]+)*")
"""An anchor and a tag before a value."""


@dataclass(frozen=True, slots=True)
class Content:
    """A content; spans count from the start of its chunk.

    `key` is the span of the key `content` and `value` its scalar. `end` is where the next key of
    the part begins, or the chunk ends. `section` is its index among the part's `sections`; None
    for the content of the part itself.
    """

    part: Part
    key: Span
    value: Scalar
    end: int
    section: int | None = None

    @property
    def is_block(self) -> bool:
        """Whether it is a block scalar."""
        return self.value.style in {"|", ">"}


@chunk_fact
def chunk_contents(chunk: Chunk) -> tuple[Content, ...]:
    """Return the contents in the chunk that are scalars, in order, each key of each branch once.

    Those that cannot be read because of broken YAML are left out.
    """
    found = [
        content
        for part in chunk_items(chunk).parts
        for content in _contents(part, chunk)
        if content.value.tag
    ]
    return tuple(sorted(found, key=lambda content: content.key))


def _contents(part: Part, chunk: Chunk) -> Iterator[Content]:
    keys = sorted(_key_starts(part))
    following = [other.span.start for other in chunk_items(chunk).parts if other.span.start > part.span.start]
    last = min(following, default=len(chunk.text))

    def end(entry: Entry) -> int:
        index = bisect_right(keys, entry.key.span.start)
        return keys[index] if index < len(keys) else last

    for entry in part.entries:
        key, value = key_text(entry), entry.value
        if key == "content" and isinstance(value, Scalar):
            yield Content(part, entry.key.span, value, end(entry))
        elif key == "sections" and isinstance(value, Sequence):
            for item_index, item in enumerate(value.items):
                for inner in item.entries if isinstance(item, Mapping) else ():
                    if key_text(inner) == "content" and isinstance(inner.value, Scalar):
                        yield Content(part, inner.key.span, inner.value, end(inner), item_index)


def _key_starts(part: Part) -> Iterator[int]:
    for entry in part.entries:
        yield entry.key.span.start
        if isinstance(entry.value, Sequence):
            for item in entry.value.items:
                if isinstance(item, Mapping):
                    yield from (inner.key.span.start for inner in item.entries)


def column_of(chunk: Chunk, offset: int) -> int:
    """Return the number of characters before `offset` on its line."""
    return offset - chunk.line_starts[bisect_right(chunk.line_starts, offset) - 1]


def tags_outside(chunk: Chunk, span: Span, keywords: Container[str]) -> Iterator[Tag]:
    """Yield the tags that begin in a span, without those inside blocks of these keywords."""
    tags = chunk.tags_at(span)
    pairs = (pair for pair in chunk_blocks(chunk).pairs if pair.keyword in keywords)
    pair = next(pairs, None)
    begin = end = 0
    for tag in tags:
        at = tag.span.start
        while pair is not None and chunk.tags[pair.opening].span.end <= at:
            if chunk.tags[pair.closing].span.start > end:  # and not inside of a block that was passed
                begin, end = chunk.tags[pair.opening].span.end, chunk.tags[pair.closing].span.start
            pair = next(pairs, None)
        if at >= span.start and not begin <= at < end:
            yield tag


def tags_in(chunk: Chunk, content: Content) -> Iterator[Tag]:
    """Yield the tags in a content, without those in blocks that are not printed there.

    A tag on a line that is not indented further than the content's key is after a block scalar.
    """
    least = column_of(chunk, content.key.start)
    for tag in tags_outside(chunk, Span(content.value.span.start, content.end), MOVED):
        after = tag.span.start >= content.value.span.end
        if content.is_block or not content.value.span.is_empty():
            if after and not (content.is_block and _line_indent(chunk, tag.span.start) > least):
                continue
        elif after and chunk.text[content.value.span.end : tag.span.start].strip(" \t"):
            continue
        yield tag


def _line_indent(chunk: Chunk, offset: int) -> int:
    line = chunk.text[offset - column_of(chunk, offset) : offset]
    return leading_spaces(line)


def written_span(chunk: Chunk, value: Scalar) -> Span:
    """Return the span of a value without its anchor and its tag."""
    return Span(_written_at(chunk, value), value.span.end)


def _written_at(chunk: Chunk, value: Scalar) -> int:
    """Return where a value begins, after its anchor and its tag."""
    properties = _PROPERTIES.match(chunk.text, value.span.start)
    return value.span.start if properties is None else min(properties.end(), value.span.end)


def block_indent(chunk: Chunk, content: Content) -> int | None:
    """Return the indentation of the lines of a block scalar, or None if it has no text."""
    header = _INDICATORS.match(chunk.text, _written_at(chunk, content.value))
    if header and header.group(1):
        return column_of(chunk, content.key.start) + int(header.group(1))
    first = bisect_right(chunk.line_starts, content.value.span.start)
    statements = {tag.span.start for tag in chunk.tags if tag.kind in {"statement", "comment"}}
    for start in chunk.line_starts[first:]:
        if start >= content.end:
            return None
        end = start
        while chunk.text[end : end + 1] == " ":
            end += 1
        indent = end - start
        at = start + indent
        if at in statements or chunk.text[at : at + 1] in {"", "\n", "\r"}:
            continue
        return indent if indent > column_of(chunk, content.key.start) else None
    return None


FENCE: Final = re.compile(r"^[ \t]*(?P<mark>```+|~~~+)[ \t]*(?P<language>[\w+-]*)[ \t]*$", re.MULTILINE)
"""A line that opens or closes a block of code."""


def texts_with_digits(chunk: Chunk) -> Iterator[tuple[Content, str, int]]:
    """Yield the contents of a chunk, each with its text as in `_text_with_digits`, and where that begins."""
    for content in chunk_contents(chunk):
        yield content, _text_with_digits(chunk, content), content.value.span.start


def _text_with_digits(chunk: Chunk, content: Content) -> str:
    """Return the text of a content with a digit in place of each character of a value, and no other tags."""
    start, end = content.value.span
    pieces, at = [], start
    for tag in chunk.tags_at(content.value.span):
        begin, stop = max(tag.span.start, at), min(tag.span.end, end)
        filler = "1" if tag.kind == "output" else " "
        pieces += [
            chunk.text[at:begin],
            "".join("\n" if each == "\n" else filler for each in chunk.text[begin:stop]),
        ]
        at = max(at, stop)
    return "".join([*pieces, chunk.text[at:end]])
