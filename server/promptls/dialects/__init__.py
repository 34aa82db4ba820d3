"""The behavior of Prompt Poet, Ragas and OpenCompass, one package each, as pure functions and tables.

`KeyFact` is the row type of their vocabulary tables.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class KeyFact:
    """One key that a library reads: whether it is required, the type of its value, and its effect."""

    name: str
    required: bool
    describe_type: str
    """A description of valid values: `text`, `list of mappings`, …"""
    documentation: str
    """The effect of the key, in one or two sentences of Markdown."""


def required_key(name: str, describe_type: str, documentation: str) -> KeyFact:
    """Return a required key."""
    return KeyFact(name, required=True, describe_type=describe_type, documentation=documentation)


def optional(name: str, describe_type: str, documentation: str) -> KeyFact:
    """Return an optional key."""
    return KeyFact(name, required=False, describe_type=describe_type, documentation=documentation)


def table(*facts: KeyFact) -> Mapping[str, KeyFact]:
    """Return a read-only mapping of the facts by name, in the same order."""
    return MappingProxyType({fact.name: fact for fact in facts})
