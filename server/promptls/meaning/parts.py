"""The items of the list under the Jinja: a parts template's parts, chunk by chunk."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from promptls.syntax.chunk import Chunk, kept
from promptls.syntax.yaml.nodes import Entry, Mapping, Node, Sequence, key_text, scalar_text
from promptls.syntax.yaml.salvage import salvaged_item
from promptls.syntax.yaml.under_jinja import chunk_yaml
from promptls.systems.prompt_poet.vocabulary import PART_KEYS, ROLES
from promptls.text.nearest import nearest
from promptls.text.span import Span

_MODEL_ROLES: Final = frozenset(ROLES) - {"function", "tool"}


@dataclass(frozen=True, slots=True)
class Part:
    """One part; spans count from the start of its chunk.

    `entries` holds every key of every branch, in the order of their places. Where the part's YAML is
    broken, it holds what can still be read, and `is_whole` is False.
    """

    span: Span
    entries: tuple[Entry, ...]
    is_whole: bool = True

    def entry(self, key: str) -> Entry | None:
        """The first entry with this key."""
        return next((entry for entry in self.entries if key_text(entry) == key), None)

    def value(self, key: str) -> Node | None:
        """The value under this key."""
        entry = self.entry(key)
        return entry.value if entry else None

    @property
    def name(self) -> str | None:
        """The part's name, where it is written out."""
        return scalar_text(self.value("name"))

    @property
    def has_dynamic_keys(self) -> bool:
        """Whether the part may have keys that nobody can see: printed by Jinja, or in broken YAML."""
        return not self.is_whole or any(key_text(entry) is None for entry in self.entries)

    @property
    def is_likely(self) -> bool:
        """Whether the item looks like a part of Prompt Poet and not like anything else in YAML."""
        keys = {key_text(entry) for entry in self.entries}
        if {"name", "content"} <= keys or {"name", "sections"} <= keys or "truncation_priority" in keys:
            if all(key is None or nearest(key, PART_KEYS) for key in keys - set(PART_KEYS)):
                return True
            return {"role", "content"} <= keys and scalar_text(self.value("role")) in _MODEL_ROLES
        if "name" in keys and any(_is_slip(key, "content") for key in keys if key):
            return True
        if "role" in keys and "content" in keys:
            return True
        if {"role", "name"} <= keys:
            # Lists of people and of machines have names and roles too.
            role = scalar_text(self.value("role"))
            others = keys - {"role", "name", None}
            return role in _MODEL_ROLES and all(nearest(key or "", PART_KEYS) for key in others)
        return False


def _is_slip(word: str, meant: str) -> bool:
    """Whether `word` is `meant` with letters in another order, or with one left out."""
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


@kept
def part_names(chunk: Chunk) -> tuple[tuple[str, Span], ...]:
    """The written-out names of the chunk's parts, each with its place in the chunk."""
    return tuple(
        (name, value.span)
        for part in chunk_items(chunk).parts
        if (value := part.value("name")) and (name := scalar_text(value))
    )


@kept
def chunk_items(chunk: Chunk) -> ChunkItems:
    """The list items that stand in the chunk."""
    return _items(chunk)


def _items(chunk: Chunk) -> ChunkItems:
    found: dict[int, dict[int, Entry]] = {}
    spans: dict[int, Span] = {}
    others: list[Node] = []
    yaml = chunk_yaml(chunk)
    if not yaml.roots:
        return ChunkItems(tuple(_salvaged(chunk)), ())
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


def _salvaged(chunk: Chunk) -> Iterator[Part]:
    """The part of a chunk whose YAML is broken; behind the error only keys that parts have count as keys."""
    found = salvaged_item(chunk)
    if found is not None:
        entries = tuple(
            entry
            for entry in found.entries
            if entry.key.span.start < found.broken or key_text(entry) in PART_KEYS
        )
        if entries:
            yield Part(found.span, entries, is_whole=False)
