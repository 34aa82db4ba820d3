"""The items of the list under the Jinja: the parts of a parts template, chunk by chunk."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from promptls.dialects.prompt_poet.vocabulary import PART_KEYS, ROLES
from promptls.syntax.chunk import Chunk, Role, chunk_fact
from promptls.syntax.jinja.scanner import Tag
from promptls.syntax.yaml.error_recovery import recovered_item
from promptls.syntax.yaml.nodes import Entry, Mapping, Node, Scalar, Sequence, key_text, scalar_text
from promptls.syntax.yaml.under_jinja import chunk_yaml
from promptls.text.positions import Span, line_end
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
    def name(self) -> str | None:
        """The part's name, if it is literal."""
        return scalar_text(self.value("name"))

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
    """The list items of a chunk: those that are mappings, and how many are not."""

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
    return _items(chunk)


def _items(chunk: Chunk) -> ChunkItems:
    found: dict[int, dict[int, Entry]] = {}
    spans: dict[int, Span] = {}
    others: list[Node] = []
    if chunk.role is not Role.BLOCK:
        return ChunkItems((), ())
    yaml = chunk_yaml(chunk)
    if not yaml.roots:
        return ChunkItems(tuple(_recovered(chunk)), ())
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


def _recovered(chunk: Chunk) -> Iterator[Part]:
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
    column = key.start - line_start(chunk, key.start)
    while position < len(chunk.text):
        line = chunk.text[position : line_end(chunk.text, position)]
        indented = len(line) - len(line.lstrip(" "))
        if line.strip() and indented <= column:
            break
        first = bisect_left(chunk.tags, position, key=_tag_start)
        after = bisect_left(chunk.tags, position + len(line), lo=first, key=_tag_start)
        position = next_line(chunk.text, chunk.tags[after - 1].span.end if after > first else position)
        if line.strip():
            end = position
    return end


def _tag_start(tag: Tag) -> int:
    return tag.span.start


def next_line(text: str, offset: int) -> int:
    """Return the start of the line after the one that contains `offset`, or the end of the text."""
    end = line_end(text, offset)
    return end + (2 if text[end : end + 2] == "\r\n" else 1) if end < len(text) else end


def line_start(chunk: Chunk, offset: int) -> int:
    """Return the start of the line of a key."""
    return max(chunk.text.rfind("\n", 0, offset), chunk.text.rfind("\r", 0, offset)) + 1


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
