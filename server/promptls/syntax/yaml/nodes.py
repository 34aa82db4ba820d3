"""The YAML tree under the Jinja, with spans in the chunk."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from promptls.text.span import Span


@dataclass(frozen=True, slots=True)
class Scalar:
    """A scalar: its text after YAML's rules, its style (`|`, `>`, `'`, `"`, or empty for plain) and tag.

    `tag` is libyaml's resolution, such as `str`, `int`, `bool`, `null`. `dynamic` says that
    a Jinja tag stands inside, so that text and tag are not what a rendering gives. Where broken YAML
    hides what the scalar is, the tag is empty.
    """

    span: Span
    text: str
    style: str
    tag: str
    dynamic: bool


@dataclass(frozen=True, slots=True)
class Sequence:
    """A list."""

    span: Span
    items: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Entry:
    """A key and its value."""

    key: Node
    value: Node


@dataclass(frozen=True, slots=True)
class Mapping:
    """A mapping; keys may stand twice, as branches and YAML itself allow."""

    span: Span
    entries: tuple[Entry, ...]

    def entry(self, key: str) -> Entry | None:
        """The last entry with this key, which is the one that YAML keeps."""
        found = None
        for entry in self.entries:
            if key_text(entry) == key:
                found = entry
        return found

    def value(self, key: str) -> Node | None:
        """The value under this key."""
        entry = self.entry(key)
        return entry.value if entry else None


Node: TypeAlias = "Scalar | Sequence | Mapping"


def key_text(entry: Entry) -> str | None:
    """The key as text, or None where it is no scalar or holds Jinja."""
    key = entry.key
    return key.text if isinstance(key, Scalar) and not key.dynamic else None


def scalar_text(node: Node | None) -> str | None:
    """The text of a scalar without Jinja; None for anything else."""
    return node.text if isinstance(node, Scalar) and not node.dynamic else None
