"""What is known of one key of a prompt file: the row type of every vocabulary table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class KeyFact:
    """One key that a system reads: whether it must be there, what it holds, and what it does."""

    name: str
    required: bool
    type_words: str
    """The values that make sense, in words: `text`, `list of mappings`, …"""
    documentation: str
    """One sentence or two in Markdown: what the system does with the key."""


def needed(name: str, type_words: str, documentation: str) -> KeyFact:
    """Return a key without which the system refuses the mapping."""
    return KeyFact(name, required=True, type_words=type_words, documentation=documentation)


def optional(name: str, type_words: str, documentation: str) -> KeyFact:
    """Return a key that may be missing."""
    return KeyFact(name, required=False, type_words=type_words, documentation=documentation)


def table(*facts: KeyFact) -> Mapping[str, KeyFact]:
    """Return the facts by name, in the given order, read-only."""
    return MappingProxyType({fact.name: fact for fact in facts})
