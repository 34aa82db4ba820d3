"""The YAML tree under the Jinja, with spans in the chunk.

A list or a mapping is moved as a whole: its children are moved when they are first accessed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple, TypeAlias

from promptls.text.positions import Span

_MAX_MERGES: Final = 8
"""The maximum depth of nested mappings in which merged keys are searched."""


class Scalar(NamedTuple):
    """A scalar: its value according to YAML, its style (`|`, `>`, `'`, `"`, or empty for plain) and tag.

    `tag` is libyaml's resolution, such as `str`, `int`, `bool`, `null`. `dynamic` is True if it contains
    a Jinja tag, so that value and tag are not those of a rendering. The tag is empty if it is unknown
    because the YAML is broken.
    """

    span: Span
    text: str
    style: str
    tag: str
    dynamic: bool

    def moved(self, by: int) -> Scalar:
        """Return the same scalar, moved by that many characters."""
        start, end = self.span
        return Scalar(Span(start + by, end + by), self.text, self.style, self.tag, self.dynamic)


class Sequence:
    """A list; two lists are equal if their spans and items are equal."""

    __slots__ = ("_by", "_items", "_unmoved", "span")

    def __init__(self, span: Span, items: tuple[Node, ...]) -> None:
        self.span: Final = span
        self._items: tuple[Node, ...] | None = items
        self._unmoved: Sequence | None = None
        self._by = 0

    @property
    def items(self) -> tuple[Node, ...]:
        """The items, in order."""
        if self._items is None:
            assert self._unmoved is not None
            by = self._by
            self._items = tuple([item.moved(by) for item in self._unmoved.items])
        return self._items

    def moved(self, by: int) -> Sequence:
        """Return the same list, moved by that many characters."""
        made = Sequence(self.span.shifted(by), ())
        made._items, made._unmoved, made._by = None, self._unmoved or self, self._by + by
        return made

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and (self.span, self.items) == (other.span, other.items)

    def __hash__(self) -> int:
        return hash(self.span)

    def __repr__(self) -> str:
        return f"Sequence(span={self.span!r}, items={self.items!r})"


class Entry(NamedTuple):
    """A key and its value."""

    key: Node
    value: Node

    def moved(self, by: int) -> Entry:
        """Return the same entry, moved by that many characters."""
        return Entry(self.key.moved(by), self.value.moved(by))


class Mapping:
    """A mapping; keys may occur twice, as branches and YAML itself allow.

    Two mappings are equal if their spans and entries are equal.
    """

    __slots__ = ("_by", "_entries", "_indexes", "_unmoved", "span")

    def __init__(self, span: Span, entries: tuple[Entry, ...]) -> None:
        self.span: Final = span
        self._entries: tuple[Entry, ...] | None = entries
        self._indexes: dict[str, int] | None = None
        self._unmoved: Mapping | None = None
        self._by = 0

    @property
    def entries(self) -> tuple[Entry, ...]:
        """The keys with their values, in order."""
        if self._entries is None:
            assert self._unmoved is not None
            by = self._by
            self._entries = tuple([entry.moved(by) for entry in self._unmoved.entries])
        return self._entries

    def moved(self, by: int) -> Mapping:
        """Return the same mapping, moved by that many characters."""
        made = Mapping(self.span.shifted(by), ())
        made._entries, made._unmoved, made._by = None, self._unmoved or self, self._by + by
        return made

    @property
    def indexes(self) -> dict[str, int]:
        """The index of the last entry with each key, which is the one that YAML uses."""
        if self._unmoved is not None:
            return self._unmoved.indexes
        if self._indexes is None:
            texts = ((key_text(entry), index) for index, entry in enumerate(self.entries))
            self._indexes = {text: index for text, index in texts if text is not None}
        return self._indexes

    def entry(self, key: str) -> Entry | None:
        """Return the last entry with this key."""
        index = self.indexes.get(key)
        return None if index is None else self.entries[index]

    def value(self, key: str) -> Node | None:
        """Return the value under this key."""
        if self._entries is None and self._unmoved is not None:
            value = self._unmoved.value(key)
            if value is None or isinstance(value, Scalar):
                return value.moved(self._by) if value is not None else None
        entry = self.entry(key)
        return entry.value if entry else None

    def text(self, key: str) -> str | None:
        """Return the text under this key, as `scalar_text` does; this moves no nodes."""
        own = self._unmoved or self
        index = own.indexes.get(key)
        return None if index is None else scalar_text(own.entries[index].value)

    def merged(self, key: str) -> Node | None:
        """Return the value under this key, here or in one of the mappings that `<<` merges into this one."""
        return _merge(self, key, _MAX_MERGES)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Mapping) and (self.span, self.entries) == (other.span, other.entries)

    def __hash__(self) -> int:
        return hash(self.span)

    def __repr__(self) -> str:
        return f"Mapping(span={self.span!r}, entries={self.entries!r})"


Node: TypeAlias = "Scalar | Sequence | Mapping"
Collection: TypeAlias = "Sequence | Mapping"


def node_at(node: Node | None, path: Iterable[str | int]) -> Node | None:
    """Return the node at a path of keys and item indexes, or None if there is none."""
    for part in path:
        if isinstance(node, Mapping):
            node = node.merged(str(part))
        elif isinstance(node, Sequence) and isinstance(part, int) and part < len(node.items):
            node = node.items[part]
        else:
            return None
    return node


def nearest_node_at(node: Node, path: Iterable[str | int]) -> Node:
    """Return the node at a path of keys and item indexes.

    If a step leads nowhere, the last node before that step.
    """
    for step in path:
        if isinstance(node, Sequence) and isinstance(step, int) and 0 <= step < len(node.items):
            node = node.items[step]
            continue
        inner = node.value(str(step)) if isinstance(node, Mapping) else None
        if inner is None:
            return node
        node = inner
    return node


def scalars_below(node: Node | None) -> Iterator[Scalar]:
    """Yield the scalars in a value; keys are left out."""
    if isinstance(node, Scalar):
        yield node
    elif node is not None:
        values = node.items if isinstance(node, Sequence) else [entry.value for entry in node.entries]
        for value in values:
            yield from scalars_below(value)


def _merge(mapping: Mapping, key: str, deepest: int) -> Node | None:
    value = mapping.value(key)
    if value is not None or not deepest:
        return value
    merges = mapping.value("<<")
    inner = merges.items if isinstance(merges, Sequence) else (merges,)
    found = (_merge(each, key, deepest - 1) for each in inner if isinstance(each, Mapping))
    return next((node for node in found if node is not None), None)


def key_text(entry: Entry) -> str | None:
    """Return the key as text, or None if it is not a scalar or contains Jinja."""
    key = entry.key
    return key.text if isinstance(key, Scalar) and not key.dynamic else None


def scalar_text(node: Node | None) -> str | None:
    """Return the text of a scalar without Jinja; None for anything else."""
    return node.text if isinstance(node, Scalar) and not node.dynamic else None
